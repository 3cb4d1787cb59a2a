"""Live updates: a page learns of every commit it watches, over whatever is lost on the way."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async
from channels.layers import channel_layers
from django.contrib.auth.models import Group, User
from django.db import connections, transaction
from django.test import Client

from console.access import Role, grant, lay_roles
from console.asgi import application
from console.live import names
from console.live import reader as reading
from console.live.reader import reader
from console.models import Preferences, SignedIn
from runtime import api
from runtime.actors import live as hints
from tests.agents_for_tests.clerk import NAME
from tests.support.sockets import WAIT_S, Page

pytestmark = pytest.mark.django_db(transaction=True)
BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
ORIGIN = "http://testserver"


def _client(role: Role | None) -> Client:
    lay_roles()
    user = User.objects.create_user(f"{role or 'nobody'}")
    if role is not None:
        grant(user, role)
    client = Client()
    client.force_login(user, backend=BACKEND)
    return client


def _submit() -> UUID:
    return api.submit(NAME, {"order_id": "A1"}).id


def _socket(client: Client, origin: str | None = ORIGIN) -> Page:
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    headers = [(b"host", b"testserver"), (b"cookie", cookies.encode())]
    if origin is not None:
        headers.append((b"origin", origin.encode()))
    return Page(application, "/live/", headers)


@asynccontextmanager
async def _open(client: Client) -> AsyncIterator[Page]:
    socket = _socket(client)
    assert await socket.open()
    yield socket
    await socket.leave()


async def _watch(socket: Page, tasks: dict[UUID, int]) -> None:
    known = {str(task_id): seq for task_id, seq in tasks.items()}
    await socket.say(json.dumps({"type": "watch", "tasks": known}))


def _seq_of(task_id: UUID) -> Callable[[dict[str, Any]], int | None]:
    return lambda news: news.get("tasks", {}).get(str(task_id))


def _in_thread(work: Callable[[], Any]) -> Coroutine[Any, Any, Any]:
    """Do database work as another process would: in a thread with a connection of its own."""

    def and_close() -> Any:
        try:
            return work()
        finally:
            connections.close_all()

    return asyncio.to_thread(and_close)


@pytest.fixture
def operator() -> Client:
    return _client(Role.OPERATOR)


@pytest.fixture(autouse=True)
def publisher() -> Iterator[None]:
    """A publisher of this test's own, so that its thread ends with it."""
    hints.live.cache_clear()
    yield
    hints.live().close()
    hints.live.cache_clear()


# --- who gets in ------------------------------------------------------------------------------


@pytest.mark.parametrize("origin", [None, "http://evil.example", "http://testserver:8001", "null"])
def test_a_page_of_another_origin_is_refused(origin: str | None, operator: Client) -> None:
    async def scene() -> None:
        assert not await _socket(operator, origin).open()

    asyncio.run(scene())


def test_who_is_not_signed_in_or_may_not_see_tasks_is_refused() -> None:
    strangers = [Client(), _client(None)]

    async def scene() -> None:
        for stranger in strangers:
            assert not await _socket(stranger).open()

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
        socket = _socket(operator)
        await socket.open()
        await socket.say(text)
        assert await socket.closed() == names.MALFORMED

    asyncio.run(scene())


def test_a_page_watches_a_bounded_number_of_tasks(operator: Client) -> None:
    async def scene() -> None:
        socket = _socket(operator)
        await socket.open()
        await _watch(socket, {uuid4(): 1 for _ in range(601)})
        assert await socket.closed() == names.MALFORMED

    asyncio.run(scene())


# --- what it learns ---------------------------------------------------------------------------


def test_console_and_runtime_mean_the_same_group_and_message() -> None:
    assert (reading.GROUP, reading.MOVED) == (hints.GROUP, hints.TYPE)


