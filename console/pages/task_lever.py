"""Pulling a lever on a task: what it will do is said first, a reason is asked, and then it is done.

Never optimistic: the dialog stays until the server has done it, and where the task has moved
meanwhile it says what moved and keeps what was typed.
"""

from typing import Any, Final
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from console import actions, queries
from console.access import Permission, needs
from console.actions import LEVERS, Lever
from console.guard import is_fragment
from console.pages import task_facts
from console.pages.event_words import by, called
from console.pages.notes import done
from console.pages.task_preview import Foretold, Standing, preview
from console.pages.task_window import number
from runtime import api
from runtime.api import SignalboxError, TaskDetail
from runtime.core.reviews import Decision
from runtime.core.states import State

_CONFLICT: Final = 409
_MOVES: Final = 5


@needs(Permission.ACT_ON_TASKS)
@require_http_methods(["GET", "HEAD", "POST"])
def pull_lever(request: HttpRequest, task_id: UUID, name: str) -> HttpResponse:
    """Ask for the reason of a command; take it when it comes."""
    lever = LEVERS.get(name)
    if lever is None:
        raise Http404
    task = task_facts.found(task_id)
    if request.method != "POST":
        return _dialog(request, lever, task, 200)
    situation = number(request.POST.get("situation", ""), -1)
    outcome = actions.pull(request, lever, task_id, request.POST.get("reason", ""), situation)
    if outcome.is_done:
        return done(request, outcome.said, "task", task_id=task_id)
    # Whatever it was, what the person typed stays, and the dialog carries what stands now.
    seen = number(request.POST.get("version", ""), task.version)
    task = task_facts.found(task_id)
    more: dict[str, Any] = {"said": outcome.said}
    if outcome.status == _CONFLICT:
        more["moves"] = _moves(task, seen)
    return _dialog(request, lever, task, outcome.status, **more)


def levers(request: HttpRequest, task: TaskDetail) -> list[Lever]:
    """List what can be done to a task now; the server decides again when it is done."""
    if task.ended or not request.user.has_perm(f"console.{Permission.ACT_ON_TASKS}"):
        return []
    names = ["resume" if task.held else "pause"]
    if task.state == State.RETRYING or _offers_retry(task):
        names.append("retry")
    return [LEVERS[name] for name in (*names, "cancel")]


def _offers_retry(task: TaskDetail) -> bool:
    if task.review_id is None:
        return False
    try:
        item = api.review(task.review_id)
    except SignalboxError:
        return False
    return item.status == "open" and Decision.RETRY in item.allowed


def _dialog(
    request: HttpRequest, lever: Lever, task: TaskDetail, status: int, **more: Any
) -> HttpResponse:
    # The server decides again when it is done; what cannot be done now is not foretold.
    is_open = lever in levers(request, task)
    context = {
        "task": task,
        "lever": lever,
        "reason": request.POST.get("reason", ""),
        "foretold": _foretold(lever, task) if is_open else [],
        "is_open": is_open,
    }
    part = "#dialog" if is_fragment(request) else ""
    return render(request, f"tasks/lever.html{part}", context | more, status=status)


def _foretold(lever: Lever, task: TaskDetail) -> list[Foretold]:
    at = task_facts.checkpoint(task.id)
    pending = at.pending.operation_id if at is not None and at.pending is not None else None
    effects = queries.effects_of(task.id, pending, ended=task.ended)
    standing = Standing(at=at, in_hand=task.owner is not None, effects=effects)
    return preview(lever.name, standing)


def _moves(task: TaskDetail, seen: int) -> list[tuple[int, str, str]]:
    """Tell what happened since a dialog was opened: number, word, and who did it."""
    events = api.events(task.id, after=max(seen, task.version - _MOVES), limit=_MOVES)
    return [
        (event.seq, called(event.type), by(event.payload.get("by") or event.actor))
        for event in events
    ]
