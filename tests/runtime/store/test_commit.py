"""A step commit writes all that its decision stands for, or nothing at all."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest

from runtime.core.effects import Effect
from runtime.core.errors import LeaseLost, StaleVersion
from runtime.store import commits, journal
from runtime.store.commits import Refused
from runtime.store.session import execute
from tests.support import wide, work
from tests.support.wide import Wide

pytestmark = pytest.mark.django_db


def one(text: str, *params: object) -> tuple[Any, ...]:
    rows = execute(text, params)
    assert len(rows) == 1
    return rows[0]


def task_row(task_id: UUID) -> dict[str, Any]:
    names = "state version situation owner epoch attention attended held deaths due_at finished_at"
    columns = names.split()
    row = one(f"SELECT {', '.join(columns)} FROM runtime_task WHERE id = %s", task_id)  # noqa: S608
    return dict(zip(columns, row, strict=True))


# --- each guard alone ---------------------------------------------------------------------------


def other_owner(case: Wide) -> None:
    execute("UPDATE runtime_task SET owner = %s WHERE id = %s", (uuid4(), case.task_id))


def no_owner(case: Wide) -> None:
    execute("UPDATE runtime_task SET owner = NULL WHERE id = %s", (case.task_id,))


def later_epoch(case: Wide) -> None:
    execute("UPDATE runtime_task SET epoch = epoch + 1 WHERE id = %s", (case.task_id,))


def later_version(case: Wide) -> None:
    execute("UPDATE runtime_task SET version = version + 1 WHERE id = %s", (case.task_id,))


def raised_attention(case: Wide) -> None:
    execute("UPDATE runtime_task SET attention = attention + 1 WHERE id = %s", (case.task_id,))


def expired_lease(case: Wide) -> None:
    execute("UPDATE runtime_worker SET expires_at = runtime_now()")


def pruned_worker(case: Wide) -> None:
    execute("DELETE FROM runtime_worker")


def settled_operation(case: Wide) -> None:
    execute("UPDATE runtime_operation SET status = 'confirmed'")


GUARDS = [
    (other_owner, LeaseLost, None),
    (no_owner, LeaseLost, None),
    (later_epoch, LeaseLost, None),
    (later_version, StaleVersion, None),
    (raised_attention, Refused, "attention"),
    (expired_lease, Refused, "lease"),
    (pruned_worker, Refused, "lease"),
    (settled_operation, Refused, "operation"),
]


def named(part: object) -> str:
    return getattr(part, "__name__", str(part))


CASES = [wide.ending, wide.question]


@pytest.mark.parametrize("make", CASES, ids=named)
@pytest.mark.parametrize(("spoil", "error", "reason"), GUARDS, ids=named)
def test_each_guard_alone_stops_the_whole_commit(
    make: Callable[[], Wide],
    spoil: Callable[[Wide], None],
    error: type[Exception],
    reason: str | None,
) -> None:
    case = make()
    spoil(case)
    before = work.rows()

    with pytest.raises(error) as caught:
        journal.commit(case.step)

    assert work.rows() == before
    assert getattr(caught.value, "reason", None) == reason


def test_a_task_that_does_not_exist_is_a_lost_lease() -> None:
    case = wide.ending()
    before = work.rows()
    gone = replace(case.step, holder=replace(case.step.holder, task_id=uuid4()))

    with pytest.raises(LeaseLost):
        journal.commit(gone)

    assert work.rows() == before


def test_a_lost_lease_names_the_epoch_that_is_in_force() -> None:
    case = wide.ending()
    later_epoch(case)

    with pytest.raises(LeaseLost) as caught:
        journal.commit(case.step)

    assert caught.value.epoch_now == case.step.holder.epoch + 1


def test_an_outcome_is_accepted_after_the_lease_ran_out() -> None:
    """Owner and epoch are still ours: a confirmed result is not thrown away."""
    case = wide.ending()
    expired_lease(case)

    journal.commit(replace(case.step, dispatches=False))

    assert task_row(case.task_id)["state"] == "terminated_success"


def test_a_step_that_keeps_the_lease_is_written_although_somebody_wants_something() -> None:
    desk = work.at_desk()
    raised = wide.deliver(desk.claimed.id, "hold", {})
    decision, attached = work.read(desk)

    assert desk.write(decision, attached)

    assert raised
    assert (desk.attention, desk.attended) == (1, 0)
    assert task_row(desk.claimed.id)["attended"] == 0


# --- each block is written ----------------------------------------------------------------------


def test_a_read_is_one_event_one_result_and_one_commit() -> None:
    desk = work.at_desk()
    desk.write(*work.read(desk))
    before, version = work.rows(), desk.version

    desk.write(*work.read(desk))

    after = work.rows()
    grown = {name for name in after if after[name] != before[name]}
    assert grown == {"runtime_task", "runtime_event", "runtime_stepresult"}
    assert len(after["runtime_event"]) == len(before["runtime_event"]) + 1
    assert desk.version == version + 1
    row = one(
        "SELECT position, tool, effect, outcome, result, arguments, args_seq, seq, attempts "
        "FROM runtime_stepresult WHERE task_id = %s AND position = 2",
        desk.claimed.id,
    )
    assert row == (2, "look", "read", "succeeded", '"seen"', '{"n":0}', None, version + 1, 1)
    work.check_whole(desk.claimed.id)


def test_a_write_stands_in_the_ledger_from_its_intent_to_its_outcome() -> None:
    desk = work.at_desk()
    columns = (
        "SELECT status, dispatches, external_id, epoch, first_dispatched_at IS NOT NULL, "
        "settled_at IS NOT NULL FROM runtime_operation WHERE task_id = %s"
    )

    desk.write(*work.begin(desk), dispatches=True)
    intent = one(columns, desk.claimed.id)
    desk.write(*work.confirm(desk))

    assert intent == ("dispatched", 1, None, 1, True, False)
    assert one(columns, desk.claimed.id) == ("confirmed", 1, "ext-1", 1, True, True)
    work.check_whole(desk.claimed.id)


def test_a_write_sent_again_keeps_the_time_of_its_first_dispatch() -> None:
    desk = work.at_desk()
    desk.write(*work.begin(desk), dispatches=True)
    first = one("SELECT first_dispatched_at FROM runtime_operation")

    desk.write(*work.again(desk), dispatches=True)

    row = one("SELECT dispatches, first_dispatched_at FROM runtime_operation")
    assert row == (2, *first)


def test_a_question_opens_a_review_item_and_gives_the_task_back() -> None:
    case = wide.question()
    situation = task_row(case.task_id)["situation"]

    journal.commit(case.step)

    review = one(
        "SELECT kind, status, question, allowed, tool, snapshot, situation, seq "
        "FROM runtime_review WHERE task_id = %s",
        case.task_id,
    )
    row = task_row(case.task_id)
    allowed = ["retry", "result", "abort"]
    kind = "retries_exhausted"
    expected = (kind, "open", "", allowed, "pay", '{"a":1}', row["situation"], row["version"])
    assert review == expected
    assert row["situation"] > situation
    assert (row["state"], row["owner"], row["due_at"]) == ("waiting_human", None, None)
    assert (row["attended"], row["deaths"]) == (1, 1)
    operation = one("SELECT status, settled_at IS NOT NULL, note FROM runtime_operation")
    assert operation == ("failed", True, "no such account")
    assert one("SELECT refused, consumed_at IS NOT NULL FROM runtime_inbox") == ("not now", True)
    work.check_whole(case.task_id)


def test_an_ending_closes_everything_that_was_open() -> None:
    case = wide.ending()

    journal.commit(case.step)

    row = task_row(case.task_id)
    assert (row["state"], row["owner"], row["due_at"]) == ("terminated_success", None, None)
    assert (row["held"], row["attended"]) == (True, 1)
    assert row["finished_at"] is not None
    spec = one("SELECT result, outcome_reason, search_text FROM runtime_taskspec")
    assert spec == ('"done"', "all paid", " paid")
    review = one("SELECT status, closed_at IS NOT NULL FROM runtime_review")
    assert review == ("closed", True)
    operation = one("SELECT status, external_id, settled_at IS NOT NULL FROM runtime_operation")
    assert operation == ("reconciled", "ext-1", True)
    result = one("SELECT outcome, result, effect FROM runtime_stepresult")
    assert result == ("succeeded", '"paid"', Effect.ONCE)
    assert one("SELECT refused, consumed_at IS NOT NULL FROM runtime_inbox") == (None, True)
    work.check_whole(case.task_id)


def test_a_back_off_is_kept_as_the_tasks_wake_up_time() -> None:
    desk = work.at_desk()
    decision, attached = work.fail(desk, after_s=60)

    desk.write(decision, attached)

    row = task_row(desk.claimed.id)
    assert (row["state"], row["owner"]) == ("retrying", None)
    assert desk.at.wait is not None
    assert row["due_at"].isoformat() == desk.at.wait.until


def test_a_letter_is_settled_once() -> None:
    case = wide.ending()
    execute("UPDATE runtime_inbox SET consumed_at = runtime_now(), refused = 'earlier'")

    journal.commit(case.step)

    assert one("SELECT refused FROM runtime_inbox") == ("earlier",)


def test_a_commit_settles_no_letter_of_another_task() -> None:
    other = wide.ending()
    case = wide.ending()
    step = replace(case.step, consumed=other.step.consumed)

    journal.commit(step)

    text = "SELECT consumed_at FROM runtime_inbox WHERE task_id = %s"
    assert one(text, other.task_id) == (None,)


# --- after a lost connection --------------------------------------------------------------------


def test_after_a_lost_connection_a_written_commit_is_recognised() -> None:
    desk = work.at_desk()
    decision, attached = work.read(desk)
    step = commits.Commit(desk.claimed.holder, desk.version, decision, 0, attached=attached)

    before = journal.landed(step)
    journal.commit(step)

    assert (before, journal.landed(step)) == (None, 0)


@pytest.mark.parametrize("make", CASES, ids=named)
def test_a_written_commit_that_gave_the_task_back_is_recognised(make: Callable[[], Wide]) -> None:
    case = make()

    journal.commit(case.step)

    assert journal.landed(case.step) == 1


def test_after_a_lost_connection_a_lost_lease_is_recognised() -> None:
    case = wide.ending()
    later_epoch(case)

    with pytest.raises(LeaseLost):
        journal.landed(case.step)
