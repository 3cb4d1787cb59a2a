"""The rules of the machine for people: what each decision leads to, and what it may not."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from runtime.core import commands as c
from runtime.core.effects import Effect
from runtime.core.errors import DecisionRefused, NotAllowedNow
from runtime.core.reviews import ALLOWED, Kind
from runtime.core.states import TERMINAL, State
from tests.runtime.core.bookkeeping import Book, decided
from tests.runtime.core.standings import (
    asked,
    exhausted,
    in_doubt,
    killed,
    only_operation,
    rejected,
    repeated,
    sent,
    started,
    succeeds,
    unreadable,
)

ITEMS: dict[Kind, Callable[[], Book]] = {
    Kind.QUESTION: asked,
    Kind.IN_DOUBT: in_doubt,
    Kind.KILLED_WORKER: killed,
    Kind.RETRIES_EXHAUSTED: exhausted,
    Kind.PLAN_INVALID: rejected,
    Kind.REPEATED_WRITE: repeated,
    Kind.CHECKPOINT_UNREADABLE: unreadable,
}
SETTLED = [
    # kind, decision, where the task goes on, what the ledger says then
    (Kind.QUESTION, "answer", State.PLANNING, None),
    (Kind.IN_DOUBT, "result", State.PLANNING, "reconciled"),
    (Kind.IN_DOUBT, "retry", State.WAITING_TOOL_CALL, "failed"),
    (Kind.KILLED_WORKER, "retry", State.WAITING_TOOL_CALL, "dispatched"),
    (Kind.KILLED_WORKER, "result", State.PLANNING, "reconciled"),
    (Kind.RETRIES_EXHAUSTED, "retry", State.WAITING_TOOL_CALL, "failed"),
    (Kind.RETRIES_EXHAUSTED, "result", State.PLANNING, "reconciled"),
    (Kind.PLAN_INVALID, "retry", State.PLANNING, None),
    (Kind.REPEATED_WRITE, "retry", State.WAITING_TOOL_CALL, None),
    (Kind.REPEATED_WRITE, "result", State.PLANNING, None),
    (Kind.CHECKPOINT_UNREADABLE, "rebuild", State.PLANNING, None),
]


def test_every_decision_on_every_kind_of_item_has_its_rule_here() -> None:
    assert {(kind, decision) for kind, decision, *_ in SETTLED} == {
        (kind, decision.value)
        for kind, offered in ALLOWED.items()
        for decision in offered
        if decision != "abort"
    }


@pytest.mark.parametrize(("kind", "decision", "state", "ledger"), SETTLED)
def test_what_a_person_decides_leads_where_the_item_said(
    kind: Kind, decision: str, state: State, ledger: str | None
) -> None:
    book = ITEMS[kind]()
    assert book.at.wait is not None
    assert book.at.wait.kind == kind

    book.do(book.settle(decision, result_digest="e" * 64, answer="EUR"))

    assert book.at.state is state
    assert only_operation(book) == ledger
    assert "closed" in book.reviews.values()
    if book.at.pending is not None:
        assert book.at.pending.attempt == 0


@pytest.mark.parametrize("kind", Kind)
def test_every_item_can_end_the_task(kind: Kind) -> None:
    book = ITEMS[kind]()

    book.do(book.settle("abort"))

    assert book.at.state is State.TERMINATED_ABORTED
    assert book.at.outcome == "aborted"


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize(
    "end", [c.Cancel("enough", "ann"), c.GiveUp("too late"), c.Exhaust("steps", "40")]
)
def test_every_ending_closes_the_open_item(kind: Kind, end: c.Command) -> None:
    book = ITEMS[kind]()

    book.do(end)

    assert book.at.state in TERMINAL
    assert list(book.reviews.values()) == ["cancelled"]


@pytest.mark.parametrize("kind", Kind)
def test_a_decision_that_is_not_offered_is_refused_whatever_it_is(kind: Kind) -> None:
    book = ITEMS[kind]()
    for wrong in ("", "nonsense", "retry", "result", "answer", "rebuild"):
        if wrong not in ALLOWED[kind]:
            with pytest.raises(DecisionRefused, match="offers"):
                book.do(book.settle(wrong))
    with pytest.raises(DecisionRefused, match="not the item"):
        book.do(c.Settle("another", "abort", "because", "ann"))


def test_a_result_cannot_be_given_where_no_call_is_pending() -> None:
    book = started().do_all(c.Escalate(Kind.KILLED_WORKER, "it died"))

    assert book.last["allowed"] == ["retry", "abort"]
    with pytest.raises(DecisionRefused, match="no call"):
        book.do(book.settle("result", result_digest="e" * 64))


def test_a_repeated_write_that_is_not_wanted_is_no_second_effect() -> None:
    """The planner gets a result, the ledger and the limit of writes count one effect."""
    book = repeated()

    book.do(book.settle("result", result_digest="e" * 64))

    assert list(book.results.values()) == ["succeeded"]
    assert (book.at.writes, book.operations) == (0, {})


def test_a_repeated_write_that_is_wanted_is_made() -> None:
    book = repeated()

    book.do_all(book.settle("retry"))

    assert book.at.pending is not None
    assert book.at.pending.again
    book.do_all(c.Begin(), succeeds())
    assert book.at.writes == 1


def test_only_a_write_that_has_not_gone_out_can_be_a_repetition() -> None:
    for book in (started(), sent(Effect.KEYED), sent(Effect.READ)):
        with pytest.raises(NotAllowedNow):
            book.do(c.Escalate(Kind.REPEATED_WRITE, "again?"))
    with pytest.raises(NotAllowedNow):
        started().do(c.Repeats(decided(Effect.READ), "0.1.0"))


def test_a_plan_that_cannot_go_on_is_decided_again_and_its_calls_are_not_made() -> None:
    plan = c.PlanCalls((decided(Effect.KEYED, 1), decided(Effect.READ, 2)))
    book = started().do_all(plan, c.Escalate(Kind.PLAN_INVALID, "refund is not deployed"))

    book.do(book.settle("retry"))

    assert book.at.state is State.PLANNING
    assert book.cancelled == ["0.1.0", "0.1.1"]


def test_a_call_that_may_have_happened_is_not_cancelled_by_planning_anew() -> None:
    book = sent(Effect.KEYED).do_all(c.Escalate(Kind.PLAN_INVALID, "refund is not deployed"))

    book.do(book.settle("retry"))

    assert book.at.state is State.WAITING_TOOL_CALL
    assert book.at.pending is not None
    assert book.at.pending.dispatched


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("found", [Kind.CHECKPOINT_UNREADABLE, Kind.KILLED_WORKER])
def test_what_is_found_while_a_person_is_asked_replaces_the_question(
    kind: Kind, found: Kind
) -> None:
    book = ITEMS[kind]()

    book.do(c.Escalate(found, "it was found at a claim"))

    assert list(book.reviews.values()) == ["cancelled", "open"]
    assert book.at.wait is not None
    assert book.at.wait.kind == found


def test_a_doubt_outlives_an_item_that_came_between() -> None:
    book = in_doubt().do_all(c.Escalate(Kind.CHECKPOINT_UNREADABLE, "damaged"))

    book.do(book.settle("rebuild"))

    assert book.at.wait is not None
    assert book.at.wait.kind == Kind.IN_DOUBT
    assert only_operation(book) == "in_doubt"


def test_the_time_people_take_is_given_back_and_no_other() -> None:
    book = asked().later(7_200)
    before = datetime.fromisoformat(book.at.deadline or "")

    book.do(book.settle("answer", answer="EUR"))
    after = datetime.fromisoformat(book.at.deadline or "")
    book.later(60).do_all(succeeds(decided(Effect.READ)))

    assert after - before == timedelta(hours=2)
    assert book.at.deadline == after.isoformat()


def test_a_clock_that_went_back_takes_no_time_from_the_deadline() -> None:
    book = asked().later(-60)
    before = book.at.deadline

    book.do(book.settle("answer", answer="EUR"))

    assert book.at.deadline == before
