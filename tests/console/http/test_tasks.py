"""`/tasks`: what goes in comes out, once; levers are refused with how the task stands."""

import json
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import AsyncClient, Client

from console.models import AuditEntry
from console.tokens import Scope
from runtime import api
from runtime.core.payloads import encode
from runtime.core.reviews import Kind
from runtime.models import Event, Task
from tests.agents_for_tests import clerk
from tests.agents_for_tests.hand import Hand
from tests.console.http.conftest import Bearer

pytestmark = pytest.mark.django_db
TASKS = "/api/v1/tasks"
BODY: dict[str, Any] = {"agent": clerk.NAME, "input": {"order_id": "A1"}}


def post(client: Client, path: str, body: object, **headers: str) -> Any:
    return client.post(path, body, content_type="application/json", headers=headers)


def submit(client: Client, key: str | None = None, **more: Any) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    return post(client, TASKS, BODY | more, **headers)


# --- submitting -----------------------------------------------------------------------------------


def test_a_task_is_accepted_and_can_be_read_where_it_says(client: Client) -> None:
    answer = submit(client, title="T", labels={"a": "b"}, priority="5")

    assert answer.status_code == 202
    assert answer.json()["created_by"] == "human:ann"
    read = client.get(answer.headers["Location"]).json()
    assert read["input"] == {"order_id": "A1", "note": ""}
    assert (read["title"], read["labels"], read["priority"]) == ("T", {"a": "b"}, 5)
    assert read["callback"] is None


def test_the_same_key_and_body_is_the_same_task(client: Client, bearer: Bearer) -> None:
    first, again = submit(client, "k"), submit(bearer(), "k")

    assert first.status_code == again.status_code == 202
    assert first.json()["id"] == again.json()["id"]
    assert len(client.get(TASKS).json()["tasks"]) == 1


def test_the_same_key_with_another_body_is_refused(client: Client) -> None:
    submit(client, "k")

    for other in ({"title": "x"}, {"callback_url": "https://example.com/"}, {"priority": 1}):
        answer = submit(client, "k", **other)
        assert (answer.status_code, answer.json()["code"]) == (409, "key_reused")
    assert len(api.tasks().rows) == 1


def test_without_a_key_every_request_makes_a_task(client: Client) -> None:
    assert submit(client).json()["id"] != submit(client).json()["id"]


@pytest.mark.parametrize(
    ("change", "code", "status"),
    [
        ({"agent": "nobody"}, "unknown_agent", 404),
        ({"agent": "no such\x00agent"}, "not_valid", 422),
        ({"agent": 5}, "not_valid", 422),
        ({"input": {}}, "input_refused", 422),
        ({"input": "text"}, "input_refused", 422),
        ({"input": None}, "input_refused", 422),
        ({"manifest": {"nonsense": 1}}, "manifest_refused", 422),
        ({"manifest": {"limits": {"steps": 10_000}}}, "manifest_widens", 422),
        ({"manifest": []}, "not_valid", 422),
        ({"namespace": "no space"}, "not_valid", 422),
        ({"labels": {"a": 1}}, "not_valid", 422),
        ({"labels": {"a": "\x00"}}, "bad_identifier", 422),
        ({"priority": 1.5}, "not_valid", 422),
        ({"priority": True}, "not_valid", 422),
        ({"priority": 2000}, "not_valid", 422),
        ({"priority": "9" * 19}, "not_valid", 422),
        ({"not_before": "2026-01-01T00:00:00"}, "not_valid", 422),
        ({"not_before": 1_800_000_000}, "not_valid", 422),
        ({"not_before": "9999-12-31T23:59:59-14:00"}, "not_valid", 422),
        ({"not_before": "soon"}, "not_valid", 422),
        ({"callback_url": "http://example.com/"}, "callback_refused", 422),
        ({"callback_url": "https://10.0.0.1/"}, "callback_refused", 422),
        ({"callback_url": "\ud800"}, "callback_refused", 422),
        ({"title": "x" * 2000}, "not_valid", 422),
        ({"pirority": 1}, "not_valid", 422),
        ({"created_by": "human:bob"}, "not_valid", 422),
    ],
)
def test_what_cannot_be_a_task_is_refused(
    client: Client, change: dict[str, Any], code: str, status: int
) -> None:
    answer = post(client, TASKS, json.dumps(BODY | change))

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert not api.tasks().rows


