"""One answer for all open pages of a session that ask the same at the same moment.

Everything that moves makes every open page ask for its part again, many of them for the same.  An
answer is given again only to the session it was made for, and only if its making began after the
news that the page had heard, and since anybody's rights changed: so it shows whatever that news was
about, and only what may be seen.  Requests that do not say what they have heard pass untouched.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.conf import settings

from console.live.known import memory
from console.live.marks import LONGEST_S, heard_in
from console.live.names import MARK_HEADER

MOST_KEPT: Final = 200
MOST_BYTES: Final = 1_000_000

type Message = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[Message]]
type Send = Callable[[Message], Awaitable[None]]
#: Django and Channels write the parts of this type differently.
type App = Callable[[Any, Any, Any], Awaitable[None]]


@dataclass(slots=True)
class _Answer:
    began_ns: int
    is_whole: asyncio.Event = field(default_factory=asyncio.Event)
    messages: list[Message] = field(default_factory=list)
    is_good: bool = False


class SharedAnswers:
    """Stands before the pages.

    Args:
        app: What answers.
        clock_ns: Gives the monotonic clock that marks are of.
    """

    def __init__(self, app: App, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._app = app
        self._clock_ns = clock_ns
        self._kept: dict[tuple[str, ...], _Answer] = {}

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        heard_ns, key = _asked(scope)
        if heard_ns is None:
            await self._app(scope, receive, send)
            return
        known = self._kept.get(key)
        now_ns = self._clock_ns()
        if known is not None and max(heard_ns, now_ns - int(LONGEST_S * 1e9)) <= known.began_ns:
            await known.is_whole.wait()
            if known.is_good:
                for message in known.messages:
                    await send(message)
                return
        await self._answer(key, scope, receive, send)

    async def _answer(
        self, key: tuple[str, ...], scope: Mapping[str, Any], receive: Receive, send: Send
    ) -> None:
        answer = _Answer(self._clock_ns())
        self._keep(key, answer)

        async def keep_and_send(message: Message) -> None:
            answer.messages.append(message)
            await send(message)

        try:
            await self._app(scope, receive, keep_and_send)
            answer.is_good = _is_good(answer.messages)
        finally:
            answer.is_whole.set()
            if not answer.is_good and self._kept.get(key) is answer:
                del self._kept[key]

    def _keep(self, key: tuple[str, ...], answer: _Answer) -> None:
        self._kept.pop(key, None)
        self._kept[key] = answer
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]


def _asked(scope: Mapping[str, Any]) -> tuple[int | None, tuple[str, ...]]:
    """Give the moment of the last news that who asks has heard, and what is asked by whom.

    What was made before rights changed is asked for by nobody after: the epoch stands in it.
    """
    if scope["type"] != "http" or scope["method"] != "GET":
        return None, ()
    headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
    heard_ns, session = heard_in(headers.get(MARK_HEADER, "")), _session(headers.get(b"cookie", ""))
    if heard_ns is None or not session:
        return None, ()
    whom = (session, headers.get(b"host", ""), headers.get(b"accept-language", ""))
    what = (scope["path"], scope["query_string"].decode("latin-1"))
    return heard_ns, (*whom, *what, headers.get(b"hx-request", ""), str(memory.epoch))


def _session(cookies: str) -> str:
    name = f"{settings.SESSION_COOKIE_NAME}="
    found = (one.strip() for one in cookies.split(";"))
    return next((one for one in found if one.startswith(name)), "")


def _is_good(messages: list[Message]) -> bool:
    """Tell whether an answer may be given again: a whole page, not too large, that sets nothing."""
    start, *bodies = messages or [{}]
    names = {name.lower() for name, _value in start.get("headers", ())}
    size = sum(len(body.get("body", b"")) for body in bodies)
    return (
        start.get("status") == 200  # noqa: PLR2004 (OK)
        and b"set-cookie" not in names
        and size <= MOST_BYTES
        and bool(bodies)
        and not bodies[-1].get("more_body", False)
    )
