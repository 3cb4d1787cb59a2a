"""What workers hold and were refused, and who serves a queue."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection

from console.queries.base import NAMESPACE
from runtime.core import checkpoint as cp
from runtime.core.checkpoint import Pending
from runtime.core.errors import SignalboxError
from runtime.core.states import State
from runtime.models import Task, TaskSpec, Worker

LOOKED_AT: Final = 200
"""Leases of one worker among which the oldest is looked for."""
MOST_REFUSALS: Final = 5


@dataclass(frozen=True, slots=True)
class Lease:
    """A task in a worker's hands; `moved_at` is when its last event was written."""

    task_id: UUID
    agent: str
    title: str
    state: State
    epoch: int
    moved_at: datetime


@dataclass(frozen=True, slots=True)
class RefusedWrite:
    """A write of a lost lease that moved nothing."""

    task_id: UUID
    what: str
    epoch: int
    epoch_now: int
    at: datetime


_LEASES: Final = """
SELECT w.id, t.id, t.agent, coalesce(nullif(s.title, ''), t.agent), t.state, t.epoch,
       coalesce((SELECT e.at FROM runtime_event e WHERE e.task_id = t.id AND e.seq = t.version),
                t.created_at) AS moved_at
FROM unnest(%s::uuid[]) AS w (id)
CROSS JOIN LATERAL (
    SELECT * FROM runtime_task held WHERE held.owner = w.id ORDER BY held.id LIMIT %s
) AS t
JOIN runtime_taskspec s ON s.task_id = t.id
ORDER BY moved_at, t.id
"""


def leases(workers: Sequence[UUID]) -> dict[UUID, list[Lease]]:
    """List what workers hold, up to `LOOKED_AT` of each, the one that moved longest ago first."""
    found: dict[UUID, list[Lease]] = {}
    if not workers:
        return found
    with connection.cursor() as cursor:
        cursor.execute(_LEASES, (list(workers), LOOKED_AT))
        for worker, task_id, agent, title, state, epoch, moved_at in cursor.fetchall():
            one = Lease(task_id, agent, title, State(state), epoch, moved_at)
            found.setdefault(worker, []).append(one)
    return found


_REFUSED: Final = """
SELECT w.id, r.task_id, r.what, r.epoch, r.epoch_now, r.at
FROM unnest(%s::uuid[]) AS w (id)
CROSS JOIN LATERAL (
    SELECT * FROM runtime_refusal late WHERE late.worker_id = w.id ORDER BY late.id DESC LIMIT %s
) AS r
ORDER BY r.id DESC
"""


def refused_writes(workers: Sequence[UUID]) -> dict[UUID, list[RefusedWrite]]:
    """List the last refused writes of workers, the newest first."""
    found: dict[UUID, list[RefusedWrite]] = {}
    if not workers:
        return found
    with connection.cursor() as cursor:
        cursor.execute(_REFUSED, (list(workers), MOST_REFUSALS))
        for worker, *write in cursor.fetchall():
            found.setdefault(worker, []).append(RefusedWrite(*write))
    return found


@dataclass(frozen=True, slots=True)
class Holding:
    """Who holds a task and what it was about to do: what somebody must know who takes it away."""

    task_id: UUID
    title: str
    epoch: int
    worker: str
    state: State
    held: bool
    pending: Pending | None
    is_readable: bool


def holding(task_id: UUID) -> Holding | None:
    """Read who holds a task; None if nobody does, or there is no such task."""
    row = (
        Task.objects.filter(pk=task_id, namespace=NAMESPACE, owner__isnull=False)
        .values("agent", "epoch", "owner", "state", "held", "checkpoint", "checkpoint_sum")
        .first()
    )
    if row is None:
        return None
    title = TaskSpec.objects.filter(pk=task_id).values_list("title", flat=True).first()
    owner: Any = row["owner"]
    try:
        at = cp.decode(task_id, row["checkpoint"], row["checkpoint_sum"])
    except SignalboxError:
        at = None
    return Holding(
        task_id=task_id,
        title=title or row["agent"],
        epoch=row["epoch"],
        worker=worker_name(owner) or str(owner),
        state=State(row["state"]),
        held=row["held"],
        pending=at.pending if at else None,
        is_readable=at is not None,
    )


@dataclass(frozen=True, slots=True)
class Serving:
    """Who can run tasks of a queue: living workers, those that take tasks, those that know."""

    living: int
    taking: int
    knowing: int


_SERVING: Final = """
SELECT count(*)::int, (count(*) FILTER (WHERE w.state = 'running'))::int,
       (count(*) FILTER (WHERE w.state = 'running' AND (%s = '' OR %s = ANY (w.agents))))::int
FROM runtime_worker w
WHERE w.state IN ('running', 'draining') AND w.kind = 'worker'
  AND w.expires_at > runtime_now() AND %s = ANY (w.queues)
"""


def serving(queue: str, agent: str = "") -> Serving:
    """Count the workers that serve a queue and, if one is named, know an agent."""
    with connection.cursor() as cursor:
        cursor.execute(_SERVING, (agent, agent, queue))
        return Serving(*cursor.fetchone())


def worker_name(worker_id: UUID) -> str:
    """Name a worker by host and process; empty if it is unknown."""
    row = Worker.objects.filter(pk=worker_id).values_list("host", "pid").first()
    return f"{row[0]}:{row[1]}" if row else ""
