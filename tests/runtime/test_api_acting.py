"""Levers and decisions: accepted once stored, obeyed at once when no worker holds the task."""

import threading
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from runtime import api
from runtime.core.errors import (
    DecisionRefused,
    NotAllowedNow,
    ReviewClosed,
    SituationMoved,
    UnknownReview,
    UnknownTask,
)
from runtime.core.reviews import Kind
from runtime.engine.desk import at_once
from runtime.engine.letters import obey
from runtime.models import Inbox
from tests.agents_for_tests import clerk
from tests.agents_for_tests.hand import Hand

pytestmark = pytest.mark.django_db

ANN: dict[str, Any] = {"by": "human:ann", "reason": "because"}


def submit() -> UUID:
    return api.submit(clerk.NAME, {"order_id": "A1"}).id


def asking() -> tuple[UUID, api.ReviewView]:
    task_id = submit()
    Hand(task_id).start().ask()
    (item,) = api.reviews()
    return task_id, item


def doubtful() -> tuple[UUID, api.ReviewView]:
    task_id = submit()
    Hand(task_id).start().read().begin().doubt()
    (item,) = api.reviews()
    return task_id, item


def types(task_id: UUID) -> list[str]:
    return [event.type for event in api.events(task_id)]


def test_a_paused_task_is_held_at_once_though_no_worker_lives() -> None:
    view = api.pause(submit(), **ANN)

    assert view.held
    assert view.state == "initialized"
    assert types(view.id) == ["task_created", "hold_placed"]
    assert api.events(view.id)[-1].payload == {"reason": "because", "by": "human:ann"}


def test_a_resumed_task_goes_on_where_it_stood() -> None:
    paused = api.pause(submit(), **ANN)

    view = api.resume(paused.id, situation=paused.situation, **ANN)

    assert not view.held
    assert view.state == "initialized"
    assert view.owner is None
    assert types(view.id)[-1] == "hold_released"


def test_a_cancelled_task_ends_at_once_though_no_worker_lives() -> None:
    view = api.cancel(submit(), **ANN)

    assert (view.state, view.outcome) == ("terminated_aborted", "cancelled")
    assert view.outcome_reason == "cancelled by human:ann: because"
    assert types(view.id)[-2:] == ["cancel_requested", "task_aborted"]


def test_a_worker_that_holds_the_task_obeys_at_its_next_commit() -> None:
    hand = Hand(submit()).start()

    view = api.cancel(hand.desk.claimed.id, **ANN)
    assert view.state == "planning"
    hand.read()
    at_once(obey(hand.desk), hand.desk.ports.books)

    assert api.task(view.id).state == "terminated_aborted"


def test_a_task_that_waits_for_a_person_can_be_paused_and_cancelled() -> None:
    task_id, item = asking()

    api.pause(task_id, **ANN)
    view = api.cancel(task_id, **ANN)

    assert view.state == "terminated_aborted"
    assert api.review(item.id).status == "cancelled"


@pytest.mark.parametrize("lever", [api.pause, api.resume, api.cancel, api.retry])
def test_no_lever_moves_a_task_that_has_ended(lever: Any) -> None:
    task_id = api.cancel(submit(), **ANN).id
    before = api.task(task_id)

    with pytest.raises(NotAllowedNow, match="terminated_aborted"):
        lever(task_id, **ANN)

    assert api.task(task_id) == before
    assert Inbox.objects.count() == 1


@pytest.mark.parametrize("lever", [api.pause, api.resume, api.cancel, api.retry])
def test_no_lever_reaches_into_another_namespace(lever: Any) -> None:
    with pytest.raises(UnknownTask):
        lever(submit(), namespace="other", **ANN)


def test_a_task_that_is_not_paused_cannot_be_resumed() -> None:
    with pytest.raises(NotAllowedNow, match=r"cannot be resumed now: .* not paused"):
        api.resume(submit(), **ANN)


def test_resume_is_refused_when_the_task_has_moved_on() -> None:
    seen = api.pause(submit(), **ANN)
    api.resume(seen.id, **ANN)
    api.pause(seen.id, **ANN)

    with pytest.raises(SituationMoved, match=f"situation {seen.situation}, now"):
        api.resume(seen.id, situation=seen.situation, **ANN)


def test_retry_ends_a_back_off() -> None:
    task_id = submit()
    Hand(task_id).start().read().begin().fail()
    assert api.task(task_id).state == "retrying"

    view = api.retry(task_id, **ANN)

    assert types(task_id)[-1] == "retry_scheduled"
    assert api.events(task_id)[-1].payload["by"] == "human:ann"
    assert view.due_at is not None
    assert view.due_at <= api.events(task_id)[-1].at


def test_retry_of_a_task_whose_item_offers_it_decides_that_item() -> None:
    task_id, item = doubtful()

    view = api.retry(task_id, situation=item.situation, **ANN)

    assert view.state == "waiting_tool_call"
    decided = api.review(item.id)
    assert (decided.status, decided.decision, decided.decided_by) == (
        "closed",
        "retry",
        "human:ann",
    )


def test_a_task_that_waits_for_nothing_that_a_retry_ends_is_not_retried() -> None:
    task_id, _ = asking()

    with pytest.raises(NotAllowedNow, match="waiting_human"):
        api.retry(task_id, **ANN)
    with pytest.raises(NotAllowedNow, match="initialized"):
        api.retry(submit(), **ANN)


def test_an_answer_reaches_the_task_and_closes_the_item() -> None:
    task_id, item = asking()

    closed = api.decide(item.id, "answer", arguments={"answer": "EUR"}, channel="cli", **ANN)

    assert (closed.status, closed.decision, closed.channel) == ("closed", "answer", "cli")
    assert api.task(task_id).state == "planning"
    answered = api.events(task_id)[-2]
    assert (answered.type, answered.payload["answer"]) == ("human_answered", "EUR")


