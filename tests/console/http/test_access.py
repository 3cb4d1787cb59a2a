"""Who is let in where: every operation has a door, and every door asks the policy."""

import json
import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from ninja.operation import Operation

from console import tokens
from console.access import Permission
from console.http import api as http
from console.http.auth import Needs
from console.tokens import OPENS, Scope
from runtime import api
from tests.agents_for_tests import clerk
from tests.console.http.conftest import Bearer

pytestmark = pytest.mark.django_db
BASE = "/api/v1"
PUBLIC = {"openapi", "page"}
UNKNOWN = str(uuid4())


def operations() -> Iterator[tuple[str, Operation]]:
    for bound in http._get_bound_routers():
        for path, view in bound.path_operations.items():
            for operation in view.operations:
                yield f"{bound.prefix}{path}".replace("//", "/"), operation


def door_of(operation: Operation) -> Needs:
    (door,) = operation.auth_callbacks
    assert isinstance(door, Needs), f"{operation.view_func.__name__} declares no permission"
    return door


def calls() -> list[Any]:
    """Every operation that asks for a permission: its method, path, permission."""
    return [
        pytest.param(method, path, door_of(op).permission, id=op.view_func.__name__)
        for path, op in operations()
        if op.view_func.__name__ not in PUBLIC
        for method in op.methods
    ]


def body_of(path: str) -> dict[str, Any] | None:
    """Give a body that an operation would take."""
    match path.rpartition("/")[2]:
        case "tasks":
            return {"agent": clerk.NAME, "input": {"order_id": "A1"}}
        case "decision":
            return {"decision": "abort", "reason": "r", "situation": 1}
        case "pause" | "cancel":
            return {"reason": "r"}
        case _:
            return {"reason": "r", "situation": 1}


def send(client: Client, method: str, path: str, **more: Any) -> Any:
    place = re.sub(r"{\w+}", UNKNOWN, path)
    body = body_of(path) if method == "POST" else None
    return client.generic(
        method,
        f"{BASE}{place}",
        json.dumps(body) if body else b"",
        content_type="application/json",
        **more,
    )


def test_every_operation_declares_its_permission() -> None:
    for path, operation in operations():
        name = operation.view_func.__name__
        declared = (operation.openapi_extra or {}).get("x-permission")

        if name in PUBLIC:
            assert declared == Permission.PUBLIC, path
            continue
        door = door_of(operation)
        assert door.permission == declared
        assert door.permission not in {Permission.PUBLIC, Permission.SIGNED_IN}


def test_an_operation_that_declares_nothing_lets_nobody_in() -> None:
    with pytest.raises(Exception, match="sign in"):
        http.auth[0](None)  # type: ignore[index]


@pytest.mark.parametrize(("method", "path", "permission"), calls())
def test_nobody_is_let_in(method: str, path: str, permission: Permission) -> None:
    answer = send(Client(), method, path)

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert answer.json()["code"] == "unauthenticated"


@pytest.mark.parametrize(("method", "path", "permission"), calls())
def test_a_token_without_the_scope_is_refused(
    method: str, path: str, permission: Permission, bearer: Bearer
) -> None:
    others = [scope for scope in Scope if permission not in OPENS[scope]]

    answer = send(bearer(*others), method, path)

    assert (answer.status_code, answer.json()["code"]) == (403, "lacks_permission")


@pytest.mark.parametrize(("method", "path", "permission"), calls())
def test_a_token_never_does_more_than_its_account(
    method: str, path: str, permission: Permission, bearer: Bearer, vic: User
) -> None:
    answer = send(bearer(user=vic), method, path)

    is_reading = permission.value.startswith("view")
    assert (answer.status_code == 403) is not is_reading


@pytest.mark.parametrize(("method", "path", "permission"), calls())
def test_a_cross_site_request_with_a_session_changes_nothing(
    method: str, path: str, permission: Permission, ann: User
) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ann)

    answer = send(strict, method, path)

    if method == "GET":
        assert answer.status_code in {200, 404}
    else:
        assert (answer.status_code, answer.json()["code"]) == (403, "csrf_failed")


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_is_refused_even_with_the_csrf_token(
    ann: User, task_id: UUID, site: str
) -> None:
    browser, token = signed_in(ann)

    answer = pause(browser, task_id, {"X-CSRFToken": token, "Sec-Fetch-Site": site})

    assert answer.json()["code"] == "csrf_failed"


def test_a_foreign_origin_is_refused_even_with_the_csrf_token(ann: User, task_id: UUID) -> None:
    browser, token = signed_in(ann)

    answer = pause(browser, task_id, {"X-CSRFToken": token, "Origin": "https://evil.example"})

    assert answer.json()["code"] == "csrf_failed"


def test_a_page_of_ours_is_let_in(ann: User, task_id: UUID) -> None:
    browser, token = signed_in(ann)

    answer = pause(browser, task_id, {"X-CSRFToken": token, "Sec-Fetch-Site": "same-origin"})

    assert answer.status_code == 200
    assert api.events(task_id)[-1].actor == "human:ann"


