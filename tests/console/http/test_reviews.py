"""`/reviews`: one decision wins, by the account that calls, on what it was shown."""

import json
import threading
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from console.models import AuditEntry
from console.tokens import Scope
from runtime import api
from tests.agents_for_tests import clerk
from tests.agents_for_tests.hand import Hand
from tests.console.http.conftest import Bearer

pytestmark = pytest.mark.django_db
REVIEWS = "/api/v1/reviews"


def decide(client: Client, item: api.ReviewView, **change: Any) -> Any:
    body = {
        "decision": "answer",
        "reason": "because",
        "arguments": {"answer": "the second"},
        "situation": item.situation,
    } | change
    return client.post(
        f"{REVIEWS}/{item.id}/decision", json.dumps(body), content_type="application/json"
    )


def test_an_item_is_shown_with_what_each_decision_does(
    client: Client, item: api.ReviewView
) -> None:
    (row,) = client.get(REVIEWS).json()["reviews"]
    shown = client.get(f"{REVIEWS}/{item.id}").json()

    assert row["id"] == shown["id"] == str(item.id)
    assert shown["question"] == "Which one?"
    assert shown["offers"]["answer"] == "the answer goes to the planner"
    assert len(shown["digest"]) == 64


def test_a_decision_is_the_callers_whatever_the_body_says(
    client: Client, item: api.ReviewView
) -> None:
    digest = client.get(f"{REVIEWS}/{item.id}").json()["digest"]

    answer = decide(client, item, digest=digest, approver="human:bob", by="bob", channel="console")

    assert answer.status_code == 200
    assert (answer.json()["decided_by"], answer.json()["channel"]) == ("human:ann", "api")
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.result) == ("human:ann", "review.answer", "done")


def test_the_loser_is_told_the_winner(client: Client, item: api.ReviewView) -> None:
    api.decide(item.id, "abort", reason="no", by="human:bob")

    answer = decide(client, item)

    assert (answer.status_code, answer.json()["code"]) == (409, "review_closed")
    assert (answer.json()["closed_by"], answer.json()["outcome"]) == ("human:bob", "abort")
    assert answer.json()["current"]["decision"] == "abort"


def test_what_moved_is_named(client: Client, item: api.ReviewView) -> None:
    answer = decide(client, item, situation=item.situation + 1)

    assert (answer.status_code, answer.json()["code"]) == (409, "situation_moved")
    assert answer.json()["situation"] == item.situation
    assert api.review(item.id).status == "open"


def test_what_was_not_shown_is_not_decided(client: Client, item: api.ReviewView) -> None:
    answer = decide(client, item, digest="0" * 64)

    assert (answer.status_code, answer.json()["code"]) == (409, "shown_moved")
    assert api.review(item.id).status == "open"


@pytest.mark.parametrize(
    "change",
    [
        {"decision": "approve"},
        {"decision": "\u0000"},
        {"decision": ""},
        {"decision": None},
        {"decision": "abort", "reason": "", "arguments": None},
        {"decision": "abort", "reason": "\u200b \u0000", "arguments": {"answer": 1}},
        {"arguments": {}},
        {"arguments": None},
        {"arguments": {"answer": 1, "more": 2}},
        {"arguments": []},
        {"situation": None},
        {"situation": "x"},
        {"situation": 1.0},
        {"reason": "x" * 4001},
    ],
)
def test_a_decision_that_cannot_be_is_refused(
    client: Client, item: api.ReviewView, change: dict[str, Any]
) -> None:
    answer = decide(client, item, **change)

    assert answer.status_code == 422
    assert api.review(item.id).status == "open"


def test_a_token_decides_only_with_the_scope_and_its_account_s_right(
    bearer: Bearer, item: api.ReviewView, vic: User
) -> None:
    readers = [scope for scope in Scope if scope is not Scope.REVIEWS_DECIDE]

    assert decide(bearer(*readers), item).status_code == 403
    assert decide(bearer(Scope.REVIEWS_DECIDE, user=vic), item).status_code == 403
    assert decide(bearer(Scope.REVIEWS_DECIDE), item).status_code == 200


def test_a_decision_sent_twice_is_told_that_it_was_taken(
    client: Client, item: api.ReviewView
) -> None:
    assert decide(client, item).status_code == 200

    again = decide(client, item)

    assert (again.status_code, again.json()["closed_by"]) == (409, "human:ann")


@pytest.mark.parametrize("status", ["open", "all"])
def test_pages_hold_every_item_once(client: Client, ann: User, status: str) -> None:
    for number in range(5):
        Hand(api.submit(clerk.NAME, {"order_id": f"A{number}"}).id).start().ask()

    seen, cursor = [], ""
    while cursor is not None:
        page = client.get(f"{REVIEWS}?limit=2&status={status}&cursor={cursor}").json()
        seen += [item["id"] for item in page["reviews"]]
        cursor = page["cursor"]

    assert len(seen) == len(set(seen)) == 5


def test_a_page_goes_on_behind_an_item_that_was_decided_meanwhile(
    client: Client, ann: User
) -> None:
    for number in range(3):
        Hand(api.submit(clerk.NAME, {"order_id": f"A{number}"}).id).start().ask()
    page = client.get(f"{REVIEWS}?limit=1").json()

    api.decide(page["cursor"], "abort", reason="no", by="human:bob")

    assert len(client.get(f"{REVIEWS}?cursor={page['cursor']}").json()["reviews"]) == 2


@pytest.mark.parametrize("query", ["status=lost", "cursor=x", "limit=0"])
def test_a_query_that_means_nothing_is_refused(client: Client, query: str) -> None:
    assert client.get(f"{REVIEWS}?{query}").status_code == 422


@pytest.mark.parametrize("name", ["01980000-0000-7000-8000-00000000beef", "nonsense", "%00"])
def test_an_unknown_item_is_not_found(client: Client, name: str) -> None:
    assert client.get(f"{REVIEWS}/{name}").status_code == 404
    body = {"decision": "abort", "reason": "r", "situation": 1}
    answer = client.post(f"{REVIEWS}/{name}/decision", body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_review")


@pytest.mark.django_db(transaction=True)
def test_of_ten_decisions_at_once_one_wins(bearer: Bearer, item: api.ReviewView) -> None:
    clients = [bearer() for _ in range(10)]
    start = threading.Barrier(len(clients))
    answers: list[Any] = []

    def run(client: Client, number: int) -> None:
        start.wait(20)
        decision = {"decision": "abort", "arguments": None} if number % 2 else {}
        answers.append(decide(client, item, **decision))
        connection.close()

    threads = [
        threading.Thread(target=run, args=pair) for pair in zip(clients, range(10), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 9
    winner = api.review(item.id).decision
    assert {a.json()["outcome"] for a in answers if a.status_code == 409} == {winner}


def test_a_task_of_another_space_is_none_of_this_one(client: Client, item: api.ReviewView) -> None:
    other: UUID = item.id

    assert client.get(f"{REVIEWS}/{other}?namespace=other").status_code == 404
