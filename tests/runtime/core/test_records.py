"""The rows that a commit writes are what its events say, and none is lost."""

import pytest

from runtime.core import commands as c
from runtime.core.effects import Effect
from runtime.core.errors import IllegalTransition
from runtime.core.machine import create, decide
from runtime.core.records import Records, project
from runtime.core.retry import ErrorKind
from runtime.core.reviews import Kind
from runtime.core.story import Decision
from tests.runtime.core.bookkeeping import NOON, POLICY, Loaded, decided, failure


def task() -> Decision:
    return then(create(NOON, "ann", 60, {}), c.Start("w"))


def then(decision: Decision, *commands: c.Command) -> Decision:
    for command in commands:
        later = decide(decision.after, command, NOON, Loaded(), actor="worker:w")
        decision = decision.then(later)
    return decision


def last(decision: Decision, command: c.Command) -> Records:
    """The rows of the commit that this command makes."""
    return project(decide(decision.after, command, NOON, Loaded(), actor="worker:w").passages)


def done(call: c.Decided | None = None) -> c.Succeeded:
    return c.Succeeded(call, "e" * 64, "done", 5)


def test_a_creation_and_an_ordinary_event_write_no_rows() -> None:
    assert project(task().passages) == Records()
    assert project(()) == Records()


def test_the_row_of_a_call_that_was_never_pending_holds_its_arguments() -> None:
    row = last(task(), done(decided(Effect.READ))).result

    assert row is not None
    assert (row.call_id, row.position, row.attempts, row.took_ms) == ("0.1.0", 1, 1, 5)
    assert (row.args_seq, row.args_index, row.operation_id) == (None, None, None)


def test_the_row_of_a_pending_call_refers_to_the_event_that_decided_it() -> None:
    plan = c.PlanCalls((decided(Effect.READ, 1), decided(Effect.READ, 2)))
    decision = then(task(), plan)

    row = last(decision, c.Failed(None, failure(ErrorKind.PERMANENT), POLICY, decided(Effect.READ)))

    assert row.result is not None
    assert (row.result.outcome, row.result.args_seq, row.result.args_index) == ("failed", 3, 0)
    assert row.result.summary == "it broke"


def test_an_intent_is_one_dispatch_that_only_an_unsettled_operation_takes() -> None:
    change = last(task(), c.Begin(decided(Effect.KEYED))).operation

    assert change is not None
    assert (change.status, change.dispatched, change.settled) == ("dispatched", 1, False)
    assert not {"confirmed", "reconciled", "in_doubt", "compensated"} & set(change.allowed_from)


def test_a_read_and_an_unfinished_local_write_have_no_place_in_the_ledger() -> None:
    for effect in (Effect.READ, Effect.LOCAL):
        assert last(task(), c.Begin(decided(effect))).operation is None


def test_two_changes_to_one_operation_in_one_commit_keep_the_dispatch_and_the_first_guard() -> None:
    sent = decide(task().after, c.Begin(decided(Effect.KEYED)), NOON, Loaded(), actor="w")
    both = then(sent, done())

    change = project(both.passages).operation

    assert change is not None
    assert (change.status, change.dispatched, change.settled) == ("confirmed", 1, True)
    assert change.allowed_from == ("reserved", "dispatched", "failed")


def test_a_commit_that_would_lose_a_row_is_refused() -> None:
    reads = then(task(), done(decided(Effect.READ, 1)), done(decided(Effect.READ, 2)))
    begun = then(task(), c.Begin(decided(Effect.KEYED, 1)), done(), c.Begin(decided(Effect.ONCE)))

    with pytest.raises(IllegalTransition, match="second completed call"):
        project(reads.passages)
    with pytest.raises(IllegalTransition, match="second operation"):
        project(begun.passages)


def test_a_check_names_no_attempts_of_its_own() -> None:
    crashed = then(task(), c.Begin(decided(Effect.CHECKED)))
    failed = then(crashed, c.Failed(None, failure(ErrorKind.AMBIGUOUS), POLICY))

    for decision in (crashed, failed):
        row = last(decision, c.Checked(True, 3, "e" * 64)).result  # noqa: FBT003
        assert row is not None
        assert (row.attempts, row.outcome) == (1, "succeeded")


def test_an_item_names_the_call_it_is_about_and_what_may_be_decided() -> None:
    sent = then(task(), c.Begin(decided(Effect.ONCE)))

    opened = last(sent, c.Doubted("the answer was lost")).opened

    assert opened is not None
    assert (opened.kind, opened.call_id, opened.seq) == (Kind.IN_DOUBT, "0.1.0", 5)
    assert opened.allowed == ("result", "retry", "abort")
    assert opened.operation_id == decided(Effect.ONCE).operation_id


def test_pause_resume_and_the_end_are_marked() -> None:
    assert last(task(), c.Hold("why", "ann")).held is True
    assert last(task(), c.ReleaseHold("why", "ann")).held is False
    assert last(task(), c.Hold("why", "ann")).ended is False
    assert last(task(), c.Finish("e" * 64, "done")).ended is True


def test_an_item_is_closed_by_a_decision_and_cancelled_by_an_ending() -> None:
    asked = then(task(), c.AskHuman("what?"))
    item = asked.after.wait.review_id if asked.after.wait else None

    closed = last(asked, c.Settle(item or "", "answer", "because", "ann", "EUR")).closed
    cancelled = last(asked, c.Cancel("enough", "ann")).closed

    assert closed is not None
    assert cancelled is not None
    assert (closed.status, cancelled.status) == ("closed", "cancelled")
    assert closed.review_id == cancelled.review_id == item
