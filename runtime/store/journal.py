"""The step commit: one statement, one round trip, all or nothing.

It writes what the core decided and nothing else.  The driver of a task calls it, and the levers
of people when no worker holds the task.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from uuid import UUID

from runtime.core import checkpoint as cp
from runtime.core.errors import LeaseLost, StaleVersion
from runtime.core.payloads import CODEC, encode
from runtime.core.records import OperationChange, Records, ResultRow, project
from runtime.core.states import TERMINAL
from runtime.core.story import Decision
from runtime.store.session import (
    LOST,
    TogetherRefused,
    blocks,
    execute,
    execute_numbered,
    execute_together,
    forget_connection,
    in_transaction,
)

_LOCK_WAIT_MS = 100
"""Steps written together wait no longer for a locked row: it would hold up all of them."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who writes: the task, and the lease under which it is held."""

    task_id: UUID
    owner: UUID
    epoch: int


@dataclass(frozen=True, slots=True)
class Consumed:
    """An inbox row that a commit settles; ``refused`` says why it could not be obeyed."""

    inbox_id: int
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Attached:
    """The bulky or outside facts that rows hold and events only refer to.

    Args:
        result: Stored text of the result of a completed call.
        artifact: Handle of the artifact that holds the result.
        arguments: Stored text of the arguments of a call that was never pending.
        same_digest: Digest of the arguments that make two writes the same.
        external_id: The downstream's id of the effect.
        snapshot: Stored text of what a review item shows.
        end_result: Stored text of the task's result.
        end_reason: Why the task ended as it did.
        end_search: Words of the ending that a search should find.
    """

    result: str | None = None
    artifact: str | None = None
    arguments: str | None = None
    same_digest: str | None = None
    external_id: str | None = None
    snapshot: str = "{}"
    end_result: str | None = None
    end_reason: str | None = None
    end_search: str = ""

    def behind(self, earlier: "Attached") -> "Attached":
        """Add the facts of a completed call that is written with the same commit.

        Must hold: these are of an ending, so that no fact is in both.
        """
        return replace(
            earlier,
            end_result=self.end_result,
            end_reason=self.end_reason,
            end_search=self.end_search,
        )


NOTHING = Attached()


@dataclass(frozen=True, slots=True)
class Commit:
    """One step commit.

    Args:
        holder: Who writes.
        version: The version the decision was made on.
        decision: What was decided.
        attended: The attention that was raised when the inbox was last read.
        parks: The lease is given back with it, unless somebody raised the attention since.
        due_at: When a parked task wakes; None for never.
        due_now: A parked task wakes at once.
        dispatches: A call goes out behind it: the lease must not have run out.
        deaths: What the suspicion counter becomes.
        attached: Bulky facts for the rows.
        consumed: Inbox rows that it settles.
    """

    holder: Holder
    version: int
    decision: Decision
    attended: int
    parks: bool = False
    due_at: datetime | None = None
    due_now: bool = False
    dispatches: bool = False
    deaths: int = 0
    attached: Attached = NOTHING
    consumed: Sequence[Consumed] = field(default=())


class Refused(Exception):
    """A guard failed and nothing was written; ``reason`` says which.

    Internal to the store and its callers: it is an ordinary outcome, not an error of anybody.
    """

    def __init__(self, reason: str, epoch_now: int) -> None:
        """Take the guard that failed and the epoch that is in force."""
        super().__init__(reason)
        self.reason = reason
        self.epoch_now = epoch_now


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
    rows = execute_numbered(*_prepared(step))
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
        statements = [_prepared(steps[at]) for at in order]
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


def _prepared(step: Commit) -> tuple[str, list[object]]:
    records = project(step.decision.passages)
    text, order = _numbered(_shape(step, records))
    params = _params(step, records)
    return text, [params[name] for name in order]


def statement_of(step: Commit) -> tuple[str, Mapping[str, object]]:
    """Give the statement of a commit and its parameters."""
    records = project(step.decision.passages)
    return _statement(_shape(step, records)), _params(step, records)


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


type Shape = tuple[str, ...]


def _shape(step: Commit, records: Records) -> Shape:
    """Name the blocks that this commit needs, in their order."""
    ends = records.ended
    leaves = step.parks or ends
    wanted = (
        ("guard_parks", leaves),
        ("guard_lease", step.dispatches),
        ("guard_operation", records.operation is not None),
        ("moved", True),
        ("moved_holds", records.held is not None),
        ("moved_parks", leaves),
        ("moved_ends", ends),
        ("moved_from", True),
        *(("event", True) for _ in step.decision.passages),
        ("events_end", True),
        ("result", records.result is not None),
        ("operation", records.operation is not None),
        ("review_close", records.closed is not None),
        ("review_open", records.opened is not None),
        ("review_open_after", records.opened is not None and records.closed is not None),
        ("inbox", bool(step.consumed)),
        ("ending", ends),
        ("done", True),
    )
    return ("guard", *(name for name, needed in wanted if needed))


