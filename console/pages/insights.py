"""Insights: what happened over an hour, a day or a week, in charts with their numbers behind them.

Reads buckets that the sweep filled, never a table that grows.  Range and agent stand in the
address; every number that is a set of tasks leads to the list of exactly those.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext_lazy
from django.views.decorators.http import require_safe

from console import queries
from console.access import Permission, needs
from console.guard import is_fragment
from console.pages import charts
from console.pages.charts import Row
from console.pages.figures import capped, count, counted_words, percent, time_of
from console.pages.insight_page import RANGES, Cell, Chart, Line, Page, Table
from console.queries import watching
from runtime import api
from runtime.api import Counts
from runtime.core.states import State

DONE, FAILED, CANCELLED = (
    State.TERMINATED_SUCCESS.value,
    State.TERMINATED_FAILED.value,
    State.TERMINATED_ABORTED.value,
)
MOST_NAMES: Final = 12
LONGEST_AGENT: Final = 200
EVERY_S: Final = 60
"""An open page draws its charts anew after so long: no bucket is narrower."""


@needs(Permission.VIEW_METRICS)
@require_safe
def insights(request: HttpRequest) -> HttpResponse:
    """Show the charts of a range, of all agents or of one."""
    chosen = RANGES.get(request.GET.get("range", ""), RANGES["24h"])
    agent = request.GET.get("agent", "").replace("\x00", "").strip()[:LONGEST_AGENT]
    series = api.series(chosen.span_s, chosen.width_s, agent=agent)
    page = Page(series, chosen, agent)
    age_s = api.sweep_age_s()
    context = {
        "range": chosen,
        "agent": agent,
        "computed_at": series.computed_at,
        "counted_at": None if age_s is None else series.computed_at - timedelta(seconds=age_s),
        "charts": [draw(page) for draw in _CHARTS],
        "is_empty": not series.total.by,
        "behind": counted_words(age_s),
        "every_s": EVERY_S,
    }
    if is_fragment(request):
        return render(request, "insights/insights.html#inside", context)
    known = queries.agents()
    context |= {
        "ranges": RANGES.values(),
        "agents": known if not agent or agent in known else [agent, *known],
    }
    return render(request, "insights/insights.html", context)


# --- the charts ---------------------------------------------------------------------------------

_STATES: Final = (
    ("done", DONE, pgettext_lazy("tasks", "done")),
    ("failed", FAILED, pgettext_lazy("tasks", "failed")),
    ("ended", CANCELLED, pgettext_lazy("tasks", "cancelled")),
)


def _throughput(page: Page) -> Chart:
    slots, total = page.counts, page.series.total
    rows = [
        Row(kind, str(words), [slot.of("task_ended", state) for slot in slots])
        for kind, state, words in _STATES
    ]

    def cells(begin: datetime | None, slot: Counts) -> list[Cell] | None:
        if not slot.of("task_ended") and not slot.of("task_submitted"):
            return None
        ended = [
            page.tasks(count(slot.of("task_ended", state)), state=state, begin=begin)
            for _kind, state, _words in _STATES
        ]
        submitted = count(slot.of("task_submitted"))
        return [page.tasks(submitted, by="created", begin=begin), *ended]

    submitted, ended = total.of("task_submitted"), total.of("task_ended")
    return Chart(
        name="throughput",
        title=_("Throughput"),
        unit=_("ended tasks"),
        said=_("%(submitted)s submitted, %(ended)s ended: %(done)s done, %(failed)s failed.")
        % {
            "submitted": count(submitted),
            "ended": count(ended),
            "done": count(total.of("task_ended", DONE)),
            "failed": count(total.of("task_ended", FAILED)),
        },
        drawings=charts.stacked(page.axes(count), rows),
        legend=_legend(rows),
        is_empty=not ended,
        table=page.by_bucket((_("Submitted"), _("Done"), _("Failed"), _("Cancelled")), cells),
    )


def _failures(page: Page) -> Chart:
    rows = [Row("rate", _("failed"), [_rate(slot, "task_ended", FAILED) for slot in page.counts])]

    def cells(begin: datetime | None, slot: Counts) -> list[Cell] | None:
        if not slot.of("task_ended"):
            return None
        failed, ended = slot.of("task_ended", FAILED), slot.of("task_ended")
        return [
            page.tasks(count(ended), begin=begin),
            page.tasks(count(failed), state=FAILED, begin=begin),
            Cell(percent(failed / ended)),
        ]

    rate = _rate(page.series.total, "task_ended", FAILED)
    return Chart(
        name="failures",
        title=_("Failures"),
        unit=_("failed of ended tasks"),
        said=_("No task ended.")
        if rate is None
        else _("%(rate)s of ended tasks failed.") % {"rate": percent(rate)},
        drawings=charts.lines(page.axes(percent, whole=False, top=_top(rows)), rows),
        legend=_legend(rows),
        is_empty=rate is None,
        table=page.by_bucket((_("Ended"), _("Failed"), _("Share")), cells),
        by_name=_by_agent(page),
    )


def _by_agent(page: Page) -> Table:
    found = [
        (name, counts)
        for (family, name), counts in page.series.names.items()
        if family == "task" and counts.of("task_ended")
    ]
    found.sort(key=lambda one: (-one[1].of("task_ended", FAILED), -one[1].of("task_ended"), one[0]))
    lines = []
    for name, counts in found[:MOST_NAMES]:
        failed, ended = counts.of("task_ended", FAILED), counts.of("task_ended")
        cells = (
            page.tasks(count(ended), agent=name),
            page.tasks(count(failed), state=FAILED, agent=name),
            Cell(percent(failed / ended)),
            Cell(time_of(counts.quantile("task_duration", 0.95))),
        )
        lines.append(Line(name, cells))
    return Table((_("Agent"), _("Ended"), _("Failed"), _("Share"), _("p95")), tuple(lines))


def _latency(page: Page) -> Chart:
    return _spans(
        page,
        "task_duration",
        name="latency",
        title=_("Task latency"),
        unit=_("from submission to the end, logarithmic"),
        is_of_all=True,
    )


def _queue(page: Page) -> Chart:
    return _spans(
        page,
        "queue_wait",
        name="queue",
        title=_("Queue wait"),
        unit=_("from submission to the first step, logarithmic"),
        note=_("Counted when a task ends. A later start that was asked for counts as a wait."),
    )


def _spans(  # noqa: PLR0913 (the words of one chart)
    page: Page,
    kind: str,
    *,
    name: str,
    title: str,
    unit: str,
    note: str = "",
    is_of_all: bool = False,
) -> Chart:
    """Draw a span of tasks; `is_of_all` says that every task that ended has one."""
    slots, total = page.counts, page.series.total
    rows = [
        Row("half", _("p50"), [slot.quantile(kind, 0.5) for slot in slots]),
        Row("most", _("p95"), [slot.quantile(kind, 0.95) for slot in slots]),
    ]

    def cells(begin: datetime | None, slot: Counts) -> list[Cell] | None:
        if not slot.of(kind):
            return None
        quantiles = [Cell(time_of(slot.quantile(kind, share))) for share in (0.5, 0.95)]
        measured = count(slot.of(kind))
        return [page.tasks(measured, begin=begin) if is_of_all else Cell(measured), *quantiles]

    half, most = total.quantile(kind, 0.5), total.quantile(kind, 0.95)
    said = _("Half took at most about %(half)s, 95 %% at most about %(most)s.")
    return Chart(
        name=name,
        title=title,
        unit=unit,
        said=_("Nothing was measured.")
        if half is None
        else said % {"half": time_of(half), "most": time_of(most)},
        drawings=charts.spans(page.axes(time_of, whole=False), rows),
        legend=_legend(rows),
        is_empty=half is None,
        table=page.by_bucket((_("Measured"), _("p50"), _("p95")), cells),
        note=note,
    )


_CALLS: Final = (
    ("done", "succeeded", pgettext_lazy("calls", "succeeded")),
    ("failed", "failed", pgettext_lazy("calls", "failed")),
    ("ended", "skipped", pgettext_lazy("calls", "skipped")),
)


def _tools(page: Page) -> Chart:
    slots, total = page.counts, page.series.total
    rows = [
        Row(kind, str(words), [slot.of("tool_call", outcome) for slot in slots])
        for kind, outcome, words in _CALLS
    ]

    def cells(_begin: datetime | None, slot: Counts) -> list[Cell] | None:
        if not slot.of("tool_call") and not slot.of("review_opened", "in_doubt"):
            return None
        outcomes = [Cell(count(slot.of("tool_call", outcome))) for _k, outcome, _w in _CALLS]
        return [*outcomes, Cell(count(slot.of("review_opened", "in_doubt")))]

    notes = [_("Calls are counted when their task ends.")]
    if page.agent:
        notes.append(_("Calls of all agents are shown: a tool is not counted by agent."))
    return Chart(
        name="tools",
        title=_("Tool calls"),
        unit=_("completed calls"),
        said=_("%(calls)s calls, %(failed)s of them failed; %(doubt)s came in doubt.")
        % {
            "calls": count(total.of("tool_call")),
            "failed": count(total.of("tool_call", "failed")),
            "doubt": count(total.of("review_opened", "in_doubt")),
        },
        drawings=charts.stacked(page.axes(count), rows),
        legend=_legend(rows),
        is_empty=not total.of("tool_call"),
        table=page.by_bucket(
            (_("Succeeded"), _("Failed"), _("Skipped"), _("Came in doubt")), cells
        ),
        by_name=_by_tool(page),
        note=" ".join(notes),
    )


def _by_tool(page: Page) -> Table:
    found = [
        (name, counts)
        for (family, name), counts in page.series.names.items()
        if family == "tool" and counts.of("tool_call")
    ]
    found.sort(key=lambda one: (-one[1].of("tool_call"), one[0]))
    lines = []
    for name, counts in found[:MOST_NAMES]:
        calls, failed = counts.of("tool_call"), counts.of("tool_call", "failed")
        cells = (
            Cell(count(calls)),
            Cell(percent(failed / calls)),
            Cell(time_of(counts.quantile("tool_duration", 0.5))),
            Cell(time_of(counts.quantile("tool_duration", 0.95))),
        )
        lines.append(Line(name, cells))
    return Table((_("Tool"), _("Calls"), _("Failed"), _("p50"), _("p95")), tuple(lines))


def _reviews(page: Page) -> Chart:
    slots, total = page.counts, page.series.total
    rows = [
        Row("half", _("p50"), [slot.quantile("review_wait", 0.5) for slot in slots]),
        Row("most", _("p95"), [slot.quantile("review_wait", 0.95) for slot in slots]),
    ]

    def cells(_begin: datetime | None, slot: Counts) -> list[Cell] | None:
        opened, decided = slot.of("review_opened"), slot.of("review_wait")
        if not opened and not slot.of("review_closed"):
            return None
        withdrawn = slot.of("review_closed", "withdrawn")
        quantiles = [Cell(time_of(slot.quantile("review_wait", share))) for share in (0.5, 0.95)]
        return [Cell(count(opened)), Cell(count(decided)), Cell(count(withdrawn)), *quantiles]

    return Chart(
        name="reviews",
        title=_("Reviews"),
        unit=_("until the decision, logarithmic"),
        said=_review_words(total, watching.review_ages(page.agent)),
        drawings=charts.spans(page.axes(time_of, whole=False), rows),
        legend=_legend(rows),
        is_empty=not total.of("review_wait"),
        table=page.by_bucket(
            (_("Opened"), _("Decided"), _("Withdrawn"), _("p50"), _("p95")), cells
        ),
    )


def _review_words(total: Counts, ages_s: Sequence[float]) -> str:
    """Say how many came and went, and how old those are that still wait."""
    said = _("%(opened)s opened, %(decided)s decided.") % {
        "opened": count(total.of("review_opened")),
        "decided": count(total.of("review_wait")),
    }
    if not ages_s:
        return f"{said} {_('None waits now.')}"
    waits = ngettext(
        "%(n)s waits now, for %(half)s.",
        "%(n)s wait now, half of them for more than %(half)s, the longest for %(longest)s.",
        len(ages_s),
    )
    ordered = sorted(ages_s)
    facts = {
        "n": capped(len(ordered)),
        "half": time_of(ordered[len(ordered) // 2]),
        "longest": time_of(ordered[-1]),
    }
    return f"{said} {waits % facts}"


#: Beside each other stand those that are as tall.
_CHARTS: Final = (_throughput, _latency, _failures, _tools, _reviews, _queue)


def _rate(counts: Counts, kind: str, word: str) -> float | None:
    number = counts.of(kind)
    return counts.of(kind, word) / number if number else None


def _top(rows: Sequence[Row]) -> float:
    """Give a share its axis: all of it, or less where everything is far below."""
    highest = max((value for row in rows for value in row.values if value is not None), default=0)
    return next(top for top in (0.04, 0.2, 0.4, 1.0) if highest <= top)


def _legend(rows: Sequence[Row]) -> tuple[tuple[str, str], ...]:
    return tuple((row.kind, row.words) for row in rows)
