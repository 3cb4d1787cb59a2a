"""Reviews: the item as stored, the decision bound to what was shown, the loser told who won."""

from collections.abc import Callable
from uuid import UUID

import pytest
from django.test import Client

from console.access import Role
from console.models import AuditEntry
from runtime import api
from tests.agents_for_tests.hand import Hand

type Asked = Callable[..., tuple[UUID, UUID]]
type AsRole = Callable[[Role | None], Client]


def _doubtful(submitted: Callable[..., UUID]) -> tuple[UUID, UUID]:
    task_id = submitted(title="Pay A1")
    Hand(task_id).start().read().begin().doubt()
    review_id = api.task(task_id).review_id
    assert review_id is not None
    return task_id, review_id


def test_open_items_are_listed_and_counted_in_navigation_and_title(
    operator: Client, asked: Asked
) -> None:
    _, review_id = asked("Which one?")

    page = operator.get("/reviews/").content.decode()

    assert f"/reviews/{review_id}/" in page
    assert "<title>(1) Reviews" in page
    assert 'data-count="1"' in page


def test_an_item_shows_the_call_whole_and_every_decision_with_its_meaning(
    operator: Client, submitted: Callable[..., UUID]
) -> None:
    _, review_id = _doubtful(submitted)
    item = api.review(review_id)

    page = operator.get(f"/reviews/{review_id}/").content.decode()

    assert "Did pay happen?" in page
    assert str(item.operation_id) in page
    assert "A1" in page
    for decision in item.allowed:
        assert f'value="{decision}"' in page
    assert "it did not happen; call again" in page


def test_an_answer_goes_to_the_agent_and_into_the_audit(operator: Client, asked: Asked) -> None:
    task_id, review_id = asked("Which one?")
    item = api.review(review_id)

    answer = operator.post(
        f"/reviews/{review_id}/decide/",
        {"decision": "answer", "answer": "the blue one", "situation": item.situation},
    )

    assert answer.status_code == 302
    decided = api.review(review_id)
    assert (decided.decision, decided.decided_by) == ("answer", "human:operator")
    assert decided.channel == "console"
    assert api.task(task_id).state == "planning"
    assert AuditEntry.objects.get().action == "review.answer"


def test_a_result_is_read_as_json_and_kept_when_it_is_none(
    operator: Client, submitted: Callable[..., UUID]
) -> None:
    _, review_id = _doubtful(submitted)
    situation = api.review(review_id).situation
    address = f"/reviews/{review_id}/decide/"

    refused = operator.post(
        address,
        {"decision": "result", "result": "{paid", "reason": "saw it", "situation": situation},
    )
    taken = operator.post(
        address,
        {
            "decision": "result",
            "result": '{"paid": true}',
            "external_id": "ext-1",
            "reason": "saw it",
            "situation": situation,
        },
    )

    assert refused.status_code == 422
    assert "must be JSON" in refused.content.decode()
    assert "{paid" in refused.content.decode()
    assert "saw it" in refused.content.decode()
    assert taken.status_code == 302
    assert api.review(review_id).arguments == {"result": {"paid": True}, "external_id": "ext-1"}


@pytest.mark.parametrize("result", ["NaN", "Infinity", "", "[" * 5000])
def test_what_is_no_json_is_refused_with_a_sentence(
    result: str, operator: Client, submitted: Callable[..., UUID]
) -> None:
    _, review_id = _doubtful(submitted)

    answer = operator.post(
        f"/reviews/{review_id}/decide/", {"decision": "result", "result": result, "situation": 1}
    )

    assert answer.status_code == 422
    assert api.review(review_id).status == "open"


def test_who_comes_second_is_told_who_won_and_keeps_what_was_typed(
    operator: Client, asked: Asked
) -> None:
    _, review_id = asked("Which one?")
    situation = api.review(review_id).situation
    api.decide(review_id, "abort", reason="not needed", by="human:ann")

    answer = operator.post(
        f"/reviews/{review_id}/decide/",
        {"decision": "answer", "answer": "my answer", "reason": "mine", "situation": situation},
        headers={"HX-Request": "true"},
    )

    page = answer.content.decode()
    assert answer.status_code == 409
    assert "ann decided" in page
    assert "not needed" in page
    assert "my answer" in page
    assert 'name="decision"' not in page
    assert AuditEntry.objects.get().result == "conflict"


