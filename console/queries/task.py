"""One task: its calls and effects, its lease and who wrote its journal, its reviews, artifacts.

Each read is bounded by what a page shows; the way of a task is in `console.queries.journey`.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from console.queries.base import COUNTED, fetch
from runtime.api import EventView
from runtime.core.errors import SignalboxError
from runtime.core.ledger_words import Word, word
from runtime.core.payloads import decode
from runtime.models import (
    Artifact,
    ArtifactRef,
    Event,
    Review,
    StepResult,
)

SCANNED: Final = 10_000
"""So many events are looked through at most for the few of them that a page shows."""
_MOST: Final = 100


# --- calls --------------------------------------------------------------------------------------


_ARGUMENTS: Final = """
SELECT call_id, arguments, codec, args_seq, args_index
FROM runtime_stepresult WHERE task_id = %s AND call_id = ANY(%s)
"""


def arguments_of(task_id: UUID, call_ids: Iterable[str]) -> dict[str, Any]:
    """Read the arguments of completed calls, wherever they stand."""
    wanted = list(call_ids)
    found: dict[str, Any] = {}
    elsewhere: dict[str, tuple[int, int | None]] = {}
    for call_id, text, codec, seq, index in fetch(_ARGUMENTS, (task_id, wanted)) if wanted else ():
        if text is not None:
            found[call_id] = _read(text, codec)
        else:
            elsewhere[call_id] = (seq, index)
    payloads = _payloads(task_id, {seq for seq, _ in elsewhere.values()})
    for call_id, (seq, index) in elsewhere.items():
        found[call_id] = _arguments_in(payloads.get(seq), index)
    return found


def _payloads(task_id: UUID, seqs: set[int]) -> dict[int, Any]:
    if not seqs:
        return {}
    rows = Event.objects.filter(task_id=task_id, seq__in=seqs)
    return {seq: _read(*body) for seq, *body in rows.values_list("seq", "payload", "codec")}


def _arguments_in(payload: Any, index: int | None) -> Any:
    try:
        return payload["arguments"] if index is None else payload["calls"][index]["arguments"]
    except (KeyError, IndexError, TypeError):
        return None


def _read(text: str, codec: str) -> Any:
    try:
        return decode(text, codec)
    except SignalboxError as error:
        return {"unreadable": str(error)}


def place_of(task_id: UUID, call_id: str) -> int | None:
    """Give the position of a completed call; None when there is none of this id."""
    rows = StepResult.objects.filter(task_id=task_id, call_id=call_id)
    return rows.values_list("position", flat=True).first()


def first_position(task_id: UUID, call_ids: Iterable[str]) -> int | None:
    """Give the lowest position of these calls among the completed ones; None without any."""
    lowest = "SELECT min(position) FROM runtime_stepresult WHERE task_id = %s AND call_id = ANY(%s)"
    found: int | None = fetch(lowest, (task_id, list(call_ids)))[0][0]
    return found


@dataclass(frozen=True, slots=True)
class Result:
    """What a completed call gave, and the event that tells of it."""

    seq: int
    value: Any


def results_of(task_id: UUID, call_ids: Iterable[str]) -> dict[str, Result]:
    """Read the results of completed calls, by call id; a large one is a reference."""
    rows = StepResult.objects.filter(task_id=task_id, call_id__in=list(call_ids))
    found: dict[str, Result] = {}
    for call_id, seq, text, codec in rows.values_list("call_id", "seq", "result", "codec"):
        found[call_id] = Result(seq, None if text is None else _read(text, codec))
    return found


def succeeded(task_id: UUID, tools: Collection[str]) -> set[str]:
    """Name those of some tools that succeeded in a task."""
    if not tools:
        return set()
    rows = StepResult.objects.filter(
        task_id=task_id, tool__in=list(tools), outcome="succeeded"
    ).order_by()
    return set(rows.values_list("tool", flat=True).distinct())


@dataclass(frozen=True, slots=True)
class Moment:
    """One event in the life of a call."""

    seq: int
    type: str
    at: datetime


def moments(
    task_id: UUID, call_ids: Sequence[str], after: int, upto: int
) -> dict[str, list[Moment]]:
    """Read the events of calls, by call id.

    Args:
        task_id: The task.
        call_ids: The calls.
        after: Only events behind this one.
        upto: The last event to look at.
    """
    if not call_ids:
        return {}
    rows = Event.objects.filter(task_id=task_id, seq__gt=after, seq__lte=upto, call_id__in=call_ids)
    found: dict[str, list[Moment]] = {}
    for call_id, seq, kind, at in rows.order_by("seq").values_list("call_id", "seq", "type", "at"):
        found.setdefault(call_id or "", []).append(Moment(seq, kind, at))
    return found


def events_of(
    task_id: UUID, types: Iterable[str], after: int, upto: int, most: int
) -> list[EventView]:
    """Read events of some types among at most `SCANNED` events behind one.

    Args:
        task_id: The task.
        types: The types.
        after: Only events behind this one.
        upto: The last event to look at.
        most: So many are given at most, the first ones.
    """
    end = min(upto, after + SCANNED)
    rows = Event.objects.filter(task_id=task_id, seq__gt=after, seq__lte=end, type__in=list(types))
    names = ("seq", "type", "at", "actor", "call_id", "cause", "event_id", "payload", "codec")
    found = rows.order_by("seq").values_list(*names)[:most]
    return [
        EventView(seq, kind, at, actor, call_id, cause, event_id, _read(text, codec))
        for seq, kind, at, actor, call_id, cause, event_id, text, codec in found
    ]


_TOUCHED: Final = """
SELECT seq, type, at, actor, call_id, cause, event_id, payload, codec FROM runtime_event
WHERE task_id = %s AND seq > %s AND seq <= %s AND (call_id = ANY(%s) OR type = ANY(%s))
ORDER BY seq
"""


def touched(
    task_id: UUID, after: int, upto: int, call_ids: Iterable[str], types: Iterable[str]
) -> list[EventView]:
    """Read the events of some calls, and those of some types, between two events.

    Args:
        task_id: The task.
        after: Only events behind this one.
        upto: The last event to look at.
        call_ids: The calls.
        types: The types.
    """
    if upto <= after:
        return []
    found = fetch(_TOUCHED, (task_id, after, upto, list(call_ids), [str(one) for one in types]))
    return [
        EventView(seq, kind, at, actor, call_id, cause, event_id, _read(text, codec))
        for seq, kind, at, actor, call_id, cause, event_id, text, codec in found
    ]


# --- effects ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectLine:
    """One effect on the outside, as the ledger has it, in one word for people."""

    id: str
    call_id: str
    tool: str
    effect: str
    word: Word
    status: str
    dispatches: int
    external_id: str | None
    epoch: int
    reserved_at: datetime
    first_dispatched_at: datetime | None
    settled_at: datetime | None
    note: str


_EFFECT: Final = (
    "id",
    "call_id",
    "tool",
    "effect",
    "status",
    "dispatches",
    "external_id",
    "epoch",
    "reserved_at",
    "first_dispatched_at",
    "settled_at",
    "note",
)
_EFFECTS: Final = f"""
SELECT {", ".join(_EFFECT)} FROM runtime_operation WHERE task_id = %s
ORDER BY reserved_at, id LIMIT {COUNTED}
"""  # noqa: S608 (our own words)


def effects_of(task_id: UUID, pending: str | None, *, ended: bool) -> list[EffectLine]:
    """List the effects of a task in the order they were decided, capped.

    Args:
        task_id: The task.
        pending: Operation id of its pending call.
        ended: It has ended.
    """
    found = []
    for values in fetch(_EFFECTS, (task_id,)):
        row = dict(zip(_EFFECT, values, strict=True))
        is_pending = row["id"] == pending
        said = word(row["status"], row["dispatches"], is_pending=is_pending, ended=ended)
        found.append(EffectLine(**row, word=said))
    return found


# --- the lease ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseView:
    """Who holds a task, and how often a late write was refused."""

    epoch: int
    deaths: int
    refused: int
    worker: str
    worker_state: str
    renewed_at: datetime | None
    expires_at: datetime | None


_LEASE: Final = f"""
SELECT t.epoch, t.deaths, w.host, w.pid, w.state, w.renewed_at, w.expires_at,
       (SELECT count(*) FROM (
           SELECT FROM runtime_refusal WHERE task_id = t.id LIMIT {COUNTED}
       ) AS refused)
