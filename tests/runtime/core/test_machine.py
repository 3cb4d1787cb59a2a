"""The rules of the machine, one sentence each: what a command leads to in which state."""

from datetime import timedelta

import pytest

from runtime.core import commands as c
from runtime.core.effects import Effect
from runtime.core.errors import CheckpointUnreadable, NotAllowedNow
from runtime.core.events import EventType as E
from runtime.core.machine import create, decide
from runtime.core.retry import ErrorKind
from runtime.core.reviews import Kind
from runtime.core.states import State
from tests.runtime.core.bookkeeping import NOON, POLICY, Book, Loaded, decided, failure
from tests.runtime.core.standings import (
    DOUBTS,
    GAVE_UP,
    ONE,
    TRIES_AGAIN,
    A,
    L,
    P,
    R,
    fails,
    only_operation,
    sent,
    started,
    succeeds,
)

# --- creation and beginning ----------------------------------------------------------------------


def test_a_task_begins_with_one_event_that_fixes_its_deadline() -> None:
    decision = create(NOON, "human:ann", 60, {"agent": "clerk", "deadline": "ignored"})

    assert [event.seq for event in decision.events] == [1]
    assert decision.after.state is State.INITIALIZED
    assert decision.after.deadline == (NOON + timedelta(seconds=60)).isoformat()
    assert decision.after.situation == 1


def test_only_a_started_task_plans() -> None:
    with pytest.raises(NotAllowedNow, match="plan calls"):
        Book().do(c.PlanCalls((decided(Effect.READ),)))

    assert started().at.state is State.PLANNING


# --- effect class by outcome ---------------------------------------------------------------------


@pytest.mark.parametrize("effect", [Effect.READ, Effect.LOCAL])
def test_a_call_inside_our_walls_is_one_event_and_one_commit(effect: Effect) -> None:
    book = started()

    told = book.do(succeeds(decided(effect)))

    assert told == [E.TOOL_CALL_SUCCEEDED]
    assert book.at.state is State.PLANNING
    assert book.at.situation == 1
    assert only_operation(book) == (None if effect is Effect.READ else "confirmed")


@pytest.mark.parametrize("effect", [Effect.KEYED, Effect.CHECKED, Effect.ONCE])
def test_a_write_that_leaves_us_has_its_intent_written_first(effect: Effect) -> None:
    with pytest.raises(NotAllowedNow, match="intent was not written"):
        started().do(succeeds(decided(effect)))

    book = sent(effect)
    assert only_operation(book) == "dispatched"
    assert book.at.situation == 2
    book.do(succeeds())
    assert only_operation(book) == "confirmed"
    assert book.at.situation == 3
    assert (book.at.state, book.at.writes) == (State.PLANNING, 1)


MATRIX = [
    # effect, kind, declared; then on the first of three attempts and on the last: events, ledger
    (Effect.READ, R, True, (TRIES_AGAIN, None), (GAVE_UP, None)),
    (Effect.READ, P, True, (GAVE_UP, None), (GAVE_UP, None)),
    (Effect.READ, L, True, (TRIES_AGAIN, None), (GAVE_UP, None)),
    (Effect.READ, A, True, (TRIES_AGAIN, None), (GAVE_UP, None)),
    (Effect.LOCAL, R, True, (TRIES_AGAIN, "failed"), (GAVE_UP, "failed")),
    (Effect.LOCAL, P, True, (GAVE_UP, "failed"), (GAVE_UP, "failed")),
    (Effect.LOCAL, L, True, (TRIES_AGAIN, "failed"), (GAVE_UP, "failed")),
    (Effect.LOCAL, A, True, (TRIES_AGAIN, "failed"), (GAVE_UP, "failed")),
    (Effect.KEYED, R, True, (TRIES_AGAIN, "failed"), (GAVE_UP, "failed")),
    (Effect.KEYED, R, False, (TRIES_AGAIN, "dispatched"), (DOUBTS, "in_doubt")),
    (Effect.KEYED, P, True, (GAVE_UP, "failed"), (GAVE_UP, "failed")),
    (Effect.KEYED, L, True, (TRIES_AGAIN, "failed"), (GAVE_UP, "failed")),
    (Effect.KEYED, A, True, (TRIES_AGAIN, "dispatched"), (DOUBTS, "in_doubt")),
    (Effect.CHECKED, R, True, (TRIES_AGAIN, "dispatched"), (TRIES_AGAIN, "dispatched")),
    (Effect.CHECKED, P, True, (GAVE_UP, "failed"), (GAVE_UP, "failed")),
    (Effect.CHECKED, L, True, (TRIES_AGAIN, "failed"), (GAVE_UP, "failed")),
    (Effect.CHECKED, A, False, (TRIES_AGAIN, "dispatched"), (TRIES_AGAIN, "dispatched")),
    (Effect.ONCE, R, True, (TRIES_AGAIN, "failed"), (GAVE_UP, "failed")),
    (Effect.ONCE, P, True, (GAVE_UP, "failed"), (GAVE_UP, "failed")),
    (Effect.ONCE, L, True, (TRIES_AGAIN, "failed"), (GAVE_UP, "failed")),
    (Effect.ONCE, A, False, (DOUBTS, "in_doubt"), (DOUBTS, "in_doubt")),
]