def test_an_instant_with_its_zone_is_kept_to_the_instant(client: Client) -> None:
    answer = submit(client, not_before="2199-01-31T12:00:00+02:00")

    assert answer.json()["due_at"] == "2199-01-31T10:00:00Z"


@pytest.mark.parametrize("key", ["", "x" * 201])
def test_a_key_that_is_none_is_refused(client: Client, key: str) -> None:
    answer = submit(client, key)

    assert (answer.status_code, answer.json()["code"]) == (422, "bad_identifier")


# --- reading --------------------------------------------------------------------------------------


def test_pages_hold_every_task_once(client: Client) -> None:
    made = [submit(client).json()["id"] for _ in range(5)]

    seen, cursor = [], ""
    while cursor is not None:
        page = client.get(f"{TASKS}?limit=2&cursor={cursor}").json()
        seen += [task["id"] for task in page["tasks"]]
        cursor = page["cursor"]

    assert seen == made[::-1]


def test_filters_narrow_the_list(client: Client, task_id: UUID, item: api.ReviewView) -> None:
    other = submit(client, "needle").json()["id"]

    def ids(query: str) -> list[str]:
        return [task["id"] for task in client.get(f"{TASKS}?{query}").json()["tasks"]]

    assert ids("state=waiting_human") == [str(task_id)]
    assert ids("q=needle") == [other]
    assert ids(f"agent={clerk.NAME}") == [other, str(task_id)]
    assert ids("agent=nobody") == []
    assert ids("namespace=other") == []


@pytest.mark.parametrize(
    "query",
    [
        "state=resting",
        "cursor=x",
        "limit=0",
        "limit=201",
        "limit=x",
        "q=%00",
        "namespace=%00",
        "agent=%00",
        "namespace=",
    ],
)
def test_a_query_that_means_nothing_is_refused(client: Client, query: str) -> None:
    answer = client.get(f"{TASKS}?{query}")

    assert answer.status_code == 422
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("q", ["%25", "d_r", "%5C", "'", "%F0%9F%98%80", "%FF", "%E2%80%AE"])
def test_any_text_can_be_searched_for(client: Client, task_id: UUID, q: str) -> None:
    assert client.get(f"{TASKS}?q={q}").json() == {"tasks": [], "cursor": None}


@pytest.mark.parametrize("name", ["nonsense", "0", "%00", "..", "%F0%9F%98%80"])
def test_an_id_that_is_none_is_not_found(client: Client, name: str) -> None:
    for path in ("", "/events", "/why", "/export"):
        answer = client.get(f"{TASKS}/{name}{path}")
        assert answer.status_code == 404
        assert answer.headers["Content-Type"] == "application/problem+json"


def test_events_page_by_rows(client: Client, task_id: UUID) -> None:
    Hand(task_id).start().read().read().finish()
    whole = client.get(f"{TASKS}/{task_id}/events").json()
    assert whole["more"] is False

    seen: list[int] = []
    after, more = 0, True
    while more:
        page = client.get(f"{TASKS}/{task_id}/events?limit=2&after={after}").json()
        seen += [event["seq"] for event in page["events"]]
        after, more = page["after"], page["more"]

    assert seen == [event["seq"] for event in whole["events"]]
    assert len(seen) >= 4
    late = client.get(f"{TASKS}/{task_id}/events?after={after}").json()
    assert late == {"events": [], "after": after, "more": False}


def test_events_page_by_bytes_and_never_stand_still(client: Client, task_id: UUID) -> None:
    heavy = encode({"text": "x" * 700_000}).text
    for seq in range(2, 6):
        Event.objects.create(
            task_id=task_id,
            seq=seq,
            type="progress",
            payload=heavy if seq < 5 else encode({"text": "y" * 3_000_000}).text,
            actor="system",
            at=api.events(task_id)[0].at,
        )

    pages, after, more = [], 0, True
    while more:
        page = client.get(f"{TASKS}/{task_id}/events?after={after}").json()
        pages.append([event["seq"] for event in page["events"]])
        after, more = page["after"], page["more"]

    assert pages == [[1, 2], [3], [4], [5]]