FROM runtime_task t LEFT JOIN runtime_worker w ON w.id = t.owner WHERE t.id = %s
"""  # noqa: S608 (a number of our own)


def lease(task_id: UUID) -> LeaseView:
    """Read the lease of a task."""
    epoch, deaths, host, pid, state, renewed_at, expires_at, refused = fetch(_LEASE, (task_id,))[0]
    return LeaseView(
        epoch=epoch,
        deaths=deaths,
        refused=refused,
        worker=f"{host}:{pid}" if state else "",
        worker_state=state or "",
        renewed_at=renewed_at,
        expires_at=expires_at,
    )


# --- reviews and artifacts ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewLine:
    """One review item of a task."""

    id: UUID
    kind: str
    status: str
    why: str
    opened_at: datetime
    closed_at: datetime | None
    decision: str | None
    decided_by: str | None
    reason: str | None


def reviews_of(task_id: UUID, most: int = _MOST) -> list[ReviewLine]:
    """List the review items of a task, the newest first."""
    rows = Review.objects.filter(task_id=task_id).order_by("-opened_at")
    names = (
        "id",
        "kind",
        "status",
        "why",
        "opened_at",
        "closed_at",
        "decision",
        "decided_by",
        "reason",
    )
    return [ReviewLine(**row) for row in rows.values(*names)[:most]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactLine:
    """One payload that was too large for a row; `call_id` names the call whose result it is."""

    id: UUID
    size: int
    digest: str
    created_at: datetime
    call_id: str | None = None
    tool: str | None = None


def artifacts_of(task_id: UUID) -> list[ArtifactLine]:
    """List the artifacts that a task refers to, the oldest first."""
    ids = ArtifactRef.objects.filter(task_id=task_id).order_by("artifact_id")
    wanted = list(ids.values_list("artifact_id", flat=True)[:_MOST])
    names = ("id", "size", "digest", "created_at")
    rows = Artifact.objects.filter(id__in=wanted).order_by("created_at", "id").values(*names)
    calls = StepResult.objects.filter(task_id=task_id, artifact__in=[str(one) for one in wanted])
    made: dict[str | None, dict[str, Any]] = {
        handle: {"call_id": call_id, "tool": tool}
        for handle, call_id, tool in calls.values_list("artifact", "call_id", "tool")
    }
    return [ArtifactLine(**row, **made.get(str(row["id"]), {})) for row in rows]


@dataclass(frozen=True, slots=True)
class TabCounts:
    """How much the tabs of a task hold, each capped."""

    reviews: int
    artifacts: int


def tab_counts(task_id: UUID) -> TabCounts:
    """Count what the tabs of a task hold."""
    parts = ("review", "artifactref")
    counted = ", ".join(
        f"(SELECT count(*) FROM (SELECT 1 FROM runtime_{part} WHERE task_id = %s "  # noqa: S608
        f"LIMIT {COUNTED}) AS {part})"
        for part in parts
    )
    return TabCounts(*fetch(f"SELECT {counted}", [task_id] * len(parts))[0])