@pytest.mark.parametrize(("effect", "kind", "declared", "first", "last"), MATRIX)
def test_what_follows_a_failure_depends_on_the_effect_and_on_who_knows_what(
    effect: Effect,
    kind: ErrorKind,
    declared: bool,  # noqa: FBT001 (a column of the matrix)
    first: tuple[list[E], str | None],
    last: tuple[list[E], str | None],
) -> None:
    for policy, (events, ledger) in ((POLICY, first), (ONE, last)):
        book = sent(effect)

        told = book.do(fails(kind, policy, declared=declared))

        assert told == events
        assert only_operation(book) == ledger
        waits = State.RETRYING if events is TRIES_AGAIN else State.WAITING_HUMAN
        assert book.at.state is waits
        assert book.at.pending is not None
        assert book.at.pending.dispatched is (ledger in {"dispatched", "in_doubt"})


@pytest.mark.parametrize(("effect", "kind", "declared", "first", "last"), MATRIX)
def test_a_fallback_takes_the_place_of_what_is_known_not_to_have_happened_and_of_nothing_else(
    effect: Effect,
    kind: ErrorKind,
    declared: bool,  # noqa: FBT001 (a column of the matrix)
    first: tuple[list[E], str | None],
    last: tuple[list[E], str | None],
) -> None:
    book, instead = sent(effect), decided(Effect.ONCE, 9)

    told = book.do(fails(kind, ONE, declared=declared, fallback=instead))

    pending = book.at.pending
    assert pending is not None
    if last[0] is GAVE_UP:
        assert told == [E.TOOL_CALL_FAILED]
        assert (pending.tool, pending.fallback_for) == (instead.tool, "0.1.0")
        assert book.results == {"0.1.0": "failed"}
        assert book.at.state is State.WAITING_TOOL_CALL
    else:
        assert told == last[0]
        assert pending.fallback_for is None
        assert not book.results


def test_a_call_that_was_never_pending_can_fail_and_give_way_to_its_fallback() -> None:
    """The ledger entry of the failed one keeps its own names."""
    book, local = started(), decided(Effect.LOCAL, 1)

    book.do(c.Failed(local, failure(P), POLICY, fallback=decided(Effect.KEYED, 2)))
    book.do_all(c.Begin(), succeeds())

    assert sorted(book.operations.values()) == ["confirmed", "failed"]
    assert book.effects[book.journal[2].payload["operation_id"]] is Effect.LOCAL
    assert book.results == {"0.1.0": "failed", "0.1.0f": "succeeded"}


def test_a_busy_downstream_does_not_settle_an_earlier_attempt_that_may_have_happened() -> None:
    """Time-out, then 429 until the attempts are used up: a person is asked, no fallback is made."""
    book = sent(Effect.KEYED).do_all(fails(A))
    for _ in range(2):
        book.do_all(c.Begin(), fails(L, fallback=decided(Effect.ONCE, 9)))

    assert book.at.wait is not None
    assert book.at.wait.kind == Kind.IN_DOUBT
    assert only_operation(book) == "in_doubt"


def test_a_downstream_that_knows_the_id_and_refuses_for_good_speaks_for_all_attempts() -> None:
    book = sent(Effect.KEYED).do_all(fails(A), c.Begin(), fails(P))

    assert book.at.wait is not None
    assert book.at.wait.kind == Kind.RETRIES_EXHAUSTED
    assert only_operation(book) == "failed"


def test_a_downstream_that_may_have_forgotten_the_id_does_not() -> None:
    book = sent(Effect.KEYED).do_all(fails(A), c.Begin(), fails(P, effect_now=Effect.ONCE))

    assert book.at.wait is not None
    assert book.at.wait.kind == Kind.IN_DOUBT


def test_an_undeclared_failure_is_a_doubt_when_the_key_has_expired() -> None:
    book = sent(Effect.KEYED)

    assert book.do(fails(R, ONE, declared=False, effect_now=Effect.ONCE)) == DOUBTS