def signed_in(user: User) -> tuple[Client, str]:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(user)
    token = "a" * 32
    browser.cookies["csrftoken"] = token
    return browser, token


def pause(browser: Client, task_id: UUID, headers: dict[str, str]) -> Any:
    return browser.post(
        f"{BASE}/tasks/{task_id}/pause",
        {"reason": "r"},
        content_type="application/json",
        headers=headers,
    )


@pytest.mark.parametrize(
    "header", ["Bearer nonsense", "Bearer ", "Basic YW5uOnNlY3JldA==", "", "Bearer sbx_" + "0" * 49]
)
def test_a_refused_token_never_rides_on_a_session(ann: User, header: str) -> None:
    browser = Client(headers={"authorization": header})
    browser.force_login(ann)

    answer = browser.get(f"{BASE}/tasks")

    assert (answer.status_code, answer.json()["code"]) == (401, "token_refused")


def test_a_revoked_token_is_refused_from_the_next_request_on(ann: User) -> None:
    client = Client(
        headers={"authorization": f"Bearer {tokens.create('x', 'ann', ['tasks:read'])}"}
    )
    assert client.get(f"{BASE}/tasks").status_code == 200

    tokens.revoke("x")

    assert client.get(f"{BASE}/tasks").status_code == 401


def test_a_switched_off_account_takes_its_tokens_along(client: Client, ann: User) -> None:
    ann.is_active = False
    ann.save()

    assert client.get(f"{BASE}/tasks").status_code == 401


def test_what_a_token_does_not_reach_is_as_if_it_were_not_there(
    bearer: Bearer, task_id: UUID, item: api.ReviewView
) -> None:
    confined = bearer(namespaces=("elsewhere",))

    for method, path, _permission in (call.values for call in calls()):
        if "{" not in path:
            continue
        known = str(item.id if "review" in path else task_id)
        hidden = send(confined, str(method), re.sub(r"{\w+}", known, str(path)))
        unknown = send(confined, str(method), str(path))

        assert hidden.status_code == unknown.status_code == 404
        assert hidden.content.replace(known.encode(), b"") == unknown.content.replace(
            UNKNOWN.encode(), b""
        )
    assert api.task(task_id).version == item.seq


@pytest.mark.parametrize("path", ["/tasks", "/reviews"])
def test_a_space_out_of_reach_is_refused_whether_it_exists_or_not(
    bearer: Bearer, task_id: UUID, path: str
) -> None:
    confined = bearer(namespaces=("elsewhere",))

    answers = [confined.get(f"{BASE}{path}?namespace={name}") for name in ("default", "nowhere")]

    assert {answer.json()["code"] for answer in answers} == {"out_of_reach"}
    assert confined.get(f"{BASE}{path}?namespace=elsewhere").status_code == 200


def test_a_token_submits_only_where_it_reaches(bearer: Bearer) -> None:
    body = {"agent": clerk.NAME, "input": {"order_id": "A1"}}

    answer = bearer(namespaces=("elsewhere",)).post(
        f"{BASE}/tasks", body, content_type="application/json"
    )

    assert answer.json()["code"] == "out_of_reach"
    assert not api.tasks().rows


@pytest.mark.parametrize(
    "path",
    [
        "/tasks",
        "/tasks?q=A1&state=initialized",
        "/tasks/{task}",
        "/tasks/{task}/events",
        "/tasks/{task}/why",
        "/tasks/{task}/export",
        "/reviews",
        "/reviews?status=all",
        "/reviews/{item}",
        "/workers",
        "/openapi.json",
        "/docs",
    ],
)
def test_reading_writes_nothing(
    client: Client, task_id: UUID, item: api.ReviewView, path: str
) -> None:
    assert client.get(f"{BASE}/tasks").status_code == 200  # notes that the token is in use
    written: list[str] = []

    def only_reads(execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
        if not re.match(r"\s*(SELECT|WITH|SAVEPOINT|RELEASE)\b", str(sql)):
            written.append(str(sql))
        return execute(sql, params, many, context)

    before = rows_written()
    with connection.execute_wrapper(only_reads):
        answer = client.get(BASE + path.format(task=task_id, item=item.id))
        b"".join(answer) if answer.streaming else answer.content

    assert answer.status_code == 200
    assert written == []
    assert rows_written() == before


def rows_written() -> int:
    """Count what this transaction has written: the facade's statements pass by Django's wrapper."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::int FROM pg_stat_xact_user_tables"
        )
        return int(cursor.fetchone()[0])


def test_the_use_of_a_token_is_noted_once_a_minute(bearer: Bearer) -> None:
    client = bearer()
    client.get(f"{BASE}/tasks")
    before = rows_written()

    client.get(f"{BASE}/tasks")

    assert rows_written() == before
