"""Who asks for a part is remembered for a moment, and forgotten at once where that matters."""

import asyncio
from collections.abc import Callable
from http.cookies import SimpleCookie
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from console import sessions
from console.access import Role, grant, lay_roles
from console.live import known
from console.live.known import _KEPT, Known, Memory
from console.live.marks import LONGEST_S, mark
from console.live.names import GONE, NOT_ALLOWED
from console.live.reader import Reader
from console.models import Preferences

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
SECOND_NS = 1_000_000_000
ROWS = "/tasks/rows/"


@pytest.fixture
def user(transactional_db: None) -> User:
    lay_roles()
    user = User.objects.create_user("ann")
    grant(user, Role.VIEWER)
    return user


@pytest.fixture
def page(user: User, monkeypatch: pytest.MonkeyPatch) -> Client:
    """An open page: it asks for parts, and says what news it has heard.

    What is remembered does not end by time here, so that only forgetting can end it.
    """
    monkeypatch.setattr(known, "LONGEST_S", 3600.0)
    page = Client()
    page.force_login(user, backend=BACKEND)
    page.defaults |= {"HTTP_HX_REQUEST": "true", "HTTP_SIGNALBOX_MARK": mark()}
    return page


def _reads(page: Client, **headers: str) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        assert page.get("/signed-in/", headers=headers).status_code == 204
    return [query["sql"] for query in captured.captured_queries]


def test_who_asks_again_is_not_read_again(page: Client) -> None:
    assert _reads(page)

    assert _reads(page) == []


def test_who_does_not_say_what_it_has_heard_is_looked_at(page: Client) -> None:
    _reads(page)

    assert _reads(page, **{"signalbox-mark": ""})


def test_somebody_with_another_cookie_is_nobody_known(page: Client) -> None:
    page.get(ROWS)

    stranger = Client(HTTP_HX_REQUEST="true", HTTP_SIGNALBOX_MARK=mark())
    stranger.cookies["sessionid"] = "guessed"

    assert stranger.get(ROWS).status_code == 401


ENDINGS: dict[str, tuple[Callable[[Client, User], object], int]] = {
    "sign-out": (lambda page, _user: page.logout(), 401),
    "sign-out from elsewhere": (lambda _page, user: sessions.end_all(user), 401),
    "a role taken": (lambda _page, user: user.groups.clear(), 403),
    "taken out of a role": (
        lambda _page, user: Group.objects.get(name=Role.VIEWER).user_set.remove(user),
        403,
    ),
    "a role without its right": (
        lambda _page, _user: Group.objects.get(name=Role.VIEWER).permissions.clear(),
        403,
    ),
    "all taken out of a role": (
        lambda _page, _user: Group.objects.get(name=Role.VIEWER).user_set.clear(),
        403,
    ),
    "a role deleted": (lambda _page, _user: Group.objects.get(name=Role.VIEWER).delete(), 403),
    "an account closed": (lambda _page, user: _close(user), 401),
    "an account deleted": (lambda _page, user: user.delete(), 401),
}


def _close(user: User) -> None:
    user.is_active = False
    user.save()


def _set_superuser(user: User, *, is_superuser: bool) -> None:
    user.is_superuser = is_superuser
    user.save()


def test_a_superuser_no_more_may_not_ask_for_the_next_part(page: Client, user: User) -> None:
    user.groups.clear()
    _set_superuser(user, is_superuser=True)
    assert page.get(ROWS).status_code == 200

    _set_superuser(user, is_superuser=False)

    assert page.get(ROWS).status_code == 403


@pytest.mark.parametrize("name", ENDINGS)
def test_what_ends_rights_ends_them_for_the_next_part(name: str, page: Client, user: User) -> None:
    end, status = ENDINGS[name]
    cookies = SimpleCookie({name: one.value for name, one in page.cookies.items()})
    assert page.get(ROWS).status_code == 200

    end(page, user)
    page.cookies = cookies

    assert page.get(ROWS).status_code == status


def test_a_language_that_was_chosen_is_spoken_by_the_next_part(page: Client, user: User) -> None:
    assert page.get(ROWS)["Content-Language"] == "en"

    Preferences.objects.update_or_create(user=user, defaults={"language": "zh-hans"})

    assert page.get(ROWS)["Content-Language"] == "zh-hans"


def test_the_hint_of_another_process_forgets_everybody(page: Client) -> None:
    _reads(page)

    async def hear() -> None:
        Reader().hear({"type": GONE, "user": 0, "session": "-", "code": NOT_ALLOWED})

    asyncio.run(hear())

    assert _reads(page)


# --- the memory ---------------------------------------------------------------------------------


def _read(read_ns: int) -> Known:
    return Known(user="ann", row="row", preferences="defaults", read_ns=read_ns)


def test_a_session_is_remembered_for_so_long_and_no_longer() -> None:
    memory, long_ns = Memory(), int(LONGEST_S * SECOND_NS)
    memory.keep("key", _read(read_ns=0), memory.epoch)

    assert memory.get("key", long_ns) is not None
    assert memory.get("key", long_ns + 1) is None


def test_what_was_read_before_something_changed_is_not_kept() -> None:
    memory = Memory()
    epoch = memory.epoch

    memory.forget()
    memory.keep("key", _read(read_ns=0), epoch)

    assert memory.get("key", 0) is None


def test_only_so_many_sessions_are_kept() -> None:
    memory, keys = Memory(), [uuid4().hex for _ in range(_KEPT + 1)]
    for key in keys:
        memory.keep(key, _read(read_ns=0), memory.epoch)

    assert memory.get(keys[0], 0) is None
    assert memory.get(keys[-1], 0) is not None
