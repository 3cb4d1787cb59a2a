"""What all answers of the API have in common: one shape of errors, exact bodies, no traces."""

import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from hypothesis import HealthCheck, given
from hypothesis import settings as bounded
from hypothesis import strategies as st

from console.http.bodies import Malformed, NotExact, read
from console.http.edge import api_edge
from console.http.problems import MEDIA_TYPE
from runtime import api
from tests.agents_for_tests import clerk
from tests.console.http.conftest import Bearer

BASE = "/api/v1"
TASKS = f"{BASE}/tasks"


def is_problem(answer: Any, status: int, code: str) -> bool:
    body = json.loads(answer.content, parse_constant=_refuse)
    assert answer.headers["Content-Type"] == MEDIA_TYPE
    assert {"type", "title", "status", "detail", "instance", "code"} <= set(body)
    assert body["type"] == f"urn:signalbox:problem:{body['code']}"
    return (answer.status_code, body["status"], body["code"]) == (status, status, code)


def _refuse(word: str) -> None:
    pytest.fail(f"{word} is no JSON")


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["", "/nothing", "/tasks/x/y/z", "/tasks//events", "/../admin"])
def test_an_address_that_does_not_exist(client: Client, path: str) -> None:
    assert is_problem(client.get(f"{BASE}{path or '/'}"), 404, "not_found")


@pytest.mark.django_db
@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE"])
def test_a_method_that_is_not_taken(client: Client, method: str) -> None:
    answer = client.generic(method, TASKS)

    assert is_problem(answer, 405, "method_not_allowed")
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "POST"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("text/plain", 415, "not_json_type"),
        ("application/x-www-form-urlencoded", 415, "not_json_type"),
        ("multipart/form-data; boundary=x", 415, "not_json_type"),
        ("", 415, "not_json_type"),
        ("application/json; charset=utf-8", 202, ""),
    ],
)
def test_a_body_must_say_that_it_is_json(client: Client, kind: str, status: int, code: str) -> None:
    body = json.dumps({"agent": clerk.NAME, "input": {"order_id": "A1"}})

    answer = client.generic("POST", TASKS, body, content_type=kind)

    assert answer.status_code == status
    assert not code or is_problem(answer, status, code)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 422, "not_valid"),
        (b"{", 400, "malformed_json"),
        (b"\xff\xfe{}", 400, "malformed_json"),
        (b"{} {}", 400, "malformed_json"),
        (b'{"a": NaN}', 422, "inexact_json"),
        (b'{"a": -Infinity}', 422, "inexact_json"),
        (b'{"a": 1e999}', 422, "inexact_json"),
        (b'{"a": 1, "a": 2}', 422, "inexact_json"),
        (b"[" * 100_000, 422, "inexact_json"),
        (b'{"a": ' + b"9" * 5000 + b"}", 422, "inexact_json"),
        (b"[]", 422, "not_valid"),
        (b"null", 422, "not_valid"),
        (b'"text"', 422, "not_valid"),
    ],
)
def test_a_body_that_readers_take_differently_is_refused(
    client: Client, body: bytes, status: int, code: str
) -> None:
    answer = client.generic("POST", TASKS, body, content_type="application/json")

    assert is_problem(answer, status, code)


@pytest.mark.django_db
def test_a_body_that_is_too_large(client: Client) -> None:
    body = b'{"agent": "' + b"x" * settings.DATA_UPLOAD_MAX_MEMORY_SIZE + b'"}'

    answer = client.generic("POST", TASKS, body, content_type="application/json")

    assert is_problem(answer, 413, "too_large")


@pytest.mark.django_db
def test_nothing_that_was_sent_is_repeated(client: Client) -> None:
    secret = "hunter2hunter2"

    answer = client.post(
        TASKS,
        {"agent": {"password": secret}, "input": {}, "labels": secret},
        content_type="application/json",
    )

    assert answer.status_code == 422
    assert secret not in answer.content.decode()


@pytest.mark.django_db
def test_a_database_that_is_away_is_a_time_to_wait(client: Client) -> None:
    def away(execute: Any, sql: str, *rest: Any) -> Any:
        if "console_apitoken" in sql:
            raise OperationalError
        return execute(sql, *rest)

    with connection.execute_wrapper(away):
        answer = client.get(TASKS)

    assert is_problem(answer, 503, "database_away")
    assert answer.headers["Retry-After"] == "2"


