"""What workers hold."""

from collections.abc import Sequence
from uuid import UUID

from runtime.models import Task


def held_tasks(workers: Sequence[UUID], most: int) -> dict[UUID, list[tuple[UUID, str]]]:
    """List the tasks that workers hold, some of each, with their agents."""
    found: dict[UUID, list[tuple[UUID, str]]] = {}
    rows = Task.objects.filter(owner__in=list(workers)).order_by("id")
    for owner, task_id, agent in rows.values_list("owner", "id", "agent")[: most * 20]:
        tasks = found.setdefault(owner, []) if owner else []
        if len(tasks) < most:
            tasks.append((task_id, agent))
    return found
