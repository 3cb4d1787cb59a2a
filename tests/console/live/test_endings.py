"""Live updates end with the session, with the right to them, and before anybody is told so."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.layers import channel_layers
from django.contrib.auth.models import Group, User
from django.test import Client

from console.live import names
from console.models import Preferences, SignedIn
from tests.support.live_pages import (
    BACKEND,
    in_thread,
    opened,
    seq_of,
    socket_of,
    submit,
    watch,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("publisher")]


def test_signing_out_closes_the_sockets_of_that_session_only(operator: Client) -> None:
    other = Client()
    other.force_login(User.objects.get(username="operator"), backend=BACKEND)

    async def scene() -> None:
        async with opened(other) as stays:
            socket = socket_of(operator)
            await socket.open()
            await watch(socket, {})
            await socket.hear(lambda news: news)
            await in_thread(lambda: operator.post("/sign-in/logout/"))
            assert await socket.closed() == names.SIGNED_OUT
            await watch(stays, {})
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
    user, task_id = User.objects.get(username="operator"), submit()

    async def scene() -> None:
        socket = socket_of(operator)
        await socket.open()
        await watch(socket, {task_id: 0})
        await socket.hear(seq_of(task_id))
        await in_thread(lambda: change(user))
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
        socket = socket_of(operator)
        await socket.open()
        await sync_to_async(take_away)()
        await watch(socket, {})
        assert await socket.closed() == names.NOT_ALLOWED

    asyncio.run(scene())
