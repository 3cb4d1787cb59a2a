"""What operators read: backlog, workers, refused writes, tasks that only a person can take up.

Reads only; ``runtime.api`` hands these rows out.  Ages count by the database's clock.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from runtime.store.queries import read_payload
from runtime.store.session import Row, execute

_DEAD_SHOWN_S = 86_400.0
_MOST_WORKERS = 500


@dataclass(frozen=True, slots=True)
class QueueView:
    """One queue.

    Args:
        due: Tasks that could go on now and that nobody holds.
        oldest_s: Seconds that the first of them has been due; None without any.
        later: Tasks that wait for a time: a back-off, a later start.
        workers: Running workers that serve it.
        slots: Tasks they hold at most.
        held: Tasks they hold now, of all their queues.
    """

    queue: str
    due: int
    oldest_s: float | None
    later: int
    workers: int
    slots: int
    held: int


@dataclass(frozen=True, slots=True)
class WorkerView:
    """One incarnation of a worker.

    Args:
        heartbeat_s: Seconds since it renewed its lease, by the database's clock.
        lease_left_s: Seconds until its lease runs out; negative when it has.
        refusals: Writes of it that the fence refused.
        death: How it died, if it did.
        agents: The agents it knows.
        drain_asked_at: When somebody asked it to take nothing more; None if it takes tasks.
        left_behind: What it held when it died, some of it.
    """

    id: UUID
    host: str
    pid: int
    kind: str
    queues: tuple[str, ...]
    slots: int
    held: int
    memory_mb: int
    version: str
    state: str
    started_at: datetime
    heartbeat_s: float
    lease_left_s: float
    ended_at: datetime | None
    death: str | None
    refusals: int
    agents: tuple[str, ...]
    drain_asked_at: datetime | None
    left_behind: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class RefusalView:
    """A write that the fence refused; it moved nothing."""

    id: int
    task_id: UUID
    worker_id: UUID
    epoch: int
    epoch_now: int
    what: str
    operation_id: str | None
    evidence: Any
    at: datetime


_QUEUES = """
WITH backlog AS (
    SELECT t.queue,
           count(*) FILTER (WHERE t.due_at <= runtime_now()) AS due,
           extract(epoch FROM runtime_now()
               - min(t.due_at) FILTER (WHERE t.due_at <= runtime_now()))::float8 AS oldest_s,
           count(*) FILTER (WHERE t.due_at > runtime_now()) AS later
    FROM runtime_task t
    WHERE t.owner IS NULL AND NOT t.held AND t.due_at IS NOT NULL
    GROUP BY t.queue
), served AS (
    SELECT q.queue, count(*) AS workers, sum(w.slots) AS slots, sum(w.held) AS held
    FROM runtime_worker w, unnest(w.queues) AS q (queue)
    WHERE w.state = 'running' AND w.kind = 'worker' AND w.expires_at > runtime_now()
    GROUP BY q.queue
)
SELECT queue, coalesce(b.due, 0), b.oldest_s, coalesce(b.later, 0), coalesce(s.workers, 0)::int,
       coalesce(s.slots, 0)::int, coalesce(s.held, 0)::int
FROM backlog b FULL JOIN served s USING (queue)
ORDER BY queue
"""

_WORKERS = """
SELECT w.id, w.host, w.pid, w.kind, w.queues, w.slots, w.held, w.memory_mb, w.version, w.state,
       w.started_at, extract(epoch FROM runtime_now() - w.renewed_at)::float8,
       extract(epoch FROM w.expires_at - runtime_now())::float8, w.ended_at, w.death,
       (SELECT count(*) FROM runtime_refusal r WHERE r.worker_id = w.id),
       w.agents, w.drain_asked_at, w.left_behind
FROM runtime_worker w
WHERE w.state IN ('running', 'draining')
   OR w.ended_at > runtime_now() - make_interval(secs => %s)
ORDER BY w.ended_at IS NOT NULL, w.started_at DESC
LIMIT %s
"""


def queues() -> list[QueueView]:
    """List the queues that have work or workers."""
    return [QueueView(*row) for row in execute(_QUEUES)]


def workers() -> list[WorkerView]:
    """List the living workers, and those that ended within the last day."""
    rows = execute(_WORKERS, (_DEAD_SHOWN_S, _MOST_WORKERS))
    return [_worker(row) for row in rows]


def _worker(row: Row) -> WorkerView:
    end = (tuple(row[16]), row[17], tuple(row[18]))
    return WorkerView(*(*row[:4], tuple(row[4]), *row[5:16], *end))


def refusals(task_id: UUID, limit: int) -> list[RefusalView]:
    """List the refused writes of a task, the newest first."""
    rows = execute(
        "SELECT id, task_id, worker_id, epoch, epoch_now, what, operation_id, evidence, at "
        "FROM runtime_refusal WHERE task_id = %s ORDER BY id DESC LIMIT %s",
        (task_id, limit),
    )
    return [RefusalView(*(*row[:7], read_payload(row[7]), row[8])) for row in rows]