def test_a_commit_is_told_with_its_sequence_number(operator: Client) -> None:
    task_id = _submit()

    async def scene() -> None:
        async with _open(operator) as socket:
            await _watch(socket, {task_id: 1})
            await _in_thread(lambda: api.pause(task_id, reason="wait", by="human:ann"))
            assert await socket.hear(_seq_of(task_id)) == 2

    asyncio.run(scene())


def test_what_was_missed_before_watching_is_told_at_once(operator: Client) -> None:
    task_id = _submit()
    api.pause(task_id, reason="wait", by="human:ann")

    async def scene() -> None:
        async with _open(operator) as socket:
            await _watch(socket, {task_id: 1})
            assert await socket.hear(_seq_of(task_id)) == 2

    asyncio.run(scene())


@pytest.mark.parametrize("when", ["before joining", "before watching", "after watching"])
def test_a_commit_at_any_moment_of_the_opening_is_told(when: str, operator: Client) -> None:
    task_id = _submit()

    async def commit_if(moment: str) -> None:
        if moment == when:
            await _in_thread(lambda: api.pause(task_id, reason="wait", by="human:ann"))

    async def scene() -> None:
        await commit_if("before joining")
        async with _open(operator) as socket:
            await commit_if("before watching")
            await _watch(socket, {task_id: 1})
            await commit_if("after watching")
            assert await socket.hear(_seq_of(task_id)) == 2

    asyncio.run(scene())


def test_what_the_page_knows_is_not_told_again(operator: Client) -> None:
    known, moved = _submit(), _submit()

    async def scene() -> None:
        async with _open(operator) as socket:
            await _watch(socket, {known: 1, moved: 0})
            told = await socket.hear(lambda news: news.get("tasks") or None)
            assert told == {str(moved): 1}

    asyncio.run(scene())


def test_a_task_that_is_not_watched_is_told_as_something_else(operator: Client) -> None:
    watched, other = _submit(), _submit()

    async def scene() -> None:
        async with _open(operator) as socket:
            await _watch(socket, {watched: 1})
            await _in_thread(lambda: api.pause(other, reason="wait", by="human:ann"))
            news = await socket.hear(lambda news: news if news.get("others") else None)
            assert str(other) not in str(news)

    asyncio.run(scene())


def test_what_is_rolled_back_is_told_to_nobody(operator: Client) -> None:
    task_id, other = _submit(), _submit()

    def rolled_back() -> None:
        with transaction.atomic():
            api.pause(task_id, reason="wait", by="human:ann")
            transaction.set_rollback(True)

    async def scene() -> None:
        async with _open(operator) as socket:
            await _watch(socket, {task_id: 1, other: 1})
            await _in_thread(rolled_back)
            await _in_thread(lambda: api.pause(other, reason="wait", by="human:ann"))
            told = await socket.hear(lambda news: news.get("tasks") or None)
            assert told == {str(other): 2}

    asyncio.run(scene())


def test_a_lost_hint_is_made_up_for_by_the_next_look(operator: Client) -> None:
    task_id = _submit()

    async def scene() -> None:
        async with _open(operator) as socket:
            await _watch(socket, {task_id: 1})
            # Closed publishers drop what comes: the hint is lost, the commit is not.
            hints.live().close()
            await _in_thread(lambda: api.pause(task_id, reason="wait", by="human:ann"))
            await reader().look()
            assert await socket.hear(_seq_of(task_id)) == 2

    asyncio.run(scene())


def test_open_reviews_are_counted_for_everybody(operator: Client) -> None:
    async def scene() -> None:
        async with _open(operator) as socket:
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
    task_id = _submit()
    before = channel_layers.set("default", SilentLayer())
    try:

        async def scene() -> None:
            async with _open(operator) as socket:
                await _watch(socket, {task_id: 1})
                assert await socket.hear(lambda news: news.get("away") or None)
                await _in_thread(lambda: api.pause(task_id, reason="wait", by="human:ann"))
                assert await socket.hear(_seq_of(task_id)) == 2

        asyncio.run(scene())
    finally:
        channel_layers.set("default", before)


# --- when it ends -----------------------------------------------------------------------------