@cache
def _statement(shape: Shape) -> str:
    """Join the blocks; ``)`` and ``,`` between the CTEs stand in the blocks themselves.

    One row of VALUES per event, its parameters numbered: an array per column would cost more than
    the whole rest of the commit, because psycopg writes arrays in Python.
    """
    parts = blocks("commit")
    text: list[str] = []
    events = 0
    for name in shape:
        if name == "event":
            row = parts[name].rstrip().replace("%(ev_", f"%(ev{events}_")
            text.append((",\n" if events else "") + row)
            events += 1
        else:
            text.append(("\n" if name == "events_end" else "") + parts[name])
    lines = [line for line in "".join(text).splitlines() if not line.lstrip().startswith("--")]
    return " ".join(" ".join(lines).split())


@cache
def _numbered(shape: Shape) -> tuple[str, tuple[str, ...]]:
    """Give a statement with its parameters numbered, and their names in that order.

    psycopg keeps a statement with named parameters only up to fifty of them and takes a longer one
    apart anew at every call.
    """
    order: dict[str, int] = {}
    text = re.sub(
        r"%\((\w+)\)s",
        lambda found: f"${order.setdefault(found[1], len(order) + 1)}",
        _statement(shape),
    )
    return text, tuple(order)


def _params(step: Commit, records: Records) -> Mapping[str, object]:
    after, holder = step.decision.after, step.holder
    text = cp.encode(after)
    params: dict[str, object] = {
        # As text: psycopg writes uuids and instants in Python, and text in C.
        "task": str(holder.task_id),
        "owner": str(holder.owner),
        "epoch": holder.epoch,
        "version": step.version,
        "attended": step.attended,
        "new_version": after.seq,
        "situation": after.situation,
        "state": after.state.value,
        "checkpoint": text,
        "checkpoint_sum": cp.checksum(text),
        "deaths": step.deaths,
        "codec": CODEC,
        "held": records.held,
        "due_at": None if after.state in TERMINAL else step.due_at,
        "due_now": step.due_now and after.state not in TERMINAL,
    }
    _event_params(params, step.decision)
    if records.result is not None:
        params |= _result_params(records.result, step.attached)
    if records.operation is not None:
        params |= _operation_params(records.operation, step.attached)
    if records.opened is not None:
        params |= _review_params(records, step.attached)
    if records.closed is not None:
        params |= {"rc_id": UUID(records.closed.review_id), "rc_status": records.closed.status}
    if step.consumed:
        params["in_id"] = [one.inbox_id for one in step.consumed]
        params["in_refused"] = [one.refused for one in step.consumed]
    if records.ended:
        params["end_result"] = step.attached.end_result
        params["end_reason"] = step.attached.end_reason
        params["end_search"] = step.attached.end_search
    return params


def _event_params(params: dict[str, object], decision: Decision) -> None:
    for number, passage in enumerate(decision.passages):
        event, name = passage.event, f"ev{number}_"
        params[name + "seq"] = event.seq
        params[name + "type"] = event.type.value
        params[name + "v"] = event.v
        params[name + "payload"] = encode(event.payload).text
        params[name + "call"] = event.call_id
        params[name + "cause"] = event.cause
        params[name + "id"] = event.event_id
        params[name + "actor"] = event.actor
        params[name + "at"] = event.at.isoformat()


def _result_params(row: ResultRow, attached: Attached) -> dict[str, object]:
    return {
        "re_call": row.call_id,
        "re_position": row.position,
        "re_tool": row.tool,
        "re_effect": row.effect.value,
        "re_outcome": row.outcome,
        "re_operation": row.operation_id,
        "re_digest": row.digest,
        "re_arguments": attached.arguments if row.args_seq is None else None,
        "re_args_seq": row.args_seq,
        "re_args_index": row.args_index,
        "re_result_digest": row.result_digest,
        "re_result": attached.result,
        "re_artifact": attached.artifact,
        "re_summary": row.summary,
        "re_attempts": row.attempts,
        "re_chain": row.chain,
        "re_seq": row.seq,
        "re_took": row.took_ms,
    }


def _operation_params(change: OperationChange, attached: Attached) -> dict[str, object]:
    return {
        "op_id": change.operation_id,
        "op_from": list(change.allowed_from),
        "op_call": change.call_id,
        "op_tool": change.tool,
        "op_effect": change.effect.value,
        "op_status": change.status,
        "op_digest": change.digest,
        "op_same": attached.same_digest or change.digest,
        "op_external": attached.external_id,
        "op_dispatched": change.dispatched,
        "op_settled": change.settled,
        "op_note": change.note,
    }


def _review_params(records: Records, attached: Attached) -> dict[str, object]:
    opened = records.opened
    assert opened is not None  # noqa: S101 (checked by the caller)
    return {
        "rv_id": UUID(opened.review_id),
        "rv_kind": opened.kind,
        "rv_why": opened.why,
        "rv_question": opened.question,
        "rv_allowed": list(opened.allowed),
        "rv_call": opened.call_id,
        "rv_operation": opened.operation_id,
        "rv_tool": opened.tool,
        "rv_seq": opened.seq,
        "rv_snapshot": attached.snapshot,
    }
