"""The page of one task: why it is where it is, its way over the track, and its steps.

The page and its live parts are drawn by the same code; a part names itself by its id, and the
page's script puts it in place of the one it shows.
"""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from console import actions, queries
from console.access import Permission, needs
from console.actions import LEVERS, Lever
from console.guard import is_fragment
from console.pages import timeline, track
from console.pages.notes import done
from console.pages.words import lamp
from runtime import api
from runtime.api import EventView, SignalboxError, StepView, TaskDetail
from runtime.core.errors import UnknownTask
from runtime.core.reviews import Decision
from runtime.core.states import TERMINAL, State

WINDOW: Final = 200


@dataclass(frozen=True, slots=True)
class Window:
    """The events a page shows: those after `after`; `earlier` leads to the ones before."""

    after: int
    events: list[EventView]
    earlier: int | None
    later: int | None


@needs(Permission.VIEW_TASKS)
@require_safe
def task(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Show one task."""
    found = _found(task_id)
    lens = "events" if request.GET.get("lens") == "events" else "steps"
    window = _window(found, request.GET.get("after", ""))
    context = _parts(request, found) | {"lens": lens, "window": window}
    if lens == "steps":
        context["items"] = _items(found, window.events)
    return render(request, "tasks/task.html", context)


@needs(Permission.VIEW_TASKS)
@require_safe
def task_parts(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Give the parts of a task's page that have changed since an event.

    Items of the timeline that began before it are given again when something was added to them.
    """
    found = _found(task_id)
    after = _number(request.GET.get("after", ""), 0)
    shown_from = max(0, min(_number(request.GET.get("from", ""), 0), found.version))
    window = _window(found, str(max(shown_from, after - WINDOW)))
    items = [item for item in _items(found, window.events) if item.last_seq > after]
    return render(request, "tasks/parts.html", _parts(request, found) | {"items": items})


@needs(Permission.ACT_ON_TASKS)
@require_http_methods(["GET", "HEAD", "POST"])
def pull_lever(request: HttpRequest, task_id: UUID, name: str) -> HttpResponse:
    """Ask for the reason of a command; take it when it comes."""
    lever = LEVERS.get(name)
    if lever is None:
        raise Http404
    found = _found(task_id)
    reason = request.POST.get("reason", "")
    context = {"task": found, "lever": lever, "reason": reason}
    if request.method != "POST":
        return _dialog(request, context, 200)
    situation = _number(request.POST.get("situation", ""), -1)
    outcome = actions.pull(request, lever, task_id, reason, situation)
    if outcome.is_done:
        return done(request, outcome.said, "task", task_id=task_id)
    # Whatever it was, what the person typed stays, and the dialog carries what stands now.
    return _dialog(
        request, context | {"task": _found(task_id), "said": outcome.said}, outcome.status
    )


def _dialog(request: HttpRequest, context: dict[str, Any], status: int) -> HttpResponse:
    part = "#dialog" if is_fragment(request) else ""
    return render(request, f"tasks/lever.html{part}", context, status=status)


def _found(task_id: UUID) -> TaskDetail:
    try:
        return api.task(task_id)
    except UnknownTask as error:
        raise Http404(str(error)) from error


def _number(text: str, otherwise: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else otherwise  # noqa: PLR2004


def _window(found: TaskDetail, asked: str) -> Window:
    last = max(found.version - WINDOW, 0)
    after = min(_number(asked, last), found.version)
    events = api.events(found.id, after=after, limit=WINDOW)
    ends = events[-1].seq if events else after
    earlier = max(after - WINDOW, 0) if after else None
    later = ends if ends < found.version and len(events) == WINDOW else None
    return Window(after, events, earlier, later)


def _parts(request: HttpRequest, found: TaskDetail) -> dict[str, Any]:
    state = State(found.state)
    lease = queries.lease(found.id)
    went = queries.travelled(found.id, state)
    return {
        "task": found,
        "why": _why(found),
        "lamp": lamp(state, held=found.held, in_hand=bool(found.owner)),
        "levers": _levers(request, found),
        "drawings": track.draw(went.path, paused=found.held and state not in TERMINAL),
        "path_is_whole": went.whole,
        "lease": lease,
        "effects": api.effects(found.id),
        "reviews": queries.reviews_of(found.id),
        "limits": found.manifest.get("manifest", found.manifest).get("limits", {}),
    }


def _why(found: TaskDetail) -> str:
    try:
        # It begins with who did it, where somebody did.
        return api.why(found.id).sentence.removeprefix("human:")
    except SignalboxError as error:
        return str(error)


def _levers(request: HttpRequest, found: TaskDetail) -> list[Lever]:
    """List what can be done to it now; the server decides again when it is done."""
    if found.ended or not request.user.has_perm(f"console.{Permission.ACT_ON_TASKS}"):
        return []
    names = ["resume" if found.held else "pause"]
    if found.state == State.RETRYING or _offers_retry(found):
        names.append("retry")
    return [LEVERS[name] for name in (*names, "cancel")]


def _offers_retry(found: TaskDetail) -> bool:
    if found.review_id is None:
        return False
    try:
        item = api.review(found.review_id)
    except SignalboxError:
        return False
    return item.status == "open" and Decision.RETRY in item.allowed


def _items(found: TaskDetail, events: list[EventView]) -> list[timeline.Item]:
    steps = _steps(found, events)
    named = {event.call_id for event in events if "arguments" in event.payload}
    missing = [call_id for call_id in steps if call_id not in named]
    return timeline.tell(events, steps, queries.arguments_of(found.id, missing))


def _steps(found: TaskDetail, events: list[EventView]) -> dict[str, StepView]:
    """Give the completed calls of these events; results of others are not read."""
    calls = {event.call_id for event in events if event.call_id}
    if not calls:
        return {}
    first, steps = queries.first_position(found.id, calls), {}
    for step in api.step_results(found.id, after=first - 1, limit=WINDOW) if first else []:
        if step.call_id in calls:
            steps[step.call_id] = step
    return steps
