"""The list of tasks: what needs attention first, then what runs, oldest first.

Filters live in the address.  Rows are updated in place by their own fragment; tasks that are new
to a page wait behind a button until its reader wants them, those that left its filter stay, greyed.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from console import demo, queries
from console.access import Permission, allowed, needs
from console.guard import is_fragment
from console.pages import task_columns, task_filters, task_views
from console.pages.frame import now_of
from console.pages.task_columns import Cell, Column
from console.pages.task_filters import Asked
from console.pages.words import FAMILIES, FAMILY_OF, FAMILY_WORDS, LAMP_OF_FAMILY, Lamp, lamp
from console.queries import TaskPage, TaskRow
from runtime.core.states import State

ROWS: Final = 50
MOST_ROWS_AT_ONCE: Final = 500
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
    """One row with its lamp, the partial that draws it, and its optional cells.

    Args:
        has_left: It does not belong to the view any more and keeps its place.
        may_select: Its reader can do something to it.
    """

    task: TaskRow
    lamp: Lamp
    template: str
    cells: Sequence[Cell] = ()
    has_left: bool = False
    may_select: bool = False


@dataclass(frozen=True, slots=True)
class Chip:
    """One state filter: how many there are, and whether it is on."""

    name: str
    words: str
    lamp: str
    count: int
    is_capped: bool
    is_on: bool


@dataclass(frozen=True, slots=True)
class Count:
    """How many, as far as anybody counts; None where counting takes too long."""

    number: int | None

    @property
    def shown(self) -> int:
        """The number, up to the cap."""
        return min(self.number or 0, queries.COUNTED)

    @property
    def is_capped(self) -> bool:
        """Whether there are more."""
        return self.number is not None and self.number > queries.COUNTED


@needs(Permission.VIEW_TASKS)
@require_safe
def task_list(request: HttpRequest) -> HttpResponse:
    """Show the list, a further page of it, or only its inside after a filter changed."""
    first = None if request.GET or is_fragment(request) else task_views.first_seen(request.user)
    if first is not None:
        return redirect(first.address)
    asked = _asked(request)
    page, count = None, Count(None)
    try:
        if not (asked.errors and is_fragment(request)):
            page, count, asked = _looked_at(asked, _place(request))
    except queries.BadCursor:
        return HttpResponseBadRequest(_("This address leads to no page of the list."))
    context = _context(request, asked, page) | {"count": count}
    if is_fragment(request):
        return _fragment(request, asked, context)
    context |= _around(request, asked)
    return render(request, "tasks/list.html", context, status=422 if asked.errors else 200)


def _fragment(request: HttpRequest, asked: Asked, context: dict[str, Any]) -> HttpResponse:
    if asked.errors:
        # The error stands at its field; the rows that were good stay where they are.
        response = render(
            request, "tasks/list.html#filters", context | _around(request, asked), status=422
        )
        response["HX-Retarget"], response["HX-Reswap"] = "#filters", "outerHTML"
        response["HX-Push-Url"] = "false"
        return response
    if _is_appended(request):
        return render(request, "tasks/list.html#more", context)
    response = render(request, "tasks/list.html#inside", context | _around(request, asked))
    response["HX-Push-Url"] = task_views.address(asked.query, context["view"])
    return response


@dataclass(frozen=True, slots=True)
class Place:
    """Which page of the list: the one after a row, or the one before it."""

    cursor: str
    is_before: bool


def _place(request: HttpRequest) -> Place:
    before = request.GET.get("before", "")
    return Place(before or request.GET.get("cursor", ""), is_before=bool(before))


def _is_appended(request: HttpRequest) -> bool:
    """Tell whether rows are asked for that go below those which a page shows."""
    return is_fragment(request) and "top" in request.GET


def _looked_at(asked: Asked, place: Place) -> tuple[TaskPage | None, Count, Asked]:
    try:
        with queries.patiently():
            found = queries.TaskList(asked.filter, asked.now)
            get = found.page_before if place.is_before else found.page
            return get(place.cursor, ROWS), Count(found.count()), asked
    except queries.TooSlow:
        field = "q" if asked.filter.q else "since"
        why = _("That takes too long to find. Narrow it by agent, state or time.")
        return None, Count(None), asked.with_error(field, why)


def _context(request: HttpRequest, asked: Asked, page: TaskPage | None) -> dict[str, Any]:
    view = task_views.chosen(request)
    shown = task_columns.columns(task_views.columns_of(request, view))
    rows = page.rows if page else ()
    before = page.before if page else ""
    # Below the rows of a page stand further ones; what is before it stays the same.
    top = request.GET["top"] if _is_appended(request) else before
    return {
        "asked": asked,
        "view": view,
        "kept": f"&view={view.id}" if view else "",
        "columns": shown,
        "lines": _lines(request, rows, shown, asked.now),
        "cursor": page.cursor if page else "",
        "before": top,
        "newest": page.newest if page else "",
        "is_loaded": page is not None,
        "is_further": bool(before),
        "width": 5 + len(shown) + int(_may_act(request)),
        "may_select": _may_act(request),
        "may_submit": allowed(request.user, Permission.SUBMIT_TASKS),
    }


def _around(request: HttpRequest, asked: Asked) -> dict[str, Any]:
    counted = queries.counts()
    is_first = not any(counted.values())
    return {
        "offers_demo": is_first and demo.is_offered(request),
        "chips": _chips(asked.given.get("state", ""), counted),
        "total": Count(sum(counted.values())),
        "agents": queries.agents(),
        "views": task_views.rail(request.user),
        "wait_words": task_filters.WAIT_WORDS,
        "sort_words": task_filters.SORT_WORDS,
        "spans": task_filters.SPANS,
        "may_save": request.user.is_authenticated,
    }


@needs(Permission.VIEW_TASKS)
@require_safe
def task_rows(request: HttpRequest) -> HttpResponse:
    """Give the present rows of the tasks a page shows, to be put in place of the old ones."""
    ids = _ids(request)
    asked = _asked(request)
    shown = task_columns.columns(task_views.columns_of(request, task_views.chosen(request)))
    try:
        with queries.patiently():
            fitting: Collection[UUID] = queries.TaskList(asked.filter, asked.now).fitting(ids)
    except queries.TooSlow:
        fitting = ids
    lines = _lines(request, queries.task_rows(ids), shown, asked.now, fitting)
    return render(request, "tasks/rows.html", {"lines": lines})


@needs(Permission.VIEW_TASKS)
@require_safe
def task_news(request: HttpRequest) -> HttpResponse:
    """Give the counts of all states, and how many tasks are new to a page's filter."""
    asked = _asked(request)
    try:
        newest = UUID(request.GET.get("newest", ""))
    except ValueError:
        return HttpResponseBadRequest(_("This address names no task to count from."))
    try:
        with queries.patiently():
            news = queries.TaskList(asked.filter, asked.now).news(newest)
    except queries.TooSlow:
        news = 0
    left = request.GET.get("left", "")
    return render(
        request,
        "tasks/news.html",
        {
            "asked": asked,
            "chips": _chips(asked.given.get("state", ""), queries.counts()),
            "news": news,
            "left": min(int(left), MOST_ROWS_AT_ONCE) if left.isdecimal() and len(left) < 5 else 0,  # noqa: PLR2004
            "address": task_views.address(asked.query, task_views.chosen(request)),
        },
    )