@pytest.mark.parametrize("query", ["after=-1", "after=9223372036854775808", "limit=1001"])
def test_a_page_of_events_that_cannot_be_is_refused(
    client: Client, task_id: UUID, query: str
) -> None:
    assert client.get(f"{TASKS}/{task_id}/events?{query}").status_code == 422


def test_odd_values_are_shown_as_json_that_every_reader_takes(
    client: Client, task_id: UUID
) -> None:
    odd = {
        "nan": float("nan"),
        "inf": float("inf"),
        "long": 2**60,
        "very long": 10**5000,
        "bytes": b"\x00\xff",
        "text": "\ud800\x00\u202e",
    }
    Hand(task_id).start().finish(odd)

    answer = client.get(f"{TASKS}/{task_id}")

    def no_constant(word: str) -> None:
        pytest.fail(f"{word} is no JSON")

    result = json.loads(answer.content, parse_constant=no_constant)["result"]
    assert (result["nan"], result["inf"]) == ("nan", "inf")
    assert result["long"] == str(2**60)
    assert result["very long"].startswith("0x")
    assert result["text"] == "?\x00\u202e"


def test_why_is_one_sentence(client: Client, task_id: UUID) -> None:
    answer = client.get(f"{TASKS}/{task_id}/why").json()

    assert answer["sentence"] == api.why(task_id).sentence
    assert answer["facts"]["queue"] == "default"


def test_an_export_is_whole(client: Client, task_id: UUID) -> None:
    Hand(task_id).start().read().begin().succeed().finish()

    answer = client.get(f"{TASKS}/{task_id}/export")

    lines = [json.loads(line) for line in b"".join(answer).splitlines()]
    kinds = [line["kind"] for line in lines]
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    assert kinds[0] == "task"
    assert (kinds.count("step"), kinds.count("effect")) == (2, 1)
    assert lines[-1] == {"kind": "end", "events": kinds.count("event")}
    assert kinds.count("event") == len(api.events(task_id))


# --- levers ---------------------------------------------------------------------------------------


def test_a_lever_moves_the_task_and_is_audited(client: Client, task_id: UUID) -> None:
    answer = post(client, f"{TASKS}/{task_id}/pause", {"reason": "  wait a little "})

    assert answer.status_code == 200
    assert answer.json()["held"] is True
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.result) == ("human:ann", "task.pause", "done")
    assert entry.object == f"task:{task_id}"
    assert entry.reason == "wait a little"


STATES = ["fresh", "asking", "doubtful", "retrying", "paused"]


def in_state(name: str, task_id: UUID) -> UUID:
    match name:
        case "asking":
            Hand(task_id).start().ask()
        case "doubtful":
            Hand(task_id).start().read().begin().doubt()
        case "retrying":
            Hand(task_id).start().read().begin().fail()
        case "paused":
            api.pause(task_id, reason="r", by="human:bob")
    return task_id


@pytest.mark.parametrize("lever", ["pause", "cancel"])
@pytest.mark.parametrize("state", STATES)
def test_pause_and_cancel_are_taken_in_every_state_but_a_final_one(
    client: Client, task_id: UUID, lever: str, state: str
) -> None:
    in_state(state, task_id)

    assert post(client, f"{TASKS}/{task_id}/{lever}", {"reason": "r"}).status_code == 200


@pytest.mark.parametrize("lever", ["pause", "cancel", "resume", "retry"])
def test_no_lever_moves_what_has_ended(client: Client, task_id: UUID, lever: str) -> None:
    situation = api.cancel(task_id, reason="r", by="human:bob").situation
    body = {"reason": "r"} | ({"situation": situation} if lever in {"resume", "retry"} else {})

    answer = post(client, f"{TASKS}/{task_id}/{lever}", body)

    assert (answer.status_code, answer.json()["code"]) == (409, "not_allowed_now")
    assert answer.json()["state"] == "terminated_aborted"
    assert answer.json()["current"]["state"] == "terminated_aborted"
    assert AuditEntry.objects.get().result == "conflict"


