"""The rules of the machine for levers and endings, and every command in every state."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from runtime.core import commands as c
from runtime.core.effects import Effect
from runtime.core.errors import DecisionRefused, NotAllowedNow
from runtime.core.events import EventType as E
from runtime.core.machine import decide, wakes_at
from runtime.core.retry import Failure
from runtime.core.reviews import Kind
from runtime.core.states import State
from tests.runtime.core.bookkeeping import NOON, POLICY, Book, Loaded, decided, failure
from tests.runtime.core.standings import (
    P,
    R,
    asked,
    ended,
    fails,
    in_doubt,
    retrying,
    retrying_unclear,
    sent,
    started,
    succeeds,
    unsent,
)

# --- levers and endings --------------------------------------------------------------------------


def test_pause_and_resume_move_the_situation_and_nothing_else() -> None:
    book = sent(Effect.KEYED)
    before = book.at

    book.do_all(c.Hold("lunch", "ann"), c.ReleaseHold("back", "ann"))

    assert book.at.situation == before.situation + 2
    assert (book.at.state, book.at.pending) == (before.state, before.pending)


def test_a_person_can_shorten_a_back_off_and_no_other_wait() -> None:
    book = sent(Effect.READ).do_all(fails(R)).later(0.001)

    book.do(c.RetryNow("now", "ann"))

    assert book.at.wait is not None
    assert book.at.wait.until == book.now.isoformat()
    with pytest.raises(NotAllowedNow, match="cannot retry now"):
        started().do(c.RetryNow("now", "ann"))


def test_a_breaker_puts_a_call_off_without_spending_an_attempt() -> None:
    book = started().do_all(c.Parked(decided(Effect.KEYED), 60))

    assert book.at.state is State.RETRYING
    assert book.at.pending is not None
    assert book.at.pending.attempt == 0
    assert not book.operations
    book.do_all(c.Begin(), succeeds())


def test_a_used_up_limit_says_which() -> None:
    book = started()

    assert book.do(c.Exhaust("writes", "2")) == [E.BUDGET_EXHAUSTED, E.TASK_FAILED]
    assert "limit of 2 writes" in book.last["reason"]


# --- every command in every state ----------------------------------------------------------------


CALL = decided(Effect.READ, 5)
COMMANDS: list[c.Command] = [
    c.Start("w"),
    c.PlanCalls((CALL,)),
    c.Begin(CALL),
    c.Begin(),
    succeeds(CALL),
    succeeds(),
    c.Failed(CALL, failure(), POLICY),
    fails(P),
    c.Parked(CALL, 1),
    c.Parked(None, 1),
    c.Doubted("why"),
    c.Checked(happened=False, attempts=3),
    c.Repeats(decided(Effect.KEYED, 6), "0.1.0"),
    c.AskHuman("what?"),
    c.RejectPlan("no"),
    c.Finish("e" * 64, "done"),
    c.RetryNow("now", "ann"),
    c.PlanCalls(()),
    c.Settle("another", "abort", "because", "ann"),
]
EVERYWHERE: list[c.Command] = [
    c.GiveUp("no"),
    c.Exhaust("steps", "1"),
    c.Drifted({}, "d"),
    c.Escalate(Kind.KILLED_WORKER, "died"),
    c.Escalate(Kind.CHECKPOINT_UNREADABLE, "damaged"),
    c.Cancel("no", "ann"),
    c.Hold("no", "ann"),
    c.ReleaseHold("no", "ann"),
]
NEVER: list[c.Command] = [
    c.Escalate("nonsense", "?"),
    c.Escalate(Kind.QUESTION, "?"),
    c.Escalate(Kind.IN_DOUBT, "?"),
]
_FRESH = {2, 4, 6, 8}
TAKEN: dict[Callable[[], Book], set[int]] = {
    Book: {0},
    started: _FRESH | {1, 12, 13, 14, 15},
    unsent: {3, 7, 9},
    sent: {3, 5, 7, 9, 10, 11},
    retrying: {3, 7, 9, 16},
    retrying_unclear: {7, 9, 10, 11, 16},
    in_doubt: set(),
    asked: set(),
    ended: set(),
}


@pytest.mark.parametrize("standing", TAKEN, ids=lambda where: where.__name__)
def test_every_command_has_its_place_or_is_refused_by_name(standing: Callable[[], Book]) -> None:
    """Never by a KeyError, an AssertionError, or an event that the table does not know."""
    for number, command in enumerate(COMMANDS):
        assert _takes(standing(), command) is (number in TAKEN[standing]), command
    for command in EVERYWHERE:
        assert _takes(standing(), command) is (standing is not ended), command
    for command in NEVER:
        assert not _takes(standing(), command), command


def _takes(book: Book, command: c.Command) -> bool:
    try:
        book.do(command)
    except (NotAllowedNow, DecisionRefused):
        return False
    return True


def test_a_refusal_says_what_cannot_be_done_and_where_the_task_stands() -> None:
    book = started()
    with pytest.raises(NotAllowedNow) as refused:
        decide(book.at, c.Start("w"), NOON, Loaded(), actor="w", task_id="T1")

    assert str(refused.value) == "Task T1 cannot start now: it is in state planning."


def test_a_write_that_cannot_be_accounted_for_is_not_made() -> None:
    nameless = c.Decided("refund", Effect.KEYED, "d", {})
    named_read = c.Decided("look", Effect.READ, "d", {}, "op_1")
    for call in (nameless, named_read):
        with pytest.raises(NotAllowedNow, match="operation id"):
            started().do(c.Begin(call))


# --- waking --------------------------------------------------------------------------------------


def test_who_can_go_on_wakes_at_once_and_who_is_asked_or_done_never() -> None:
    for ready in (Book(), started(), unsent(), sent()):
        assert wakes_at(ready.at) == datetime.min.replace(tzinfo=UTC)
    for waits in (asked(), in_doubt(), ended()):
        assert wakes_at(waits.at) is None


def test_a_back_off_wakes_when_it_is_over_or_the_deadline_passes() -> None:
    book = sent(Effect.READ).do_all(fails(R, not_before_s=90.0))
    assert wakes_at(book.at) == NOON + timedelta(seconds=90)

    late = Book(deadline_s=30).do_all(c.Start("w"), c.Parked(decided(Effect.READ), 60))
    assert wakes_at(late.at) == NOON + timedelta(seconds=30)


def test_failures_are_told_with_what_the_next_reader_needs() -> None:
    book = sent(Effect.KEYED)
    broken = Failure(R, 30.0, "busy", "shop.Busy")

    book.do(c.Failed(None, broken, POLICY, took_ms=12))

    told = book.told(E.TOOL_CALL_FAILED)[0]
    assert (told["attempt"], told["of"]) == (1, 3)
    assert (told["error"], told["message"], told["failure"]) == ("shop.Busy", "busy", "retryable")
    assert (told["took_ms"], told["final"]) == (12, False)
