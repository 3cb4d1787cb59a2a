"""The page of one task: why it is where it is, its way over the track, and its tabs.

The page and its live parts are drawn by the same code; a part names itself by its id, and the
page's script puts it in place of the one it shows.
"""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from console import audit, queries
from console.access import Permission, needs
from console.actions import account
from console.audit import Act
from console.http.export import stream
from console.middleware import request_id
from console.pages import task_facts, task_tabs, task_window, track
from console.pages.task_facts import Facts
from console.pages.task_lever import levers
from console.pages.task_window import number
from runtime import api
from runtime.api import EventView
from runtime.core.events import EventType
from runtime.core.states import TERMINAL, State

_PAPER_EVENTS: Final = 1000
_OF_REVIEWS: Final = frozenset(
    {EventType.REVIEW_REQUESTED, EventType.REVIEW_CLOSED, EventType.HUMAN_ANSWERED}
)


@needs(Permission.VIEW_TASKS)
@require_safe
def task(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Show one task."""
    facts = task_facts.read(task_facts.found(task_id))
    shown = _parts(request, facts)
    return render(request, "tasks/task.html", shown | _tab(request, facts, shown["tab"]))


@needs(Permission.VIEW_TASKS)
@require_safe
def task_parts(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Give the parts of a task's page that have changed since an event.

    Items of the timeline that began before it are given again when something was added to them.
    """
    facts = task_facts.read(task_facts.found(task_id))
    shown = _parts(request, facts)
    since = number(request.GET.get("since", ""), 0)
    shown["is_part"] = True
    if shown["tab"] == task_tabs.FIRST:
        shown |= _news(request, facts, since)
    elif shown["tab"] in task_tabs.STILL:
        shown["fresh"] = max(facts.task.version - since, 0)
    else:
        shown |= _tab(request, facts, shown["tab"])
    return render(request, "tasks/parts.html", shown)


@needs(Permission.VIEW_TASKS)
@require_POST
def task_export(request: HttpRequest, task_id: UUID) -> StreamingHttpResponse:
    """Send the whole of a task as JSON lines; posted, because who takes it is kept."""
    task = task_facts.found(task_id)
    act = Act(
        actor=account(request.user),
        action="payload.download",
        object=f"task:{task_id}",
        request_id=request_id(request),
    )
    audit.record(act, "done", "the whole task")
    return stream(request, task)


@needs(Permission.VIEW_TASKS)
@require_safe
def task_paper(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Show a task with everything opened, for a printer."""
    facts = task_facts.read(task_facts.found(task_id))
    after = max(facts.task.version - _PAPER_EVENTS, 0)
    events = api.events(facts.task.id, after=after, limit=_PAPER_EVENTS)
    names = [tab.name for tab in task_tabs.tabs(facts)]
    shown = _parts(request, facts) | {"items": task_window.items(facts.task, events)}
    for name in ("effects", "undo", "artifacts", "reviews", "lease", "manifest"):
        if name in names:
            shown |= task_tabs.content(name, facts, request)
    return render(request, "tasks/paper.html", shown | {"left_out": after, "names": names})


def _parts(request: HttpRequest, facts: Facts) -> dict[str, Any]:
    task, tabs = facts.task, task_tabs.tabs(facts)
    asked = request.GET.get("tab", "")
    paused = task.held and task.state not in TERMINAL
    return {
        "task": task,
        # What stands below it is written hundreds of times on a page; looked up once.
        "here": reverse("task", args=[task.id]),
        "facts": facts,
        "lamp": facts.lamp,
        "why": facts.why,
        "lease": facts.lease,
        "limits": facts.limits,
        "levers": levers(request, task),
        "findings": task_facts.diagnosis(facts),
        "drawings": track.draw(facts.journey, paused=paused),
        "tabs": tabs,
        "tab": asked if asked in {tab.name for tab in tabs} else task_tabs.FIRST,
        "has_failed": task.state == State.TERMINATED_FAILED,
    }


def _tab(request: HttpRequest, facts: Facts, name: str) -> dict[str, Any]:
    return task_tabs.content(name, facts, request) | {"panel": f"tasks/tabs/{name}.html"}


def _news(request: HttpRequest, facts: Facts, since: int) -> dict[str, Any]:
    """Give what came since an event, for a timeline that grows, and say how much that is."""
    shown_from = max(0, min(number(request.GET.get("from", ""), 0), facts.task.version))
    start = max(shown_from, since - task_window.WINDOW)
    events = api.events(facts.task.id, after=max(since, start), limit=2 * task_window.WINDOW)
    fresh = max(facts.task.version - since, 0)
    # A burst comes in several parts; the page asks again until it has all of it.
    upto = events[-1].seq if events and request.GET.get("lens") != "json" else facts.task.version
    told: dict[str, Any] = {"fresh": fresh, "upto": upto}
    events = [*_touched(facts, events, start, since), *events]
    if request.GET.get("lens") == "events":
        return told | {"rows": [r for r in task_window.rows(events) if r.event.seq > since]}
    if request.GET.get("lens") == "json":
        return told
    items = task_window.items(facts.task, events)
    return told | {"items": [item for item in items if item.last_seq > since]}


def _touched(facts: Facts, fresh: Sequence[EventView], start: int, since: int) -> list[EventView]:
    """Read what came before and belongs to something that was added to.

    A task at work asks several times a second; what is told again must not be all it ever did.
    """
    calls = {event.call_id for event in fresh if event.call_id}
    return queries.touched(facts.task.id, start, since, calls, _OF_REVIEWS)
