"""Who held a task: who wrote its journal, under which epoch, and who was made to let go.

The journal keeps no claims and no releases; what is told of them is told from these facts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import BooleanField, ExpressionWrapper, Q

from console.models import AuditEntry
from console.queries.task import SCANNED
from runtime.models import Worker

_MOST: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """A run of events that one worker wrote while it held the task.

    Args:
        name: The worker as people find it; empty when it is not known any more.
        state: Of the worker now; `death` how it died.
        died_with_it: The task was in its hands when it was declared dead.
    """

    worker_id: UUID
    name: str
    state: str
    death: str | None
    died_with_it: bool
    ended_at: datetime | None
    first_seq: int
    last_seq: int
    first_at: datetime
    last_at: datetime


_HOLDINGS: Final = """
SELECT actor, min(seq), max(seq), min(at), max(at) FROM (
    SELECT seq, at, actor, sum(fresh) OVER (ORDER BY seq) AS run FROM (
        SELECT seq, at, actor,
               (actor IS DISTINCT FROM lag(actor) OVER (ORDER BY seq))::int AS fresh
        FROM runtime_event WHERE task_id = %s AND seq > %s AND actor LIKE 'worker:%%'
    ) AS marked
) AS runs
GROUP BY run, actor ORDER BY min(seq) DESC LIMIT %s
"""


def holdings(task_id: UUID, version: int) -> list[Holding]:
    """List who wrote the last `SCANNED` events of a task, the newest first."""
    with connection.cursor() as cursor:
        cursor.execute(_HOLDINGS, [task_id, max(version - SCANNED, 0), _MOST])
        rows = [(UUID(actor.removeprefix("worker:")), *rest) for actor, *rest in cursor.fetchall()]
    known = _workers({row[0] for row in rows}, task_id)
    return [_holding(known, *row) for row in rows]


def _workers(ids: Iterable[UUID], task_id: UUID) -> Mapping[UUID, Mapping[str, Any]]:
    names = ("id", "host", "pid", "state", "death", "ended_at", "died_with_it")
    with_it = ExpressionWrapper(Q(left_behind__contains=[task_id]), output_field=BooleanField())
    rows = Worker.objects.filter(id__in=list(ids)).annotate(died_with_it=with_it).values(*names)
    return {row["id"]: row for row in rows}


def _holding(known: Mapping[UUID, Mapping[str, Any]], worker_id: UUID, *run: Any) -> Holding:
    worker = known.get(worker_id)
    first_seq, last_seq, first_at, last_at = run
    return Holding(
        worker_id=worker_id,
        name=f"{worker['host']}:{worker['pid']}" if worker else "",
        state=worker["state"] if worker else "",
        death=worker["death"] if worker else None,
        died_with_it=worker["died_with_it"] if worker else False,
        ended_at=worker["ended_at"] if worker else None,
        first_seq=first_seq,
        last_seq=last_seq,
        first_at=first_at,
        last_at=last_at,
    )


_EPOCHS: Final = """
SELECT result.seq, effect.epoch
FROM (
    SELECT task_id, call_id, epoch FROM runtime_operation
    WHERE task_id = %s AND settled_at IS NOT NULL
    ORDER BY settled_at DESC, id DESC LIMIT %s
) AS effect
JOIN runtime_stepresult result
    ON result.task_id = effect.task_id AND result.call_id = effect.call_id
"""


def epochs_of(task_id: UUID) -> list[tuple[int, int]]:
    """List under which epoch the last effects of a task were settled: event, epoch.

    The ledger alone keeps an epoch beside what was written under it.
    """
    with connection.cursor() as cursor:
        cursor.execute(_EPOCHS, [task_id, _MOST])
        return [(seq, epoch) for seq, epoch in cursor.fetchall()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taking:
    """An administrator took the task out of a worker's hands."""

    at: datetime
    by: str
    reason: str


def takings(task_id: UUID) -> list[Taking]:
    """List when somebody took a task out of a worker's hands, the newest first."""
    rows = AuditEntry.objects.filter(
        object=f"task:{task_id}", action="task.force_release", result="done"
    ).order_by("-id")
    found = rows.values_list("at", "actor", "reason")[:_MOST]
    return [Taking(at=at, by=by, reason=reason) for at, by, reason in found]
