"""Live updates: a page learns of every commit it watches, over whatever is lost on the way."""

import asyncio
import threading
from typing import Any
from uuid import UUID, uuid4

import pytest
from channels.layers import channel_layers
from django.db import transaction
from django.test import Client

from console.live import names
from console.live import reader as reading
from console.live.reader import reader
from runtime import api
from runtime.actors import live as hints
from tests.support.live_pages import (
    in_thread,
    opened,
    seq_of,
    signed_in,
    socket_of,
    submit,
    watch,
)
from tests.support.sockets import WAIT_S

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("publisher")]


# --- who gets in ------------------------------------------------------------------------------


@pytest.mark.parametrize("origin", [None, "http://evil.example", "http://testserver:8001", "null"])
def test_a_page_of_another_origin_is_refused(origin: str | None, operator: Client) -> None:
    async def scene() -> None:
        assert not await socket_of(operator, origin).open()

    asyncio.run(scene())


def test_who_is_not_signed_in_or_may_not_see_tasks_is_refused() -> None:
    strangers = [Client(), signed_in(None)]

    async def scene() -> None:
        for stranger in strangers:
            assert not await socket_of(stranger).open()

    asyncio.run(scene())


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        "[]",
        "{}",
        '{"type": "watch"}',
        '{"type": "watch", "tasks": {"x": 1}}',
        '{"type": "watch", "tasks": {"01a228b5-bee5-7cb6-b322-152c38a06c9b": "y"}}',
        '{"type": "decide", "tasks": {}}',
        "[" * 10_000,
    ],
)
def test_what_is_no_message_ends_the_connection(text: str, operator: Client) -> None:
    async def scene() -> None:
        socket = socket_of(operator)
        await socket.open()
        await socket.say(text)
        assert await socket.closed() == names.MALFORMED

    asyncio.run(scene())


def test_a_page_watches_a_bounded_number_of_tasks(operator: Client) -> None:
    async def scene() -> None:
        socket = socket_of(operator)
        await socket.open()
        await watch(socket, {uuid4(): 1 for _ in range(601)})
        assert await socket.closed() == names.MALFORMED

    asyncio.run(scene())


# --- what it learns ---------------------------------------------------------------------------


def test_console_and_runtime_mean_the_same_group_and_message() -> None:
    assert (reading.GROUP, reading.MOVED) == (hints.GROUP, hints.TYPE)


def test_a_commit_is_told_with_its_sequence_number(operator: Client) -> None:
    task_id = submit()

    async def scene() -> None:
        async with opened(operator) as socket:
            await watch(socket, {task_id: 1})
            await in_thread(lambda: api.pause(task_id, reason="wait", by="human:ann"))
            assert await socket.hear(seq_of(task_id)) == 2

    asyncio.run(scene())


def test_what_was_missed_before_watching_is_told_at_once(operator: Client) -> None:
    task_id = submit()
    api.pause(task_id, reason="wait", by="human:ann")

    async def scene() -> None:
        async with opened(operator) as socket:
            await watch(socket, {task_id: 1})
            assert await socket.hear(seq_of(task_id)) == 2

    asyncio.run(scene())


@pytest.mark.parametrize("when", ["before joining", "before watching", "after watching"])
def test_a_commit_at_any_moment_of_the_opening_is_told(when: str, operator: Client) -> None:
    task_id = submit()

    async def commit_if(moment: str) -> None:
        if moment == when:
            await in_thread(lambda: api.pause(task_id, reason="wait", by="human:ann"))

    async def scene() -> None:
        await commit_if("before joining")
        async with opened(operator) as socket:
            await commit_if("before watching")
            await watch(socket, {task_id: 1})
            await commit_if("after watching")
            assert await socket.hear(seq_of(task_id)) == 2

    asyncio.run(scene())


def test_what_the_page_knows_is_not_told_again(operator: Client) -> None:
    known, moved = submit(), submit()

    async def scene() -> None:
        async with opened(operator) as socket:
            await watch(socket, {known: 1, moved: 0})
            told = await socket.hear(lambda news: news.get("tasks") or None)
            assert told == {str(moved): 1}

    asyncio.run(scene())


def test_a_task_that_is_not_watched_is_told_as_something_else(operator: Client) -> None:
    watched, other = submit(), submit()

    async def scene() -> None:
        async with opened(operator) as socket:
            await watch(socket, {watched: 1})
            await in_thread(lambda: api.pause(other, reason="wait", by="human:ann"))
            news = await socket.hear(lambda news: news if news.get("others") else None)
            assert str(other) not in str(news)

    asyncio.run(scene())


