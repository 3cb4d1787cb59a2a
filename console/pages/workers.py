"""The workers: what they hold, when they were heard, how they died, which queues they serve."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console import queries
from console.access import Permission, needs
from console.guard import is_fragment
from console.pages.words import Lamp
from runtime import api
from runtime.api import WorkerView

TASKS_SHOWN: Final = 12


@dataclass(frozen=True, slots=True)
class Line:
    """One worker with its lamp, when it was heard last, and what it holds."""

    worker: WorkerView
    lamp: Lamp
    renewed_at: datetime
    held: list[tuple[UUID, str]]


@needs(Permission.VIEW_WORKERS)
@require_safe
def workers(request: HttpRequest) -> HttpResponse:
    """Show them, the troubled ones first."""
    now = queries.database_now()
    found = api.workers()
    held = queries.held_tasks([worker.id for worker in found if worker.held], TASKS_SHOWN)
    lines = [
        Line(
            worker,
            _lamp(worker),
            now - timedelta(seconds=worker.heartbeat_s),
            held.get(worker.id, []),
        )
        for worker in found
    ]
    context = {
        "lines": sorted(lines, key=lambda line: (_ORDER[line.lamp.label], line.worker.host)),
        "queues": api.queues(),
        "orphans": [queue for queue in api.queues() if queue.due and not queue.workers],
        "now": now,
    }
    part = "#inside" if is_fragment(request) else ""
    return render(request, f"workers/workers.html{part}", context)


_ORDER: Final = {
    name: at for at, name in enumerate(("silent", "draining", "healthy", "dead", "stopped"))
}


def _lamp(worker: WorkerView) -> Lamp:
    match worker.state:
        case "dead":
            return Lamp("stop", "dead")
        case "stopped":
            return Lamp("ended", "stopped")
        case _ if worker.lease_left_s < 0:
            return Lamp("stop", "silent")
        case "draining":
            return Lamp("waiting", "draining")
        case _:
            return Lamp("moving", "healthy")
