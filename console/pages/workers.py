"""The workers: what they hold, when they were heard, how they died, which queues they serve.

Reading is for everybody who may look; having a worker drain and taking a task out of its hands are
for administrators, each behind a dialog that says what follows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from console import queries, steering
from console.access import Permission, allowed, needs
from console.actions import Outcome
from console.guard import is_fragment
from console.pages.notes import done
from console.pages.release_words import what_follows
from console.pages.words import Lamp
from console.queries import workers as reads
from console.queries.workers import Lease, RefusedWrite
from runtime import api
from runtime.api import WorkerView

LEASES_SHOWN: Final = 25
LETTERS_SHOWN: Final = 20
_LATE_AFTER_S: Final = 3.0
"""Renewals come every second, or four times a lease; after three missed ones a worker is late."""

#: What each state is called and shown as, the most troubled first.
STATES: Final[Mapping[str, tuple[str, Any]]] = {
    "lost": ("stop", gettext_lazy("lost")),
    "late": ("waiting", gettext_lazy("late")),
    "dead": ("stop", gettext_lazy("died")),
    "draining": ("paused", gettext_lazy("draining")),
    "healthy": ("moving", gettext_lazy("healthy")),
    "stopped": ("ended", gettext_lazy("stopped")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One worker with its lamp, when it was heard last, and what it holds or held.

    Args:
        state: One of `STATES`.
        oldest: The lease whose task moved longest ago.
        more: Leases that are not shown.
        left_more: The same for what the dead left behind.
    """

    worker: WorkerView
    state: str
    lamp: Lamp
    heard_at: datetime
    leases: Sequence[Lease]
    more: int
    left_more: int
    refused: Sequence[RefusedWrite]
    fill: int

    @property
    def oldest(self) -> Lease | None:
        """The lease whose task moved longest ago."""
        return self.leases[0] if self.leases else None

    @property
    def is_partly_read(self) -> bool:
        """Whether it holds more leases than the oldest was looked for among."""
        return self.worker.held > reads.LOOKED_AT

    @property
    def is_living(self) -> bool:
        """Whether it can be asked for anything."""
        return self.worker.ended_at is None

    @property
    def has_more(self) -> bool:
        """Whether there is anything behind "Details"."""
        return bool(self.leases or self.worker.left_behind or self.refused)


@needs(Permission.VIEW_WORKERS)
@require_safe
def workers(request: HttpRequest) -> HttpResponse:
    """Show them, the troubled ones first."""
    found, queues, now = api.workers(), api.queues(), queries.database_now()
    lines = _lines(found, now)
    living = [line for line in lines if line.is_living and line.worker.kind == "worker"]
    broker = api.broker()
    context = {
        "lines": lines,
        "living": len(living),
        "lost": sum(line.state in {"lost", "late"} for line in living),
        "held": sum(line.worker.held for line in living),
        "slots": sum(line.worker.slots for line in living),
        "queues": queues,
        "orphans": [queue for queue in queues if queue.due and not queue.workers],
        "broker": broker,
        "looked_at": reads.LOOKED_AT if any(one.is_partly_read for one in living) else 0,
        # Who counts none is not asked for a list of them.
        "letters": api.dead(limit=LETTERS_SHOWN).letters if broker.stand.given_up else (),
        "may_manage": allowed(request.user, Permission.MANAGE_WORKERS),
        "now": now,
    }
    part = "#inside" if is_fragment(request) else ""
    return render(request, f"workers/workers.html{part}", context)


def _lines(found: Sequence[WorkerView], now: datetime) -> list[Line]:
    held = reads.leases([worker.id for worker in found if worker.ended_at is None])
    refused = reads.refused_writes([worker.id for worker in found if worker.refusals])
    lines = [
        _line(worker, now, held.get(worker.id, []), refused.get(worker.id, [])) for worker in found
    ]
    order = list(STATES)
    return sorted(
        lines, key=lambda line: (order.index(line.state), line.worker.host, line.worker.pid)
    )