def line(row: TaskRow) -> Line:
    """Give a row its lamp and its partial."""
    family = FAMILY_OF[row.state]
    return Line(row, lamp(row.state, held=row.held, in_hand=row.in_hand), ROW_OF_FAMILY[family])


def _lines(
    request: HttpRequest,
    rows: Sequence[TaskRow],
    shown: Sequence[Column],
    now: datetime,
    fitting: Collection[UUID] | None = None,
) -> list[Line]:
    owners = [row.owner for row in rows if row.owner]
    workers = queries.worker_names(owners) if any(c.name == "worker" for c in shown) else {}
    may_select = _may_act(request)
    found = []
    for row in rows:
        plain = line(row)
        found.append(
            Line(
                row,
                plain.lamp,
                plain.template,
                task_columns.cells(row, shown, workers, now),
                has_left=fitting is not None and row.id not in fitting,
                may_select=may_select,
            )
        )
    return found


def _may_act(request: HttpRequest) -> bool:
    return allowed(request.user, Permission.ACT_ON_TASKS)


def _asked(request: HttpRequest) -> Asked:
    return task_filters.read(request.GET.dict(), now_of(request))


def _ids(request: HttpRequest) -> list[UUID]:
    found = []
    for text in request.GET.getlist("id")[:MOST_ROWS_AT_ONCE]:
        try:
            found.append(UUID(text))
        except ValueError:
            continue
    return found


def _chips(name: str, counted: dict[State, int]) -> list[Chip]:
    return [_chip(family, counted, name) for family in FAMILIES]


def _chip(family: str, counted: dict[State, int], name: str) -> Chip:
    count = sum(counted[state] for state in FAMILIES[family])
    return Chip(
        name=family,
        words=str(FAMILY_WORDS[family]),
        lamp=LAMP_OF_FAMILY[family] if count else "none",
        count=min(count, queries.COUNTED),
        is_capped=count >= queries.COUNTED,
        is_on=name == family,
    )
