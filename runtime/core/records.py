"""The rows that events stand for: results, ledger entries, review items, the ending.

A pure projection, so that ``verify`` can hold every table against the journal.  Bulky payloads are
not in events; the store adds them to the rows by name.
"""

from collections.abc import Iterable
from copy import replace
from dataclasses import dataclass
from typing import Any

from runtime.core.checkpoint import Checkpoint
from runtime.core.effects import MEANINGS, Effect
from runtime.core.errors import IllegalTransition
from runtime.core.events import Event
from runtime.core.events import EventType as E
from runtime.core.states import TERMINAL


@dataclass(frozen=True, slots=True)
class Passage:
    """One event between the checkpoints it leads from and to."""

    before: Checkpoint
    event: Event
    after: Checkpoint


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One completed call; ``args_seq`` is None when the row itself holds the arguments."""

    call_id: str
    position: int
    tool: str
    effect: Effect
    outcome: str
    operation_id: str | None
    digest: str
    args_seq: int | None
    args_index: int | None
    result_digest: str | None
    summary: str
    attempts: int
    chain: str
    seq: int
    took_ms: int


@dataclass(frozen=True, slots=True)
class OperationChange:
    """What the ledger learns of one operation.

    Args:
        allowed_from: Statuses from which it may be changed; in any other the commit is refused.
        dispatched: How many dispatches this adds: 0 or 1.
        settled: Its outcome is known now.
    """

    operation_id: str
    call_id: str
    tool: str
    effect: Effect
    digest: str
    status: str
    allowed_from: tuple[str, ...]
    dispatched: int = 0
    settled: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class ReviewOpened:
    """A review item that is asked for."""

    review_id: str
    kind: str
    why: str
    question: str
    allowed: tuple[str, ...]
    call_id: str | None
    operation_id: str | None
    tool: str | None
    seq: int


@dataclass(frozen=True, slots=True)
class ReviewClosed:
    """A review item that is over."""

    review_id: str
    status: str


@dataclass(frozen=True, slots=True)
class Records:
    """All rows that one commit writes beside task and journal."""

    result: ResultRow | None = None
    operation: OperationChange | None = None
    opened: ReviewOpened | None = None
    closed: ReviewClosed | None = None
    ended: bool = False
    held: bool | None = None


_SENDABLE = ("reserved", "dispatched", "failed")
_OPEN = (*_SENDABLE, "in_doubt")


def project(passages: Iterable[Passage]) -> Records:
    """Derive the rows from a commit's events.

    A commit completes at most one call and changes at most one operation: of several changes to
    it the last one counts, with the dispatches of all.

    Raises:
        IllegalTransition: It would complete two calls or change two operations, of which one
            would be lost.
    """
    result: ResultRow | None = None
    operation: OperationChange | None = None
    opened: ReviewOpened | None = None
    closed: ReviewClosed | None = None
    held: bool | None = None
    ended = False
    for passage in passages:
        kind = passage.event.type
        result = _only(result, _outcome(passage), passage)
        operation = _joined(operation, _operation(passage), passage)
        if kind is E.REVIEW_REQUESTED:
            opened = _opened(passage)
        elif kind is E.REVIEW_CLOSED:
            closed = _closed(passage)
        elif kind in {E.HOLD_PLACED, E.HOLD_RELEASED}:
            held = kind is E.HOLD_PLACED
        ended = passage.after.state in TERMINAL
    return Records(result, operation, opened, closed, ended, held)


def _only(earlier: ResultRow | None, later: ResultRow | None, passage: Passage) -> ResultRow | None:
    if earlier is not None and later is not None:
        raise _second(passage, "completed call")
    return later or earlier


def _joined(
    earlier: OperationChange | None, later: OperationChange | None, passage: Passage
) -> OperationChange | None:
    if earlier is None or later is None:
        return later or earlier
    if earlier.operation_id != later.operation_id:
        raise _second(passage, "operation")
    # The guard compares with the status before the commit, which is what the first one expects.
    dispatched = earlier.dispatched + later.dispatched
    return replace(later, dispatched=dispatched, allowed_from=earlier.allowed_from)


def _second(passage: Passage, what: str) -> IllegalTransition:
    told = f"{passage.event.type} for a second {what} in one commit"
    return IllegalTransition(passage.before.state, told)


def _outcome(passage: Passage) -> ResultRow | None:
    payload = passage.event.payload
    match passage.event.type:
        case E.TOOL_CALL_SUCCEEDED:
            return _result(passage, "succeeded")
        case E.STEP_SKIPPED:
            # A result that a person gave in its place counts as one for the planner.
            given = payload.get("result_digest") is not None
            return _result(passage, "succeeded" if given else "skipped")
        case E.TOOL_CALL_RECONCILED if payload["happened"]:
            return _result(passage, "succeeded")
        case E.TOOL_CALL_FAILED if payload.get("calls"):
            return _result(passage, "failed")
        case _:
            return None


def _result(passage: Passage, outcome: str) -> ResultRow:
    pending, event = passage.before.pending, passage.event
    payload = event.payload
    common: dict[str, Any] = {
        "position": passage.after.done,
        "outcome": outcome,
        "result_digest": payload.get("result_digest"),
        "summary": payload.get("summary") or payload.get("message", ""),
        "chain": passage.after.chain,
        "seq": event.seq,
        "took_ms": payload.get("took_ms", 0),
    }
    if pending is None:
        # A call that was never pending: the failed one's event holds the arguments, else the row.
        args_seq = event.seq if "arguments" in payload else None
        return ResultRow(
            call_id=payload["call_id"],
            tool=payload["tool"],
            effect=Effect(payload["effect"]),
            operation_id=payload.get("operation_id"),
            digest=payload["digest"],
            args_seq=args_seq,
            args_index=None,
            attempts=payload["attempt"],
            **common,
        )
    return ResultRow(
        call_id=pending.call_id,
        tool=pending.tool,
        effect=pending.effect,
        operation_id=pending.operation_id,
        digest=pending.digest,
        args_seq=pending.args_seq,
        args_index=pending.args_index,
        # What a check or a person found out has no attempt of its own.
        attempts=payload.get("attempt", max(pending.attempt, int(pending.dispatched))),
        **common,
    )


def _operation(passage: Passage) -> OperationChange | None:
    payload = passage.event.payload
    operation_id = payload.get("operation_id")
    change = None if operation_id is None else _change(passage)
    if operation_id is None or change is None:
        return None
    # Never the call after: a fallback stands there already when the first attempt gave up.
    pending = passage.before.pending
    return OperationChange(
        operation_id=operation_id,
        call_id=pending.call_id if pending else payload["call_id"],
        tool=pending.tool if pending else payload["tool"],
        effect=pending.effect if pending else Effect(payload["effect"]),
        digest=pending.digest if pending else payload["digest"],
        status=change.status,
        allowed_from=change.allowed_from,
        dispatched=change.dispatched,
        settled=change.settled,
        note=change.note,
    )


@dataclass(frozen=True, slots=True)
class _Change:
    status: str
    allowed_from: tuple[str, ...]
    dispatched: int = 0
    settled: bool = False
    note: str = ""


def _change(passage: Passage) -> _Change | None:
    event, payload = passage.event, passage.event.payload
    match event.type:
        case E.TOOL_CALL_STARTED if _leaves_us(passage):
            return _Change("dispatched", _SENDABLE, dispatched=1)
        case E.TOOL_CALL_SUCCEEDED:
            # A local write has no intent: its row and its effect are one transaction.
            return _Change("confirmed", _SENDABLE, settled=True)
        case E.TOOL_CALL_FAILED:
            unknown, note = bool(payload.get("unknown")), payload["message"]
            status = "dispatched" if unknown else "failed"
            return _Change(status, _SENDABLE, settled=not unknown, note=note)
        case E.TOOL_CALL_IN_DOUBT:
            return _Change("in_doubt", ("reserved", "dispatched", "in_doubt"), note=payload["why"])
        case E.TOOL_CALL_RECONCILED:
            status = "reconciled" if payload["happened"] else "failed"
            return _Change(status, _OPEN, settled=True, note=f"found out by {payload['by']}")
        case _:
            return None


def _leaves_us(passage: Passage) -> bool:
    pending = passage.after.pending
    return pending is not None and MEANINGS[pending.effect].leaves_us


def _opened(passage: Passage) -> ReviewOpened:
    payload, pending = passage.event.payload, passage.after.pending
    return ReviewOpened(
        review_id=payload["review_id"],
        kind=payload["kind"],
        why=payload["why"],
        question=payload.get("question", ""),
        allowed=tuple(payload["allowed"]),
        call_id=pending.call_id if pending else None,
        operation_id=pending.operation_id if pending else None,
        tool=pending.tool if pending else None,
        seq=passage.event.seq,
    )


def _closed(passage: Passage) -> ReviewClosed:
    payload = passage.event.payload
    status = "cancelled" if payload["decision"] == "cancelled" else "closed"
    return ReviewClosed(payload["review_id"], status)
