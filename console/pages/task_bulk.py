"""Doing something to many tasks: which exactly, why, and what came of each.

What was selected comes with the versions that were on the screen; nothing is done by a filter.
"""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID, uuid4

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render, resolve_url
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from console import bulk, queries
from console.access import Permission, needs
from console.actions import LEVERS, Lever
from console.bulk import Chosen
from console.guard import is_fragment
from console.models import BulkRun
from console.pages import task_list
from console.pages.task_list import Line

#: The levers that can be pulled for many, in the order of their buttons.
NAMES: Final = ("pause", "resume", "retry", "cancel")
RESULT_WORDS: Final[dict[str, Any]] = {
    "done": gettext_lazy("done"),
    "skipped": gettext_lazy("skipped"),
    "refused": gettext_lazy("refused"),
    "": gettext_lazy("not reached yet"),
}
#: What went otherwise comes first: it is what its reader must look at.
_FIRST: Final = ("refused", "skipped", "", "done")


@dataclass(frozen=True, slots=True)
class Target:
    """One task that was selected, as it stands now.

    Args:
        line: Its row; None when there is no such task.
        has_moved: It is further than it was on the screen.
    """

    chosen: Chosen
    line: Line | None
    has_moved: bool


@dataclass(frozen=True, slots=True)
class Reported:
    """What came of one task."""

    task_id: UUID
    name: str
    result: str
    words: str
    said: str


@needs(Permission.ACT_ON_TASKS)
@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: HttpRequest) -> HttpResponse:
    """Ask whether it is really meant, naming how many and which; nothing is done yet."""
    if request.method != "POST":
        return redirect("tasks")
    return _ask(request, {}, 200)


@needs(Permission.ACT_ON_TASKS)
@require_http_methods(["GET", "HEAD", "POST"])
def run(request: HttpRequest) -> HttpResponse:
    """Do it, once however often the form is sent."""
    if request.method != "POST":
        return redirect("tasks")
    lever, chosen = _lever(request), bulk.read(request.POST.getlist("task"))
    errors = _errors(request, lever, chosen)
    try:
        key = UUID(request.POST.get("key", ""))
    except ValueError:
        raise Http404 from None
    if errors:
        return _ask(request, errors, 422)
    reason = request.POST.get("reason", "").strip()
    begun = bulk.begin(request, key=key, lever=lever.name, reason=reason, chosen=chosen)
    if begun is None:
        raise Http404
    bulk.carry_on(request, begun)
    return _report(request, begun)


@needs(Permission.ACT_ON_TASKS)
@require_http_methods(["GET", "HEAD", "POST"])
def report(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Tell what came of a run; a POST carries on what is left of it."""
    found = BulkRun.objects.filter(pk=run_id, owner_id=request.user.pk).first()
    if found is None:
        raise Http404
    if request.method == "POST":
        bulk.carry_on(request, found)
        return _report(request, found)
    return render(request, "tasks/report.html", _told(found))


def _lever(request: HttpRequest) -> Lever:
    name = request.POST.get("lever", "")
    if name not in NAMES:
        raise Http404
    return LEVERS[name]


def _errors(request: HttpRequest, lever: Lever, chosen: list[Chosen]) -> dict[str, str]:
    found = {}
    if not chosen or len(chosen) > bulk.MOST:
        found["chosen"] = _chosen_error(chosen)
    if not request.POST.get("reason", "").strip():
        found["reason"] = _("Say why: the reason is kept with each task.")
    if _must_type(lever, chosen) and request.POST.get("typed", "").strip() != str(len(chosen)):
        found["typed"] = _("Type %(number)d to say that you mean all of them.") % {
            "number": len(chosen)
        }
    return found


def _chosen_error(chosen: list[Chosen]) -> str:
    if not chosen:
        return _("Select tasks first.")
    return _("Select at most %(most)d tasks at once.") % {"most": bulk.MOST}


def _must_type(lever: Lever, chosen: list[Chosen]) -> bool:
    return lever.is_destructive and len(chosen) > bulk.TYPED_ABOVE


def _ask(request: HttpRequest, errors: dict[str, str], status: int) -> HttpResponse:
    lever, chosen = _lever(request), bulk.read(request.POST.getlist("task"))
    if not chosen or len(chosen) > bulk.MOST:
        errors, status, chosen = {"chosen": _chosen_error(chosen)}, 422, []
    context = {
        "lever": lever,
        "question": _question(lever, len(chosen)),
        "does": _does(lever, len(chosen)),
        "targets": _targets(chosen),
        "must_type": _must_type(lever, chosen),
        "key": request.POST.get("key") or uuid4(),
        "reason": request.POST.get("reason", ""),
        "typed": request.POST.get("typed", ""),
        "errors": errors,
    }
    part = "#dialog" if is_fragment(request) else ""
    return render(request, f"tasks/bulk.html{part}", context, status=status)


def _question(lever: Lever, number: int) -> str:
    asks = {
        "pause": ngettext("Pause %(number)d task?", "Pause %(number)d tasks?", number),
        "resume": ngettext("Resume %(number)d task?", "Resume %(number)d tasks?", number),
        "retry": ngettext("Retry %(number)d task now?", "Retry %(number)d tasks now?", number),
        "cancel": ngettext("Cancel %(number)d task?", "Cancel %(number)d tasks?", number),
    }
    return asks[lever.name] % {"number": number}


def _does(lever: Lever, number: int) -> str:
    does = {
        "pause": ngettext("Pause %(number)d task", "Pause %(number)d tasks", number),
        "resume": ngettext("Resume %(number)d task", "Resume %(number)d tasks", number),
        "retry": ngettext("Retry %(number)d task", "Retry %(number)d tasks", number),
        "cancel": ngettext("Cancel %(number)d task", "Cancel %(number)d tasks", number),
    }
    return does[lever.name] % {"number": number}


def _targets(chosen: list[Chosen]) -> list[Target]:
    rows = {row.id: row for row in queries.task_rows([one.task_id for one in chosen])}
    found = []
    for one in chosen:
        row = rows.get(one.task_id)
        has_moved = row is not None and row.seq != one.version
        found.append(Target(one, task_list.line(row) if row else None, has_moved))
    return found


def _report(request: HttpRequest, found: BulkRun) -> HttpResponse:
    if not is_fragment(request):
        return HttpResponseRedirect(resolve_url("task_bulk_report", run_id=found.pk))
    response = render(request, "tasks/report.html#dialog", _told(found))
    response["HX-Trigger"] = "signalbox:acted"
    return response


def _told(found: BulkRun) -> dict[str, Any]:
    items = list(found.items.all())
    names = queries.names_of(item.task_id for item in items)
    told = [
        Reported(
            item.task_id,
            names.get(item.task_id, str(item.task_id)),
            item.result,
            str(RESULT_WORDS[item.result]),
            item.said,
        )
        for item in items
    ]
    counts = {result: sum(one.result == result for one in told) for result in _FIRST}
    return {
        "run": found,
        "lever": LEVERS[found.lever],
        "told": sorted(told, key=lambda one: _FIRST.index(one.result)),
        "done": counts["done"],
        "skipped": counts["skipped"],
        "refused": counts["refused"],
        "left": counts[""],
        "total": len(told),
    }