@pytest.mark.parametrize("status", [400, 403, 404, 500, 502])
def test_an_error_nobody_foresaw_has_the_same_shape(status: int) -> None:
    def broken(_request: HttpRequest) -> HttpResponse:
        return HttpResponse("<h1>secret traceback</h1>", status=status, headers={"X-Kept": "1"})

    edge: Callable[[HttpRequest], HttpResponse] = api_edge(broken)  # type: ignore[assignment]
    answer = edge(RequestFactory().get(TASKS))

    assert json.loads(answer.content)["status"] == status
    assert answer.headers["Content-Type"] == MEDIA_TYPE
    assert answer.headers["X-Kept"] == "1"
    assert "secret" not in answer.content.decode()
    assert edge(RequestFactory().get("/tasks/")).content == b"<h1>secret traceback</h1>"


@pytest.mark.django_db
def test_nothing_is_kept_by_caches_and_every_answer_has_its_id(client: Client) -> None:
    for path in ("/tasks", "/nothing", "/docs"):
        answer = client.get(BASE + path)
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Request-ID"]


# --- the description ------------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_description_names_every_operation_with_its_security() -> None:
    schema = Client().get(f"{BASE}/openapi.json").json()

    found = {
        operation["operationId"]: operation
        for operations in schema["paths"].values()
        for operation in operations.values()
    }
    assert {"submit_task", "get_task", "list_events", "decide_review", "list_workers"} <= set(found)
    assert set(schema["components"]["securitySchemes"]) == {"token", "session"}
    for operation in found.values():
        assert operation["security"] == [{"token": []}, {"session": []}]
        assert operation["x-permission"]
        assert set(operation["responses"]["401"]["content"]) == {MEDIA_TYPE}
    names = {parameter["name"] for parameter in found["submit_task"]["parameters"]}
    assert names == {"Idempotency-Key"}


@pytest.mark.django_db
def test_the_page_needs_no_script_and_nothing_from_elsewhere() -> None:
    answer = Client().get(f"{BASE}/docs")

    page = answer.content.decode()
    assert "decide_review" in page
    assert not any(word in page for word in ("<script", "<style", "style=", "onclick", "//cdn"))
    assert "https://" not in page
    assert "'unsafe-inline'" not in answer.headers["Content-Security-Policy"]


# --- any body -------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
NAMES = """
    agent input manifest namespace title labels priority not_before callback_url reason situation
    decision arguments digest extra
"""
MEMBERS = st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES.split(), JSON))
BODIES = (MEMBERS | JSON).map(lambda value: json.dumps(value).encode()) | st.binary(max_size=40)


@pytest.mark.django_db
@bounded(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(body=BODIES, data=st.data())
def test_no_body_breaks_an_operation(
    client: Client, item: api.ReviewView, body: bytes, data: st.DataObject
) -> None:
    path = data.draw(
        st.sampled_from(
            [
                "/tasks",
                f"/tasks/{item.task_id}/pause",
                f"/tasks/{item.task_id}/resume",
                f"/tasks/{item.task_id}/retry",
                f"/reviews/{item.id}/decision",
            ]
        )
    )

    answer = client.generic("POST", BASE + path, body, content_type="application/json")

    assert answer.status_code in {200, 202, 400, 404, 409, 422}
    json.loads(answer.content, parse_constant=_refuse)


@pytest.mark.django_db
@bounded(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    query=st.dictionaries(
        st.sampled_from(
            ["state", "agent", "q", "cursor", "limit", "namespace", "after", "beyond", "status"]
        ),
        st.text(max_size=30) | st.integers().map(str),
        max_size=4,
    ),
    path=st.sampled_from(["/tasks", "/tasks/{}", "/tasks/{}/events", "/tasks/{}/why", "/reviews"]),
    name=st.text(max_size=40),
)
def test_no_query_breaks_an_operation(
    client: Client, query: dict[str, str], path: str, name: str
) -> None:
    from urllib.parse import quote, urlencode

    address = BASE + path.format(quote(name.encode(errors="replace"), safe=""))
    clean = {key: value.encode(errors="replace") for key, value in query.items()}

    answer = client.get(f"{address}?{urlencode(clean)}")

    assert answer.status_code in {200, 404, 422}


@bounded(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    with contextlib.suppress(Malformed, NotExact):
        json.dumps(read(body), allow_nan=False)


@pytest.mark.django_db
def test_an_account_that_may_not_is_told_so_in_words(vic: User, bearer: Bearer) -> None:
    answer = bearer(user=vic).post(
        TASKS, {"agent": "x", "input": {}}, content_type="application/json"
    )

    assert answer.json()["detail"] == "This token, or its account, may not submit tasks."