def test_what_is_rolled_back_is_told_to_nobody(operator: Client) -> None:
    task_id, other = submit(), submit()

    def rolled_back() -> None:
        with transaction.atomic():
            api.pause(task_id, reason="wait", by="human:ann")
            transaction.set_rollback(True)

    async def scene() -> None:
        async with opened(operator) as socket:
            await watch(socket, {task_id: 1, other: 1})
            await in_thread(rolled_back)
            await in_thread(lambda: api.pause(other, reason="wait", by="human:ann"))
            told = await socket.hear(lambda news: news.get("tasks") or None)
            assert told == {str(other): 2}

    asyncio.run(scene())


def test_a_lost_hint_is_made_up_for_by_the_next_look(operator: Client) -> None:
    task_id = submit()

    async def scene() -> None:
        async with opened(operator) as socket:
            await watch(socket, {task_id: 1})
            # Closed publishers drop what comes: the hint is lost, the commit is not.
            hints.live().close()
            await in_thread(lambda: api.pause(task_id, reason="wait", by="human:ann"))
            await reader().look()
            assert await socket.hear(seq_of(task_id)) == 2

    asyncio.run(scene())


def test_open_reviews_are_counted_for_everybody(operator: Client) -> None:
    async def scene() -> None:
        async with opened(operator) as socket:
            assert await socket.hear(lambda news: news.get("reviews")) == 0

    asyncio.run(scene())


class SilentLayer:
    """A layer that carries nothing, as one behind a network that is cut."""

    async def new_channel(self) -> str:
        return "silent"

    async def group_add(self, *_names: str) -> None:
        return

    async def send(self, *_parts: object) -> None:
        return

    async def receive(self, _channel: str) -> None:
        await asyncio.Event().wait()


def test_while_hints_stay_away_the_database_is_asked_and_the_page_told(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BEAT_S", "SILENT_S", "LOOK_WHILE_AWAY_S"):
        monkeypatch.setattr(reading, name, 0.05)
    task_id = submit()
    before = channel_layers.set("default", SilentLayer())
    try:

        async def scene() -> None:
            async with opened(operator) as socket:
                await watch(socket, {task_id: 1})
                assert await socket.hear(lambda news: news.get("away") or None)
                await in_thread(lambda: api.pause(task_id, reason="wait", by="human:ann"))
                assert await socket.hear(seq_of(task_id)) == 2

        asyncio.run(scene())
    finally:
        channel_layers.set("default", before)


# --- when it ends -----------------------------------------------------------------------------


def test_the_reader_ends_with_its_last_socket(operator: Client) -> None:
    async def scene() -> None:
        async with opened(operator) as socket:
            await socket.hear(lambda news: news)
            assert len(reader().sockets) == 1
        assert not reader().sockets
        assert not reader()._tasks

    asyncio.run(scene())


def test_a_session_key_is_never_named_on_the_layer(operator: Client) -> None:
    key = operator.session.session_key
    assert key is not None
    assert key not in names.session_mark(key)


# --- the publisher ----------------------------------------------------------------------------


def test_a_busy_task_costs_one_hint_in_a_tenth_of_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only the newest sequence number of each task is sent."""
    sent: list[Any] = []
    first = threading.Event()
    go_on = threading.Event()

    class Kept(hints.Live):
        def _publish(self, _runner: asyncio.Runner, moves: dict[UUID, int]) -> None:
            sent.append(moves)
            first.set()
            go_on.wait(WAIT_S)

    live, task_id, other = Kept(), uuid4(), uuid4()
    live.moved(task_id, 1)
    assert first.wait(WAIT_S)
    for seq in range(2, 500):
        live.moved(task_id, seq)
    live.moved(task_id, 7)
    live.moved(other, 1)
    go_on.set()
    live.close()

    assert sent == [{task_id: 1}, {task_id: 499, other: 1}]


def test_a_publisher_without_a_broker_fails_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(_message: object) -> None:
        raise ConnectionError

    monkeypatch.setattr(hints, "_send", broken)
    live = hints.Live()
    live.moved(uuid4(), 1)
    live.close()
    live.moved(uuid4(), 1)

    assert live._thread is not None
    assert not live._thread.is_alive()