def test_a_task_that_moved_on_is_not_resumed(client: Client, task_id: UUID) -> None:
    seen = api.pause(task_id, reason="r", by="human:bob").situation
    api.resume(task_id, reason="r", by="human:bob")
    now = api.pause(task_id, reason="r", by="human:bob").situation

    answer = post(client, f"{TASKS}/{task_id}/resume", {"reason": "r", "situation": seen})

    assert (answer.status_code, answer.json()["code"]) == (409, "situation_moved")
    assert answer.json()["situation"] == answer.json()["current"]["situation"] == now
    again = {"reason": "r", "situation": str(now)}
    assert post(client, f"{TASKS}/{task_id}/resume", again).json()["held"] is False


def test_retry_ends_a_back_off(client: Client, task_id: UUID) -> None:
    in_state("retrying", task_id)
    body = {"reason": "r", "situation": api.task(task_id).situation}

    assert post(client, f"{TASKS}/{task_id}/retry", body).status_code == 200


def test_a_retry_that_is_a_decision_needs_the_right_to_decide(
    client: Client, bearer: Bearer, task_id: UUID
) -> None:
    in_state("doubtful", task_id)
    body = {"reason": "r", "situation": api.task(task_id).situation}

    refused = post(bearer(Scope.TASKS_WRITE), f"{TASKS}/{task_id}/retry", body)
    assert (refused.status_code, refused.json()["code"]) == (403, "lacks_permission")

    assert post(client, f"{TASKS}/{task_id}/retry", body).status_code == 200
    assert api.reviews(status=None)[0].decided_by == "human:ann"


@pytest.mark.parametrize(
    ("lever", "body"),
    [
        ("pause", {}),
        ("pause", {"reason": "   "}),
        ("pause", {"reason": "x" * 4001}),
        ("pause", {"reason": 5}),
        ("pause", {"reason": "r", "by": "human:bob"}),
        ("resume", {"reason": "r"}),
        ("resume", {"reason": "r", "situation": True}),
        ("resume", {"reason": "r", "situation": 0}),
        ("retry", {"reason": "r", "situation": 2**31}),
        ("cancel", []),
        ("cancel", "reason"),
        ("cancel", None),
    ],
)
def test_a_lever_without_its_parts_is_refused(
    client: Client, task_id: UUID, lever: str, body: object
) -> None:
    before = Task.objects.get(pk=task_id)

    answer = post(client, f"{TASKS}/{task_id}/{lever}", json.dumps(body))

    assert (answer.status_code, answer.json()["code"]) == (422, "not_valid")
    assert Task.objects.get(pk=task_id).version == before.version


def test_a_damaged_checkpoint_hides_no_task(client: Client, task_id: UUID) -> None:
    Hand(task_id).start().escalate(Kind.KILLED_WORKER)
    Task.objects.filter(pk=task_id).update(checkpoint="{")

    assert client.get(f"{TASKS}/{task_id}").json()["readable"] is False


def test_a_stranger_in_the_audit_is_never_the_body_s(
    client: Client, task_id: UUID, vic: User
) -> None:
    post(client, f"{TASKS}/{task_id}/cancel", {"reason": "human:vic asked"})

    assert AuditEntry.objects.get().actor == "human:ann"
    assert api.task(task_id).outcome_reason == "cancelled by human:ann: human:vic asked"


def test_an_export_streams_under_asgi_too(bearer: Bearer, task_id: UUID) -> None:
    Hand(task_id).start().read().finish()
    authorization = bearer().defaults["HTTP_AUTHORIZATION"]

    async def fetch() -> list[bytes]:
        answer: Any = await AsyncClient().get(
            f"{TASKS}/{task_id}/export", headers={"authorization": authorization}
        )
        assert answer.is_async
        return [chunk async for chunk in answer]

    lines = b"".join(async_to_sync(fetch)()).splitlines()

    assert json.loads(lines[-1])["kind"] == "end"
    assert len(lines) > 5
