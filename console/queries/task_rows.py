"""The rows of the task list: one frozen row for each task, for the ids that are shown."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _

from console.queries.base import NAMESPACE, fetch
from console.recorded import recorded
from runtime.core import checkpoint as cp
from runtime.core.checkpoint import Checkpoint
from runtime.core.errors import SignalboxError
from runtime.core.states import TERMINAL, State
from runtime.models import Review, Task, TaskSpec, Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """One task in a list.

    Args:
        seq: Its last event; `moved_at` tells when that was.
        line: What it is doing, in foreign or our own words.
        until: When it goes on by itself, if it waits for a time.
        in_hand: A worker holds it.
        attempt: Attempts of the pending call so far.
        epoch: How often it changed hands.
        deaths: Workers that died holding it.
    """

    id: UUID
    agent: str
    title: str
    state: State
    seq: int
    situation: int
    held: bool
    in_hand: bool
    owner: UUID | None
    step: int
    attempt: int
    created_at: datetime
    moved_at: datetime
    finished_at: datetime | None
    line: str
    until: datetime | None
    review_id: UUID | None
    review_kind: str
    queue: str
    priority: int
    epoch: int
    deaths: int
    key: str
    labels: Mapping[str, str]
    created_by: str


_NAMES: Final = (
    "id",
    "agent",
    "state",
    "version",
    "situation",
    "held",
    "owner",
    "created_at",
    "finished_at",
    "queue",
    "priority",
    "epoch",
    "deaths",
    "checkpoint",
    "checkpoint_sum",
    "title",
    "said",
    "ended",
    "key",
    "labels",
    "created_by",
    "moved_at",
)
_ROWS: Final = f"""
SELECT {", ".join(f"t.{name}" for name in _NAMES[:15])}, s.title, s.search_text, s.outcome_reason,
       s.key, s.labels::text, s.created_by,
       (SELECT e.at FROM runtime_event e WHERE e.task_id = t.id AND e.seq = t.version)
FROM runtime_task t LEFT JOIN runtime_taskspec s ON s.task_id = t.id
WHERE t.namespace = %s AND t.id = ANY(%s)
"""  # noqa: S608 (our own words)


def task_rows(ids: Sequence[UUID]) -> list[TaskRow]:
    """Read the rows of these tasks, in this order; those that are gone are left out."""
    if not ids:
        return []
    found = [
        dict(zip(_NAMES, values, strict=True)) for values in fetch(_ROWS, (NAMESPACE, list(ids)))
    ]
    asked = _asked([row["id"] for row in found if row["state"] == State.WAITING_HUMAN])
    rows = {row["id"]: _task_row(row, asked.get(row["id"])) for row in found}
    return [rows[task_id] for task_id in ids if task_id in rows]


def _asked(ids: Sequence[UUID]) -> dict[UUID, dict[str, Any]]:
    if not ids:
        return {}
    items = Review.objects.filter(task_id__in=ids, status__in=["open", "decided"])
    rows = items.values("task_id", "id", "kind", "question", "why")
    return {row["task_id"]: dict(row) for row in rows}


def _task_row(row: Mapping[str, Any], asked: Mapping[str, Any] | None) -> TaskRow:
    at = _checkpoint(row["id"], row["checkpoint"], row["checkpoint_sum"])
    state = State(row["state"])
    until = at.wait.until if at and at.wait and state not in TERMINAL else None
    return TaskRow(
        id=row["id"],
        agent=row["agent"],
        title=row["title"] or row["said"] or row["agent"],
        state=state,
        seq=row["version"],
        situation=row["situation"],
        held=row["held"],
        in_hand=row["owner"] is not None,
        owner=row["owner"],
        step=at.step if at else 0,
        attempt=at.pending.attempt if at and at.pending else 0,
        created_at=row["created_at"],
        moved_at=row["moved_at"] or row["created_at"],
        finished_at=row["finished_at"],
        line=_line(row, state, at, asked),
        until=datetime.fromisoformat(until) if until else None,
        review_id=asked["id"] if asked else None,
        review_kind=asked["kind"] if asked else "",
        queue=row["queue"],
        priority=row["priority"],
        epoch=row["epoch"],
        deaths=row["deaths"],
        key=row["key"] or "",
        labels=json.loads(row["labels"] or "{}"),
        created_by=row["created_by"] or "",
    )


def _line(
    row: Mapping[str, Any],
    state: State,
    at: Checkpoint | None,
    asked: Mapping[str, Any] | None,
) -> str:
    if at is None:
        return _("its checkpoint cannot be read")
    if state in TERMINAL:
        return str(row["ended"] or "")
    if asked is not None:
        return str(asked["question"] or recorded(asked["why"]))
    if at.pending is None:
        return ""
    if state is State.RETRYING:
        return f"attempt {at.pending.attempt + 1} of {at.pending.tool}"
    again = f", attempt {at.pending.attempt + 1}" if at.pending.attempt else ""
    return f"{at.pending.tool}{again}"


def _checkpoint(task_id: UUID, text: str, checksum: str) -> Checkpoint | None:
    try:
        return cp.decode(task_id, text, checksum)
    except SignalboxError:
        return None


def worker_names(owners: Iterable[UUID]) -> dict[UUID, str]:
    """Name workers as people find them."""
    rows = Worker.objects.filter(pk__in=set(owners)).values_list("pk", "host", "pid")
    return {worker: f"{host}:{pid}" for worker, host, pid in rows}


def is_held(task_id: UUID) -> bool:
    """Tell whether somebody paused a task."""
    return Task.objects.filter(namespace=NAMESPACE, pk=task_id, held=True).exists()


def names_of(ids: Iterable[UUID]) -> dict[UUID, str]:
    """Give what tasks are called in lists."""
    specs = TaskSpec.objects.filter(namespace=NAMESPACE, task_id__in=list(ids))
    rows = specs.values_list("task_id", "title", "search_text", "task__agent")
    return {task_id: title or said or agent for task_id, title, said, agent in rows}
