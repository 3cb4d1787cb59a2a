"""One answer for many open pages: never an older one than the page has heard of."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import pytest

from console.live.known import memory
from console.live.marks import LONGEST_S, mark
from console.live.shared import MOST_KEPT, Message, Receive, Send, SharedAnswers


class Pages:
    """An application that counts how often it is asked; it answers when it may.

    Args:
        status: What it answers.
        headers: With which headers.
    """

    def __init__(self, status: int = 200, headers: list[tuple[bytes, bytes]] | None = None) -> None:
        self.asked = 0
        self.arrived = asyncio.Semaphore(0)
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self._status = status
        self._headers = headers or []

    async def __call__(self, _scope: Mapping[str, Any], _receive: Receive, send: Send) -> None:
        self.asked += 1
        self.arrived.release()
        body = str(self.asked).encode()
        await self.may_answer.wait()
        await send(
            {"type": "http.response.start", "status": self._status, "headers": self._headers}
        )
        await send({"type": "http.response.body", "body": body})


async def _ask(app: SharedAnswers, heard: str, session: str = "ann", path: str = "/rows/") -> str:
    said: list[Message] = []
    headers = [(b"cookie", f"theme=dark; sessionid={session}".encode())]
    if heard:
        headers.append((b"signalbox-mark", heard.encode()))

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        said.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"id=1"}
    await app({**scope, "headers": headers}, receive, send)
    return b"".join(message.get("body", b"") for message in said).decode()


def test_pages_that_have_heard_the_same_get_one_answer() -> None:
    async def scene() -> None:
        pages, heard = Pages(), mark()
        app = SharedAnswers(pages)
        assert [await _ask(app, heard) for _ in range(3)] == ["1", "1", "1"]

    asyncio.run(scene())


def test_who_has_heard_more_since_gets_a_new_answer() -> None:
    async def scene() -> None:
        pages = Pages()
        app = SharedAnswers(pages)
        assert await _ask(app, mark()) == "1"
        assert await _ask(app, mark()) == "2"

    asyncio.run(scene())


def test_what_was_answered_before_rights_changed_is_not_said_again() -> None:
    async def scene() -> None:
        pages, heard = Pages(), mark()
        app = SharedAnswers(pages)
        assert await _ask(app, heard) == "1"
        memory.forget()
        assert [await _ask(app, heard) for _ in range(2)] == ["2", "2"]

    asyncio.run(scene())


def test_an_answer_that_was_being_made_when_rights_changed_is_not_said_after() -> None:
    async def scene() -> None:
        pages, heard = Pages(), mark()
        app = SharedAnswers(pages)
        pages.may_answer.clear()
        first = asyncio.create_task(_ask(app, heard))
        await pages.arrived.acquire()
        memory.forget()
        second = asyncio.create_task(_ask(app, heard))
        await pages.arrived.acquire()
        pages.may_answer.set()
        assert (await first, await second) == ("1", "2")

    asyncio.run(scene())


def test_an_answer_and_what_is_known_of_who_asks_are_together_a_second_old_at_most() -> None:
    async def scene() -> None:
        pages, heard, now_ns = Pages(), mark(), [time.monotonic_ns()]
        app = SharedAnswers(pages, lambda: now_ns[0])
        assert await _ask(app, heard) == "1"
        now_ns[0] += int(LONGEST_S * 1e9)
        assert await _ask(app, heard) == "1"
        now_ns[0] += 1
        assert await _ask(app, heard) == "2"

    asyncio.run(scene())
    # What is known is kept for as long again; see `test_known`.
    assert 2 * LONGEST_S <= 1


def test_an_answer_that_began_before_the_news_is_not_waited_for() -> None:
    async def scene() -> None:
        pages, early = Pages(), mark()
        app = SharedAnswers(pages)
        pages.may_answer.clear()
        first = asyncio.create_task(_ask(app, early))
        await pages.arrived.acquire()
        second = asyncio.create_task(_ask(app, mark()))
        await pages.arrived.acquire()
        pages.may_answer.set()
        assert (await first, await second) == ("1", "2")

    asyncio.run(scene())


def test_those_who_ask_while_an_answer_is_made_wait_for_it() -> None:
    async def scene() -> None:
        pages, heard = Pages(), mark()
        app = SharedAnswers(pages)
        pages.may_answer.clear()
        asked = [asyncio.create_task(_ask(app, heard)) for _ in range(5)]
        await pages.arrived.acquire()
        pages.may_answer.set()
        assert await asyncio.gather(*asked) == ["1"] * 5

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("heard", "session"),
    [("", "ann"), ("other.1", "ann"), ("nonsense", "ann"), ("same", ""), ("same", "bob")],
    ids=["says nothing", "of another process", "no mark", "signed out", "another session"],
)
def test_nobody_else_gets_it(heard: str, session: str) -> None:
    async def scene() -> None:
        pages, now = Pages(), mark()
        app = SharedAnswers(pages)
        await _ask(app, now)
        await _ask(app, now if heard == "same" else heard, session)
        assert pages.asked == 2

    asyncio.run(scene())


@pytest.mark.parametrize(
    "pages",
    [
        lambda: Pages(403),
        lambda: Pages(302),
        lambda: Pages(200, [(b"Set-Cookie", b"a=b")]),
    ],
    ids=["refused", "elsewhere", "sets a cookie"],
)
def test_what_is_no_plain_answer_is_given_once(pages: Any) -> None:
    async def scene() -> None:
        asked, heard = pages(), mark()
        app = SharedAnswers(asked)
        await _ask(app, heard)
        await _ask(app, heard)
        assert asked.asked == 2

    asyncio.run(scene())


def test_who_waited_for_an_answer_that_failed_asks_for_one_of_its_own() -> None:
    class Failing(Pages):
        async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
            if not self.asked:
                self.asked = 1
                self.arrived.release()
                await self.may_answer.wait()
                raise ConnectionError
            await super().__call__(scope, receive, send)

    async def scene() -> None:
        pages, heard = Failing(), mark()
        app = SharedAnswers(pages)
        pages.may_answer.clear()
        first = asyncio.create_task(_ask(app, heard))
        await pages.arrived.acquire()
        second = asyncio.create_task(_ask(app, heard))
        await asyncio.sleep(0)
        pages.may_answer.set()
        with pytest.raises(ConnectionError):
            await first
        assert await second == "2"

    asyncio.run(scene())


def test_what_is_kept_is_bounded() -> None:
    async def scene() -> None:
        pages, heard = Pages(), mark()
        app = SharedAnswers(pages)
        for number in range(MOST_KEPT + 50):
            await _ask(app, heard, path=f"/rows/{number}/")
        assert len(app._kept) == MOST_KEPT

    asyncio.run(scene())
