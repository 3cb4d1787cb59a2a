"""Finds the tasks that should be moving by themselves and are not; it moves none of them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from runtime.core.stuck import LOST_S, NO_WORKER_S, OVERDUE_S, Stuck
from runtime.store.session import execute, sql


@dataclass(frozen=True, slots=True)
class StuckView:
    """One such task.

    Args:
        since: When it should have moved.
    """

    id: UUID
    agent: str
    queue: str
    why: Stuck
    since: datetime


def stuck(namespace: str, limit: int) -> list[StuckView]:
    """List them, the longest first.

    Args:
        namespace: Whose.
        limit: At most so many.
    """
    params = {
        "namespace": namespace,
        "limit": limit,
        "no_worker_s": NO_WORKER_S,
        "overdue_s": OVERDUE_S,
        "lost_s": LOST_S,
    }
    rows = execute(sql("stuck"), params)
    return [StuckView(id_, agent, queue, Stuck(why), at) for id_, agent, queue, why, at in rows]
