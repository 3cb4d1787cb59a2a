"""One task: the way it went, its calls' arguments, its lease, its reviews."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from console.queries.base import COUNTED
from runtime.core.errors import SignalboxError
from runtime.core.events import EventType
from runtime.core.payloads import decode
from runtime.core.states import State
from runtime.core.table import TABLE
from runtime.models import Event, Refusal, Review, StepResult, Task, Worker

PATH_EVENTS: Final = 2000


@dataclass(frozen=True, slots=True)
class Travelled:
    """The states a task was in, one after the other; `whole` is False when they were too many."""

    path: tuple[State, ...]
    whole: bool


def travelled(task_id: UUID, now_in: State) -> Travelled:
    """Read the path of a task through its states."""
    events = Event.objects.filter(task_id=task_id).order_by("seq")
    rows = list(events.values_list("type", "payload", "codec")[: PATH_EVENTS + 1])
    path: list[State] = []
    for kind, text, codec in rows[:PATH_EVENTS]:
        source = path[-1] if path else None
        if kind == EventType.TOOL_CALL_SUCCEEDED and source is State.PLANNING:
            # A read is made and written as one event; the task was at the tool all the same.
            path.append(State.WAITING_TOOL_CALL)
        target = _target(EventType(kind), source, text, codec)
        if target is not None and path[-1:] != [target]:
            path.append(target)
    if not path or path[-1] != now_in:
        path.append(now_in)
    return Travelled(tuple(path), len(rows) <= PATH_EVENTS)


def _target(kind: EventType, source: State | None, text: str, codec: str) -> State | None:
    row = TABLE[kind]
    if source is not None and source not in row.sources:
        return None
    targets = row.targets_from(source)
    if len(targets) == 1:
        return next(iter(targets))
    try:
        named = decode(text, codec)
        return State(named["to"])
    except (SignalboxError, KeyError, TypeError, ValueError):
        return None


def arguments_of(task_id: UUID, call_ids: Sequence[str]) -> dict[str, Any]:
    """Read the arguments of completed calls that no event holds."""
    rows = StepResult.objects.filter(task_id=task_id, call_id__in=list(call_ids))
    found: dict[str, Any] = {}
    for call_id, text, codec in rows.filter(arguments__isnull=False).values_list(
        "call_id", "arguments", "codec"
    ):
        try:
            found[call_id] = decode(text or "", codec)
        except SignalboxError as error:
            found[call_id] = {"unreadable": str(error)}
    return found


def first_position(task_id: UUID, call_ids: Iterable[str]) -> int | None:
    """Give the lowest position of these calls among the completed ones; None without any."""
    rows = StepResult.objects.filter(task_id=task_id, call_id__in=list(call_ids))
    found: int | None = rows.order_by("position").values_list("position", flat=True).first()
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseView:
    """Who holds a task, and how often a late write was refused."""

    epoch: int
    deaths: int
    refused: int
    worker: str
    worker_state: str
    renewed_at: datetime | None


def lease(task_id: UUID) -> LeaseView:
    """Read the lease of a task."""
    owner, epoch, deaths = Task.objects.values_list("owner", "epoch", "deaths").get(pk=task_id)
    workers = Worker.objects.filter(pk=owner) if owner else Worker.objects.none()
    worker = workers.values("host", "pid", "state", "renewed_at").first()
    return LeaseView(
        epoch=epoch,
        deaths=deaths,
        refused=Refusal.objects.filter(task_id=task_id)[:COUNTED].count(),
        worker=f"{worker['host']}:{worker['pid']}" if worker else "",
        worker_state=worker["state"] if worker else "",
        renewed_at=worker["renewed_at"] if worker else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewLine:
    """One review item of a task."""

    id: UUID
    kind: str
    status: str
    opened_at: datetime
    decision: str | None
    decided_by: str | None


def reviews_of(task_id: UUID) -> list[ReviewLine]:
    """List the review items of a task, the newest first."""
    rows = Review.objects.filter(task_id=task_id).order_by("-opened_at")
    names = ("id", "kind", "status", "opened_at", "decision", "decided_by")
    return [ReviewLine(**row) for row in rows.values(*names)[:20]]