def test_signing_out_closes_the_sockets_of_that_session_only(operator: Client) -> None:
    other = Client()
    other.force_login(User.objects.get(username="operator"), backend=BACKEND)

    async def scene() -> None:
        async with _open(other) as stays:
            socket = _socket(operator)
            await socket.open()
            await _watch(socket, {})
            await socket.hear(lambda news: news)
            await _in_thread(lambda: operator.post("/sign-in/logout/"))
            assert await socket.closed() == names.SIGNED_OUT
            await _watch(stays, {})
            assert await stays.hear(lambda news: news)

    asyncio.run(scene())


def _disable(user: User) -> None:
    user.is_active = False
    user.save()


def _no_superuser(user: User) -> None:
    user.is_superuser = False
    user.save()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda user: user.groups.clear(), names.NOT_ALLOWED),
        (lambda _user: Group.objects.get(name="operator").permissions.clear(), names.NOT_ALLOWED),
        (lambda _user: Group.objects.get(name="operator").delete(), names.NOT_ALLOWED),
        (_no_superuser, names.NOT_ALLOWED),
        (_disable, names.SIGNED_OUT),
        (lambda user: user.delete(), names.SIGNED_OUT),
    ],
    ids=["role lost", "role changed", "role deleted", "superuser lost", "disabled", "deleted"],
)
def test_losing_a_right_closes_all_sockets_of_the_account(
    change: Callable[[User], Any], code: int, operator: Client
) -> None:
    user, task_id = User.objects.get(username="operator"), _submit()

    async def scene() -> None:
        socket = _socket(operator)
        await socket.open()
        await _watch(socket, {task_id: 0})
        await socket.hear(_seq_of(task_id))
        await _in_thread(lambda: change(user))
        assert await socket.closed() == code

    asyncio.run(scene())


class TellingLayer:
    """A layer that notes what is told, and how many are signed in by then."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.signed_in: list[int] = []

    async def group_send(self, _group: str, message: dict[str, Any]) -> None:
        self.told.append(message)
        self.signed_in.append(await SignedIn.objects.acount())


@pytest.fixture
def telling() -> Iterator[TellingLayer]:
    layer = TellingLayer()
    before = channel_layers.set("default", layer)
    yield layer
    channel_layers.set("default", before)


def test_a_session_is_over_before_anybody_is_told_so(
    operator: Client, telling: TellingLayer
) -> None:
    """A part asked for in between would have the session remembered once more."""
    assert operator.get("/signed-in/").status_code == 204

    operator.post("/sign-in/logout/")

    assert [message["code"] for message in telling.told] == [names.SIGNED_OUT]
    assert telling.signed_in == [0]


def test_other_processes_hear_of_chosen_preferences_and_no_socket_closes(
    operator: Client, telling: TellingLayer
) -> None:
    user_id = int(operator.session["_auth_user_id"])

    Preferences.objects.update_or_create(user_id=user_id, defaults={"language": "zh-hans"})

    (message,) = telling.told
    assert (message["type"], message["user"], message["session"]) == (names.GONE, 0, "-")


def test_a_sign_in_is_told_to_nobody(operator: Client, telling: TellingLayer) -> None:
    user = User.objects.get(pk=operator.session["_auth_user_id"])

    Client().force_login(user, backend=BACKEND)

    assert telling.told == []


def test_a_right_that_is_gone_without_a_word_is_noticed_at_the_next_subscription(
    operator: Client,
) -> None:
    def take_away() -> None:
        # Past the signals, as another program would.
        User.groups.through.objects.all().delete()

    async def scene() -> None:
        socket = _socket(operator)
        await socket.open()
        await sync_to_async(take_away)()
        await _watch(socket, {})
        assert await socket.closed() == names.NOT_ALLOWED

    asyncio.run(scene())


def test_the_reader_ends_with_its_last_socket(operator: Client) -> None:
    async def scene() -> None:
        async with _open(operator) as socket:
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
