"""The short way for parts: the same answers, on threads that give back what they borrow."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from console.access import Role, grant, lay_roles
from console.live.lane import THREADS, Lane
from console.live.marks import mark
from console.live.shared import Message, Receive, Send

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


class Others:
    """What stands for Django's own way: it counts what comes."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    async def __call__(self, scope: Mapping[str, Any], _receive: Receive, _send: Send) -> None:
        self.paths.append(scope["path"])


async def _ask(app: Lane, path: str, method: str = "GET", **headers: str) -> list[Message]:
    said: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        said.append(message)

    sent = {"host": "localhost", **headers}
    await app(
        {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        },
        receive,
        send,
    )
    return said


BY_SCRIPT = {"hx-request": "true"}
PART = {**BY_SCRIPT, "signalbox-mark": mark()}


@pytest.mark.parametrize(
    ("path", "method", "headers"),
    [
        ("/tasks/", "GET", {}),
        ("/tasks/", "POST", PART),
        ("/api/v1/tasks", "GET", PART),
        ("/tasks/", "GET", {**PART, "hx-request": "false"}),
        ("/tasks/?q=slow", "GET", BY_SCRIPT),
        ("/tasks/rows/", "GET", {**BY_SCRIPT, "signalbox-mark": "other.1"}),
        ("/tasks/rows/", "GET", {**BY_SCRIPT, "signalbox-mark": ""}),
    ],
    ids=["page", "act", "API", "no script", "search", "news of another process", "after an act"],
)
def test_whole_pages_acts_searches_and_what_may_wait_long_go_the_usual_way(
    path: str, method: str, headers: dict[str, str]
) -> None:
    others = Others()

    assert asyncio.run(_ask(Lane(others), path, method, **headers)) == []

    assert others.paths == [path]


def test_who_is_not_signed_in_is_sent_to_sign_in(transactional_db: None) -> None:
    start, *_ = asyncio.run(_ask(Lane(Others()), "/tasks/rows/", **PART))

    assert start["status"] == 401
    assert (b"HX-Redirect", b"/sign-in/login/") in start["headers"]


def test_a_part_is_answered_as_on_the_usual_way_and_no_connection_stays_lent(
    transactional_db: None,
) -> None:
    lay_roles()
    user = User.objects.create_user("ann")
    grant(user, Role.VIEWER)
    client = Client(HTTP_HOST="localhost", HTTP_HX_REQUEST="true")
    client.force_login(user, backend=BACKEND)
    usual = client.get("/tasks/rows/")
    before = _connections()
    cookie = "; ".join(f"{name}={one.value}" for name, one in client.cookies.items())

    async def scene() -> list[list[Message]]:
        lane = Lane(Others())
        asked = [_ask(lane, "/tasks/rows/", cookie=cookie, **PART) for _ in range(2 * THREADS)]
        return await asyncio.gather(*asked)

    for start, body in asyncio.run(scene()):
        assert start["status"] == 200
        assert body["body"] == usual.content
    assert _connections() == before


def _connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        found: int = cursor.fetchone()[0]
        return found
