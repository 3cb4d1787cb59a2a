"""The step commit: one statement, one round trip, all or nothing.

It writes what the core decided and nothing else.  The driver of a task calls it, and the levers
of people when no worker holds the task.
"""

from collections.abc import Sequence
from uuid import UUID

from runtime.core.errors import LeaseLost, StaleVersion
from runtime.store.commit_text import prepared
from runtime.store.commits import Commit, Refused
from runtime.store.session import (
    LOST,
    TogetherRefused,
    execute,
    execute_numbered,
    execute_together,
    forget_connection,
    in_transaction,
)

_LOCK_WAIT_MS = 100
"""Steps written together wait no longer for a locked row: it would hold up all of them."""


def commit(step: Commit) -> int:
    """Write a step.

    Must hold: the lease of ``step.holder``.

    Returns:
        The task's attention as of this commit; above ``step.attended`` the inbox must be read.

    Raises:
        LeaseLost: Another holder has the task; nothing was written.
        Refused: The attention was raised, the lease ran out or the operation is settled; nothing
            was written.
        StaleVersion: A bug: two drivers write the same task under one lease.
    """
    rows = execute_numbered(*prepared(step))
    if rows:
        return int(rows[0][0])
    raise explain(step)


def commit_together(steps: Sequence[Commit]) -> list[int | Exception]:
    """Write steps of different tasks in one transaction and one round trip.

    Each has its own guards; one that is refused writes nothing and holds up no other.  The rows are
    locked in the order of the tasks, so two of these never wait for each other in a circle.

    Returns:
        For each step what `commit` returns or raises.

    Raises:
        TogetherRefused: A statement failed, or a row was locked for long; nothing is written.
    """
    if len(steps) == 1:
        return [_commit_alone(steps[0])]
    order = sorted(range(len(steps)), key=lambda at: steps[at].holder.task_id)
    try:
        statements = [prepared(steps[at]) for at in order]
    except Exception as error:
        raise TogetherRefused from error
    try:
        rows = execute_together(statements, _LOCK_WAIT_MS)
    except LOST as error:
        # None of it may be written, or all of it: each desk finds out about its own.
        return [error] * len(steps)
    found: dict[int, int | Exception] = {
        at: int(row[0][0]) if row else _explained(steps[at])
        for at, row in zip(order, rows, strict=True)
    }
    return [found[at] for at in range(len(steps))]


def _commit_alone(step: Commit) -> int | Exception:
    try:
        return commit(step)
    except Exception as error:  # noqa: BLE001 (handed to whoever sent the step)
        _forget_if_lost(error)
        return error


def _explained(step: Commit) -> Exception:
    try:
        return explain(step)
    except Exception as error:  # noqa: BLE001 (handed to whoever sent the step)
        _forget_if_lost(error)
        return error


def _forget_if_lost(error: Exception) -> None:
    # Inside a transaction whoever opened it must see that the connection is gone.
    if isinstance(error, LOST) and not in_transaction():
        forget_connection()


def landed(step: Commit) -> int | None:
    """Tell after a lost connection whether a commit was written; gives the attention if it was.

    Raises:
        LeaseLost: It was not, and another holder has the task.
    """
    row = _standing(step.holder.task_id)
    if row is None:
        raise LeaseLost(step.holder.task_id, step.holder.epoch)
    owner, epoch, version, attention = row
    parked = step.parks and owner is None
    written = epoch == step.holder.epoch and version == step.decision.after.seq
    if written and (owner == step.holder.owner or parked):
        return attention
    if epoch != step.holder.epoch or owner != step.holder.owner:
        if _has_event(step):
            # It was written and gave the task back, and somebody has taken it since.
            return attention
        raise LeaseLost(step.holder.task_id, step.holder.epoch, epoch)
    return None


def _has_event(step: Commit) -> bool:
    """Tell whether the journal has the commit's first event, and not another's of its number."""
    event = step.decision.events[0]
    text = "SELECT 1 FROM runtime_event WHERE task_id = %s AND seq = %s AND actor = %s AND at = %s"
    return bool(execute(text, (step.holder.task_id, event.seq, event.actor, event.at)))


def explain(step: Commit) -> Exception:
    """Find out which guard failed; reads only."""
    row = _standing(step.holder.task_id)
    if row is None:
        return LeaseLost(step.holder.task_id, step.holder.epoch)
    owner, epoch, version, attention = row
    if owner != step.holder.owner or epoch != step.holder.epoch:
        return LeaseLost(step.holder.task_id, step.holder.epoch, epoch)
    if version != step.version:
        return StaleVersion(step.holder.task_id, step.version)
    if step.parks and attention != step.attended:
        return Refused("attention", epoch)
    lost = step.dispatches and not _lease_holds(step.holder.owner)
    return Refused("lease" if lost else "operation", epoch)


def _lease_holds(owner: UUID) -> bool:
    text = (
        "SELECT 1 FROM runtime_worker WHERE id = %s AND expires_at > runtime_now() "
        "AND state IN ('running', 'draining')"
    )
    return bool(execute(text, (owner,)))


def _standing(task_id: UUID) -> tuple[UUID | None, int, int, int] | None:
    text = "SELECT owner, epoch, version, attention FROM runtime_task WHERE id = %s"
    rows = execute(text, (task_id,))
    return rows[0] if rows else None
