"""The last hour in three figures, with the hour before behind each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.pages.figures import count, instant, percent, time_of
from console.pages.sparks import Spark, spark
from runtime import api
from runtime.api import Counts
from runtime.core.states import State

_MINUTES: Final = 60
_BIN: Final = 5
"""Minutes that a point of a drawing stands for."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the last hour.

    Args:
        unit: What it counts.
        beside: What else belongs to it.
        change: How the hour before was, in words.
        href: The list of what it counts.
        spark: None when neither hour holds anything.
    """

    name: str
    title: str
    number: str
    unit: str
    beside: str
    change: str
    href: str
    kind: str
    spark: Spark | None


@dataclass(frozen=True, slots=True)
class _Hours:
    now: Sequence[Counts]
    before: Sequence[Counts]

    @property
    def total(self) -> tuple[Counts, Counts]:
        return Counts.together(self.now), Counts.together(self.before)

    def spark(self, measure: Callable[[Counts], float | None]) -> Spark | None:
        rows = [[measure(part) for part in _bins(row)] for row in (self.now, self.before)]
        return spark(rows[0], rows[1])


def hour() -> list[Figure]:
    """Read the last two hours and word them."""
    series = api.series(2 * 3600, 60)
    minutes = [series.at(begin) for begin in series.begins()]
    hours = _Hours(minutes[_MINUTES:], minutes[:_MINUTES])
    since = series.begins()[_MINUTES]
    return [_throughput(hours, since), _failures(hours, since), _latency(hours)]


def _throughput(hours: _Hours, since: datetime) -> Figure:
    now, before = (total.of("task_ended") for total in hours.total)
    submitted = hours.total[0].of("task_submitted")
    return Figure(
        name="throughput",
        title=_("Throughput"),
        number=count(now),
        unit=ngettext("task ended", "tasks ended", now),
        beside=ngettext("%(n)s submitted", "%(n)s submitted", submitted) % {"n": count(submitted)},
        change=_more_or_fewer(now, before),
        href=_list(since),
        kind="done",
        spark=hours.spark(lambda part: part.of("task_ended")),
    )


def _failures(hours: _Hours, since: datetime) -> Figure:
    failed = State.TERMINATED_FAILED
    now, before = (total.of("task_ended", failed) for total in hours.total)
    ended = hours.total[0].of("task_ended")
    share = _("%(share)s of ended tasks") % {"share": percent(now / ended)} if ended else ""
    return Figure(
        name="failures",
        title=_("Failures"),
        number=count(now),
        unit=ngettext("task failed", "tasks failed", now),
        beside=share,
        change=_more_or_fewer(now, before),
        href=_list(since, state="failed"),
        kind="failed",
        spark=hours.spark(lambda part: part.of("task_ended", failed)),
    )


def _latency(hours: _Hours) -> Figure:
    now, before = (total.quantile("task_duration", 0.5) for total in hours.total)
    most = hours.total[0].quantile("task_duration", 0.95)
    return Figure(
        name="latency",
        title=_("Latency"),
        number=time_of(now),
        unit=_("half took at most about this") if now is not None else _("no task ended"),
        beside=_("95 %% at most about %(most)s") % {"most": time_of(most)} if most else "",
        change=_("none ended in the hour before")
        if before is None
        else _("%(half)s in the hour before") % {"half": time_of(before)},
        href="",
        kind="half",
        spark=hours.spark(lambda part: part.quantile("task_duration", 0.5)),
    )


def _more_or_fewer(now: int, before: int) -> str:
    if not before:
        return _("none in the hour before")
    number = {"n": count(abs(now - before))}
    if now > before:
        said = ngettext(
            "%(n)s more than in the hour before", "%(n)s more than in the hour before", now - before
        )
        return said % number
    if now < before:
        said = ngettext(
            "%(n)s fewer than in the hour before",
            "%(n)s fewer than in the hour before",
            before - now,
        )
        return said % number
    return _("as many as in the hour before")


def _bins(minutes: Sequence[Counts]) -> list[Counts]:
    starts = range(0, len(minutes), _BIN)
    return [Counts.together(minutes[start : start + _BIN]) for start in starts]


def _list(since: datetime, **more: str) -> str:
    wanted = {**more, "time": "ended", "since": instant(since)}
    return f"{reverse('tasks')}?{urlencode(wanted)}"