def test_a_result_by_hand_is_what_the_call_returns() -> None:
    task_id, item = doubtful()

    given = {"result": {"refund": "r-1"}, "external_id": "r-1"}
    api.decide(item.id, "result", arguments=given, **ANN)

    assert api.step_results(task_id)[-1].result == {"refund": "r-1"}
    (effect,) = api.effects(task_id)
    assert (effect.word, effect.external_id) == ("found", "r-1")


def test_the_second_decision_is_told_who_was_first() -> None:
    _, item = asking()
    api.decide(item.id, "answer", arguments={"answer": "EUR"}, **ANN)

    with pytest.raises(ReviewClosed, match="human:ann closed it as answer at 2") as refused:
        api.decide(item.id, "abort", by="human:bob", reason="late")

    assert refused.value.closed_by == "human:ann"


@pytest.mark.parametrize(
    ("decision", "arguments", "reason", "why"),
    [
        ("answer", None, "r", 'needs the argument {"answer": …}'),
        ("answer", {"result": 1}, "r", "needs the argument"),
        ("answer", {"answer": 1, "more": 2}, "r", "does not take the argument more"),
        ("abort", None, " ", "needs a reason"),
        ("abort", {"answer": 1}, "r", "does not take the argument answer"),
        ("retry", None, "r", "it offers answer, abort"),
        ("approve", None, "r", "it offers answer, abort"),
    ],
)
def test_a_decision_that_lacks_something_changes_nothing(
    decision: str, arguments: dict[str, Any] | None, reason: str, why: str
) -> None:
    task_id, item = asking()

    with pytest.raises(DecisionRefused) as refused:
        api.decide(item.id, decision, arguments=arguments, reason=reason, by="human:ann")

    assert why in str(refused.value)
    assert api.review(item.id) == item or api.review(item.id).status == "open"
    assert api.task(task_id).state == "waiting_human"
    assert Inbox.objects.count() == 0


@pytest.mark.parametrize("external_id", [5, {"a": 1}, "x" * 501, "a\x00"])
def test_an_external_id_that_the_ledger_cannot_hold_is_refused(external_id: object) -> None:
    _, item = doubtful()

    with pytest.raises(DecisionRefused, match="external_id is a text"):
        api.decide(item.id, "result", arguments={"result": 1, "external_id": external_id}, **ANN)


def test_a_decision_on_what_has_moved_since_is_refused() -> None:
    task_id, item = asking()
    api.pause(task_id, **ANN)

    with pytest.raises(SituationMoved):
        api.decide(item.id, "answer", arguments={"answer": 1}, situation=item.situation, **ANN)


def test_an_item_of_another_namespace_is_not_found() -> None:
    _, item = asking()

    with pytest.raises(UnknownReview):
        api.decide(item.id, "answer", arguments={"answer": 1}, namespace="other", **ANN)


def test_odd_characters_in_a_reason_stop_nothing() -> None:
    view = api.pause(submit(), reason="a\x00\ud800", by="human:\x00")

    assert view.held


@pytest.mark.django_db(transaction=True)
def test_of_many_who_decide_at_once_exactly_one_wins() -> None:
    task_id, item = doubtful()
    start = threading.Barrier(8)
    outcomes: list[str] = []

    def vote(number: int) -> None:
        start.wait(10)
        try:
            api.decide(item.id, "retry", reason="", by=f"human:{number}")
            outcomes.append("won")
        except ReviewClosed:
            outcomes.append("lost")
        finally:
            connection.close()

    threads = [threading.Thread(target=vote, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert sorted(outcomes) == ["lost"] * 7 + ["won"]
    assert types(task_id).count("review_closed") == 1
    assert api.verify(task_id).problems == ()


def test_what_killed_its_worker_is_given_up_until_a_person_sets_it_going() -> None:
    task_id = submit()
    Hand(task_id).start().read().begin().escalate(Kind.KILLED_WORKER)
    (item,) = api.dead().tasks
    assert (item.task_id, item.kind) == (task_id, "killed_worker")

    done = api.requeue(task_id, **ANN)

    assert (done.what, done.id) == ("task", str(task_id))
    assert api.dead().tasks == ()
    assert api.task(task_id).state == "waiting_tool_call"


@pytest.mark.parametrize("unknown", ["x1", str(UUID(int=1))])
def test_what_was_not_given_up_cannot_be_set_going(unknown: str) -> None:
    with pytest.raises(UnknownTask):
        api.requeue(unknown, **ANN)


def test_two_commands_that_wait_together_are_both_obeyed() -> None:
    """The first may leave the task where only a person or a time moves it on."""
    hand = Hand(submit()).start().read().begin()
    task_id = hand.desk.claimed.id
    api.pause(task_id, **ANN)
    api.cancel(task_id, **ANN)
    hand.desk.attention = 2

    hand.fail()
    at_once(obey(hand.desk), hand.desk.ports.books)

    assert api.task(task_id).state == "terminated_aborted"
    assert not Inbox.objects.filter(consumed_at__isnull=True).exists()


def test_a_command_behind_one_that_ends_the_task_is_settled_with_it() -> None:
    hand = Hand(submit()).start().read()
    task_id = hand.desk.claimed.id
    api.cancel(task_id, **ANN)
    api.pause(task_id, **ANN)
    hand.desk.attention = 2

    at_once(obey(hand.desk), hand.desk.ports.books)

    assert api.task(task_id).state == "terminated_aborted"
    assert api.verify(task_id).problems == ()
