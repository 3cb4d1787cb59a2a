"""The list of tasks: what needs attention first, then what runs, oldest first.

Filters live in the address.  Rows are updated in place by their own fragment; tasks that are new to
a page wait behind a button until its reader wants them.
"""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console import queries
from console.access import Permission, needs
from console.guard import is_fragment
from console.pages.words import FAMILIES, FAMILY_OF, FAMILY_WORDS, LAMP_OF_FAMILY, Lamp, lamp
from console.queries import Filter, TaskRow
from runtime.core.states import State

ROWS: Final = 50
MOST_ROWS_AT_ONCE: Final = 500
LONGEST_Q: Final = 200
#: The partial that draws a row, for each family of states.
ROW_OF_FAMILY: Final[dict[str, str]] = {
    "moving": "tasks/rows/moving.html",
    "retrying": "tasks/rows/waiting.html",
    "waiting": "tasks/rows/waiting.html",
    "person": "tasks/rows/person.html",
    "done": "tasks/rows/ended.html",
    "failed": "tasks/rows/ended.html",
    "ended": "tasks/rows/ended.html",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One row with its lamp and the partial that draws it."""

    task: TaskRow
    lamp: Lamp
    template: str


@dataclass(frozen=True, slots=True)
class Chip:
    """One state filter: how many there are, and whether it is on."""

    name: str
    words: str
    lamp: str
    count: int
    is_capped: bool
    is_on: bool


@needs(Permission.VIEW_TASKS)
@require_safe
def task_list(request: HttpRequest) -> HttpResponse:
    """Show the list, a further page of it, or only its inside after a filter changed."""
    wanted, name = _filter(request)
    cursor = request.GET.get("cursor", "")
    try:
        page = queries.task_page(wanted, cursor, ROWS)
    except queries.BadCursor:
        return HttpResponseBadRequest("This address leads to no page of the list.")
    context = {
        "lines": [line(row) for row in page.rows],
        "cursor": page.cursor,
        "newest": page.newest,
        "state": name,
        "agent": wanted.agent,
        "q": wanted.q,
        "is_filtered": bool(name or wanted.agent or wanted.q),
    }
    if is_fragment(request) and cursor:
        return render(request, "tasks/list.html#more", context)
    context |= {"chips": _chips(name), "agents": queries.agents()}
    return render(
        request, "tasks/list.html#inside" if is_fragment(request) else "tasks/list.html", context
    )


@needs(Permission.VIEW_TASKS)
@require_safe
def task_rows(request: HttpRequest) -> HttpResponse:
    """Give the present rows of the tasks a page shows, to be put in place of the old ones."""
    ids = _ids(request)
    return render(
        request, "tasks/rows.html", {"lines": [line(row) for row in queries.task_rows(ids)]}
    )


@needs(Permission.VIEW_TASKS)
@require_safe
def task_news(request: HttpRequest) -> HttpResponse:
    """Give the counts of all states, and how many tasks are new to a page's filter."""
    wanted, name = _filter(request)
    try:
        newest = UUID(request.GET.get("newest", ""))
    except ValueError:
        return HttpResponseBadRequest("This address names no task to count from.")
    return render(
        request,
        "tasks/news.html",
        {"chips": _chips(name), "news": queries.news(wanted, newest)},
    )


def line(row: TaskRow) -> Line:
    """Give a row its lamp and its partial."""
    family = FAMILY_OF[row.state]
    return Line(row, lamp(row.state, held=row.held, in_hand=row.in_hand), ROW_OF_FAMILY[family])


def _filter(request: HttpRequest) -> tuple[Filter, str]:
    """Read the filter from the address; a word it does not know filters nothing."""
    name = request.GET.get("state", "")
    states: tuple[State, ...] = ()
    if name in FAMILIES:
        states = FAMILIES[name]
    elif name in set(State):
        states = (State(name),)
    else:
        name = ""
    agent = _text(request, "agent")
    return Filter(states=states, agent=agent, q=_text(request, "q")), name


def _text(request: HttpRequest, name: str) -> str:
    return request.GET.get(name, "").replace("\x00", "").strip()[:LONGEST_Q]


def _ids(request: HttpRequest) -> list[UUID]:
    found = []
    for text in request.GET.getlist("id")[:MOST_ROWS_AT_ONCE]:
        try:
            found.append(UUID(text))
        except ValueError:
            continue
    return found


def _chips(name: str) -> list[Chip]:
    counted: dict[State, int] = queries.counts()
    return [_chip(family, counted, name) for family in FAMILIES]


def _chip(family: str, counted: dict[State, int], name: str) -> Chip:
    count = sum(counted[state] for state in FAMILIES[family])
    return Chip(
        name=family,
        words=FAMILY_WORDS[family],
        lamp=LAMP_OF_FAMILY[family] if count else "none",
        count=min(count, queries.COUNTED),
        is_capped=count >= queries.COUNTED,
        is_on=name == family,
    )
