"""The rules of the machine, one sentence each: what a command leads to in which state."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from runtime.core import commands as c
from runtime.core.effects import MEANINGS, Effect
from runtime.core.errors import CheckpointUnreadable, DecisionRefused, NotAllowedNow
from runtime.core.events import EventType as E
from runtime.core.machine import create, decide, wakes_at
from runtime.core.retry import ErrorKind, Failure, RetryPolicy
from runtime.core.reviews import ALLOWED, Kind
from runtime.core.states import TERMINAL, State
from tests.runtime.core.bookkeeping import NOON, POLICY, Book, Loaded, decided, failure

ONE = RetryPolicy(attempts=1)
GAVE_UP = [E.TOOL_CALL_FAILED, E.REVIEW_REQUESTED]
TRIES_AGAIN = [E.TOOL_CALL_FAILED, E.RETRY_SCHEDULED]
DOUBTS = [E.TOOL_CALL_IN_DOUBT, E.REVIEW_REQUESTED]


def started() -> Book:
    return Book().do_all(c.Start("w"))


def sent(effect: Effect = Effect.KEYED) -> Book:
    """A task whose call has gone out; reads and local writes go out without an intent."""
    book = started()
    if MEANINGS[effect].leaves_us:
        return book.do_all(c.Begin(decided(effect)))
    return book.do_all(c.PlanCalls((decided(effect),)))


def fails(
    kind: ErrorKind, policy: RetryPolicy = POLICY, *, declared: bool = True, **more: object
) -> c.Failed:
    return c.Failed(None, failure(kind, declared=declared), policy, **more)  # type: ignore[arg-type]


def succeeds(call: c.Decided | None = None) -> c.Succeeded:
    return c.Succeeded(call, "e" * 64, "done", 5)


def only_operation(book: Book) -> str | None:
    return next(iter(book.operations.values()), None)


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


R, P, L, A = ErrorKind.RETRYABLE, ErrorKind.PERMANENT, ErrorKind.RATE_LIMITED, ErrorKind.AMBIGUOUS
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


# --- people --------------------------------------------------------------------------------------


def in_doubt() -> Book:
    return sent(Effect.ONCE).do_all(c.Doubted("the answer was lost"))


def asked() -> Book:
    return started().do_all(c.AskHuman("which currency?"))


def exhausted() -> Book:
    return sent(Effect.KEYED).do_all(fails(P))


def killed() -> Book:
    return sent(Effect.KEYED).do_all(c.Escalate(Kind.KILLED_WORKER, "it died three times"))


def rejected() -> Book:
    return started().do_all(c.RejectPlan("no such tool"))


def repeated() -> Book:
    return started().do_all(c.Repeats(decided(Effect.KEYED, 2), "0.1.0"))


def unreadable() -> Book:
    return started().do_all(c.Escalate(Kind.CHECKPOINT_UNREADABLE, "its checksum does not match"))


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


def unsent() -> Book:
    return started().do_all(c.PlanCalls((decided(Effect.KEYED),)))


def retrying() -> Book:
    return sent(Effect.ONCE).do_all(fails(R))


def retrying_unclear() -> Book:
    return sent(Effect.CHECKED).do_all(fails(A))


def ended() -> Book:
    return started().do_all(c.Finish("e" * 64, "done"))


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