# --- after a crash -------------------------------------------------------------------------------


def test_only_a_keyed_call_that_may_have_happened_is_sent_again_without_asking() -> None:
    assert sent(Effect.KEYED).do(c.Begin()) == [E.TOOL_CALL_STARTED]
    for effect in (Effect.CHECKED, Effect.ONCE):
        with pytest.raises(NotAllowedNow, match="may have happened"):
            sent(effect).do(c.Begin())


def test_a_call_inside_our_walls_is_simply_made_again() -> None:
    """A retried read is begun so that the state shows it; a crash leaves nothing in doubt."""
    for effect in (Effect.READ, Effect.LOCAL):
        book = sent(effect).do_all(fails(R), c.Begin())
        assert book.at.pending is not None
        assert not book.at.pending.dispatched
        with pytest.raises(NotAllowedNow):
            book.do(c.Doubted("it was lost"))
        book.do_all(c.Begin(), succeeds())
        assert book.at.done == 1


def test_a_check_that_says_yes_completes_the_call() -> None:
    book = sent(Effect.CHECKED).do_all(fails(A))

    book.do(c.Checked(True, 3, "e" * 64, "found"))  # noqa: FBT003 (the command's first fact)

    assert (book.at.state, book.at.done, book.at.writes) == (State.PLANNING, 1, 1)
    assert only_operation(book) == "reconciled"


def test_a_check_that_says_no_lets_the_call_be_made_again_while_attempts_are_left() -> None:
    book = sent(Effect.CHECKED).do_all(fails(A, ONE), c.Checked(False, 3))  # noqa: FBT003
    assert book.at.state is State.WAITING_TOOL_CALL
    assert book.at.wait is None
    book.do_all(c.Begin(), fails(A), c.Checked(False, 2))  # noqa: FBT003
    assert book.at.wait is not None
    assert book.at.wait.kind == Kind.RETRIES_EXHAUSTED


def test_a_check_that_never_answers_ends_in_doubt() -> None:
    book = sent(Effect.CHECKED)
    for _ in range(4):
        book.do(fails(A))

    assert book.at.wait is not None
    assert book.at.wait.kind == Kind.IN_DOUBT


# --- plans of several calls ----------------------------------------------------------------------


def test_the_calls_of_a_plan_come_in_order_and_each_has_its_own_outcome() -> None:
    book = started().do_all(
        c.PlanCalls((decided(Effect.READ, 1), decided(Effect.KEYED, 2), decided(Effect.READ, 3))),
        succeeds(),
        c.Begin(),
        succeeds(),
        succeeds(),
    )

    assert book.at.state is State.PLANNING
    assert list(book.results) == ["0.1.0", "0.1.1", "0.1.2"]


def test_a_plan_goes_on_after_a_fallback() -> None:
    plan = c.PlanCalls((decided(Effect.KEYED, 1), decided(Effect.READ, 2)))
    book = started().do_all(plan, c.Begin(), fails(P, fallback=decided(Effect.READ, 3)))

    book.do_all(succeeds(), succeeds())

    assert list(book.results) == ["0.1.0", "0.1.0f", "0.1.1"]


def test_an_ending_cancels_every_call_that_is_left_and_puts_a_sent_one_in_doubt() -> None:
    plan = c.PlanCalls(tuple(decided(Effect.KEYED, number) for number in range(3)))
    book = started().do_all(plan, c.Begin())

    told = book.do(c.Cancel("enough", "human:ann"))

    assert told == [
        E.CANCEL_REQUESTED,
        E.TOOL_CALL_IN_DOUBT,
        E.TOOL_CALL_CANCELLED,
        E.TASK_ABORTED,
    ]
    assert book.cancelled == ["0.1.0", "0.1.1", "0.1.2"]
    assert only_operation(book) == "in_doubt"


def test_a_decision_about_another_plan_than_the_one_under_way_is_refused() -> None:
    plan = (decided(Effect.READ, 1), decided(Effect.READ, 2))
    book = started().do_all(c.PlanCalls(plan))

    for wrong in ((), plan[:1], (*plan, decided(Effect.READ, 3))):
        with pytest.raises(CheckpointUnreadable, match="event 3 planned 2 calls"):
            decide(book.at, succeeds(), NOON, Loaded(), actor="w", plan=wrong)


def test_the_outcome_of_one_call_is_not_taken_for_another() -> None:
    with pytest.raises(NotAllowedNow, match="is pending"):
        sent(Effect.KEYED).do(succeeds(decided(Effect.READ, 5)))