def test_a_decision_on_a_situation_that_has_passed_is_refused(
    operator: Client, asked: Asked
) -> None:
    _, review_id = asked("Which one?")

    answer = operator.post(
        f"/reviews/{review_id}/decide/",
        {"decision": "answer", "answer": "blue", "reason": "kept", "situation": 0},
    )

    page = answer.content.decode()
    assert answer.status_code == 409
    assert "moved on" in page
    assert "kept" in page
    assert api.review(review_id).status == "open"


def test_ending_a_task_needs_a_reason(operator: Client, asked: Asked) -> None:
    _, review_id = asked("Which one?")
    situation = api.review(review_id).situation

    answer = operator.post(
        f"/reviews/{review_id}/decide/", {"decision": "abort", "situation": situation}
    )

    assert answer.status_code == 422
    assert "needs a reason" in answer.content.decode()
    assert api.review(review_id).status == "open"


@pytest.mark.parametrize("decision", ["", "approve", "retry", "<script>"])
def test_a_decision_the_item_does_not_offer_is_refused(
    decision: str, operator: Client, asked: Asked
) -> None:
    _, review_id = asked("Which one?")
    situation = api.review(review_id).situation

    answer = operator.post(
        f"/reviews/{review_id}/decide/", {"decision": decision, "situation": situation}
    )

    assert answer.status_code == 422
    assert api.review(review_id).status == "open"


def test_who_may_only_look_sees_the_item_without_a_form(as_role: AsRole, asked: Asked) -> None:
    _, review_id = asked("Which one?")
    viewer = as_role(Role.VIEWER)

    assert b'name="decision"' not in viewer.get(f"/reviews/{review_id}/").content
    answer = viewer.post(f"/reviews/{review_id}/decide/", {"decision": "answer", "answer": "x"})
    assert answer.status_code == 403
    assert api.review(review_id).status == "open"


def test_a_settled_item_says_by_whom_and_stays_readable(operator: Client, asked: Asked) -> None:
    _, review_id = asked("Which one?")
    api.decide(review_id, "answer", reason="", by="human:ann", arguments={"answer": "blue"})

    page = operator.get(f"/reviews/{review_id}/").content.decode()

    assert "ann" in page
    assert 'name="decision"' not in page
    assert "/reviews/" in operator.get("/reviews/").content.decode()


def test_an_entry_that_went_away_under_the_reader_says_how_it_ended(
    operator: Client, asked: Asked
) -> None:
    _, decided = asked("Which one?")
    _, still_open = asked("Which other one?")
    api.decide(decided, "abort", reason="not needed", by="human:ann")

    answer = operator.get(
        "/reviews/",
        {"gone": [str(decided), str(still_open), "no id", "<script>"]},
        headers={"HX-Request": "true"},
    )

    page = answer.content.decode()
    assert f'data-gone="review-{decided}">ann decided: End the task</li>' in page
    assert f'data-gone="review-{still_open}"></li>' in page
    assert "script" not in page


def test_an_empty_queue_says_who_else_may_decide(as_role: AsRole) -> None:
    operator = as_role(Role.OPERATOR)
    assert "You are the only one here who may decide." in operator.get("/reviews/").content.decode()

    as_role(Role.ADMINISTRATOR)
    assert "One other person may decide" in operator.get("/reviews/").content.decode()
    assert "not decide it" in as_role(Role.VIEWER).get("/reviews/").content.decode()


def test_who_may_only_look_is_led_to_the_reason(as_role: AsRole, asked: Asked) -> None:
    _, review_id = asked("Which one?")
    viewer = as_role(Role.VIEWER)

    for address in ("/reviews/", f"/reviews/{review_id}/"):
        assert "/settings/#right-decide_reviews" in viewer.get(address).content.decode()