def _line(
    worker: WorkerView, now: datetime, leases: Sequence[Lease], refused: Sequence[RefusedWrite]
) -> Line:
    state = state_of(worker)
    kind, words = STATES[state]
    return Line(
        worker=worker,
        state=state,
        lamp=Lamp(kind, str(words)),
        heard_at=worker.ended_at or now - timedelta(seconds=worker.heartbeat_s),
        leases=leases[:LEASES_SHOWN],
        more=max(worker.held - LEASES_SHOWN, 0) if leases else 0,
        left_more=max(worker.held - len(worker.left_behind), 0),
        refused=refused,
        fill=_fill(worker),
    )


def state_of(worker: WorkerView) -> str:
    """Say how a worker is: one of `STATES`."""
    lease_s = worker.heartbeat_s + worker.lease_left_s
    if worker.state in {"dead", "stopped"}:
        return worker.state
    if worker.lease_left_s < 0:
        return "lost"
    if worker.heartbeat_s > min(_LATE_AFTER_S, 0.75 * lease_s):
        return "late"
    if worker.state == "draining" or worker.drain_asked_at is not None:
        return "draining"
    return "healthy"


def _fill(worker: WorkerView) -> int:
    """Give how full it is in percent; a single lease is to be seen."""
    if not worker.held or not worker.slots:
        return 0
    return min(max(round(100 * worker.held / worker.slots), 2), 100)


def unserved(queue: str, agent: str = "") -> str:
    """Say in one sentence why no worker can run tasks of a queue; empty when one can.

    Args:
        queue: Where the task waits.
        agent: Whose it is, if that matters, too.
    """
    found = reads.serving(queue, agent)
    if not found.living:
        return _("No worker serves the queue “%(queue)s”.") % {"queue": queue}
    if not found.taking:
        return _("Every worker of the queue “%(queue)s” is draining.") % {"queue": queue}
    if not found.knowing:
        said = _("No worker of the queue “%(queue)s” knows the agent “%(agent)s”.")
        return said % {"queue": queue, "agent": agent}
    return ""


# --- what administrators do ---------------------------------------------------------------------


@needs(Permission.MANAGE_WORKERS)
@require_http_methods(["GET", "HEAD", "POST"])
def drain(request: HttpRequest, worker_id: UUID) -> HttpResponse:
    """Ask why a worker is to take no more, or to take again; then have it do so."""
    found = next((one for one in api.workers() if one.id == worker_id), None)
    if found is None:
        raise Http404
    wanted = (request.POST if request.method == "POST" else request.GET).get("again") != "1"
    reason = request.POST.get("reason", "")
    context = {
        "worker": found,
        "wanted": wanted,
        "reason": reason,
        "others": [queue for queue in found.queues if reads.serving(queue).taking > 1],
    }
    if request.method != "POST":
        return _dialog(request, "workers/drain.html", context)
    outcome = steering.drain(request, worker_id, reason, wanted=wanted)
    if outcome.is_done:
        return done(request, outcome.said, "workers")
    return _dialog(request, "workers/drain.html", context, outcome)


@needs(Permission.MANAGE_WORKERS)
@require_http_methods(["GET", "HEAD", "POST"])
def force_release(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Say what follows when a task is taken out of its worker's hands; then do it."""
    reason, epoch = request.POST.get("reason", ""), _epoch(request)
    outcome = None
    if request.method == "POST":
        outcome = steering.force_release(request, task_id, reason, epoch)
        if outcome.is_done:
            return done(request, outcome.said, "workers")
    # Whatever it was, what the person typed stays, and the dialog carries what stands now.
    holding = reads.holding(task_id)
    if holding is None and outcome is None:
        return _dialog(request, "workers/free.html", {"task_id": task_id})
    context = {
        "task_id": task_id,
        "holding": holding,
        "follows": what_follows(holding) if holding else [],
        "reason": reason,
    }
    return _dialog(request, "workers/release.html", context, outcome)


def _epoch(request: HttpRequest) -> int:
    text = request.POST.get("epoch", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 18 else -1  # noqa: PLR2004


def _dialog(
    request: HttpRequest, template: str, context: dict[str, Any], outcome: Outcome | None = None
) -> HttpResponse:
    part = "#dialog" if is_fragment(request) else ""
    said = {"said": outcome.said} if outcome else {}
    status = outcome.status if outcome else 200
    return render(request, f"{template}{part}", context | said, status=status)
