"""What the charts of the insights share: the range, the buckets, tables and links to lists."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from console.pages.charts import Axes, Drawing
from console.pages.figures import clock, count, day, instant
from console.pages.text import visible
from runtime.api import Counts, Series

_DAY_S: Final = 86_400


@dataclass(frozen=True, slots=True)
class Range:
    """How far back, in buckets how wide.

    Args:
        tick_s: Seconds between the marks of the time axis.
        words: What it is called.
        bucket: The width of a bucket in words.
    """

    name: str
    span_s: int
    width_s: int
    tick_s: int
    words: str | Promise
    bucket: str | Promise


RANGES: Final = {
    one.name: one
    for one in (
        Range("1h", 3600, 60, 600, gettext_lazy("1 hour"), gettext_lazy("per minute")),
        Range("24h", _DAY_S, 900, 10_800, gettext_lazy("24 hours"), gettext_lazy("per 15 minutes")),
        Range("7d", 7 * _DAY_S, 3600, _DAY_S, gettext_lazy("7 days"), gettext_lazy("per hour")),
    )
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of a table, and the list it counts."""

    words: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a table; `head` names it, and may be foreign text."""

    head: str
    cells: tuple[Cell, ...]
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers behind a chart."""

    heads: tuple[str, ...]
    lines: tuple[Line, ...]

    @property
    def body(self) -> SafeString:
        """The rows as markup: a template takes ten times as long for a thousand of them."""
        still_open = format_html(' <span class="sub">{}</span>', _("still open"))
        return format_html_join(
            "",
            '<tr><th scope="row"><bdi>{}</bdi>{}</th>{}</tr>',
            (
                (visible(line.head), still_open if line.is_open else "", _cells(line.cells))
                for line in self.lines
            ),
        )


def _cells(cells: Sequence[Cell]) -> SafeString:
    return format_html_join(
        "",
        '<td class="c-num num">{}</td>',
        (
            (
                format_html('<a href="{}">{}</a>', cell.href, cell.words)
                if cell.href
                else cell.words,
            )
            for cell in cells
        ),
    )


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart.

    Args:
        name: In ids.
        title: What it shows.
        unit: What its values are.
        said: The whole of it in a sentence; also what readers of screens hear.
        drawings: Wide and narrow.
        legend: Look and words of each row.
        is_empty: Nothing happened in the range.
        table: The same numbers, by bucket.
        by_name: The same by agent or tool.
        note: What else must be known to read it.
    """

    name: str
    title: str
    unit: str
    said: str
    drawings: tuple[Drawing, Drawing]
    legend: tuple[tuple[str, str], ...]
    is_empty: bool
    table: Table
    by_name: Table | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """What all charts of a page share.

    Args:
        begins: The beginnings of the buckets in the reader's zone.
        counts: What happened in each.
        named: What each is called.
    """

    series: Series
    range: Range
    agent: str
    begins: list[datetime] = field(init=False)
    counts: list[Counts] = field(init=False)
    named: dict[datetime, str] = field(init=False)

    def __post_init__(self) -> None:
        begins = self.series.begins()
        local = [timezone.localtime(begin) for begin in begins]
        object.__setattr__(self, "begins", local)
        object.__setattr__(self, "counts", [self.series.at(begin) for begin in begins])
        object.__setattr__(self, "named", {begin: self._name(begin) for begin in local})

    def axes(
        self,
        say_value: Callable[[float], str],
        *,
        whole: bool = True,
        top: float | None = None,
    ) -> Axes:
        """Give the axes of a chart."""
        return Axes(
            begins=self.begins,
            width_s=self.range.width_s,
            tick_s=self.range.tick_s,
            say_time=day if self.range.tick_s == _DAY_S else clock,
            say_bucket=self.named.__getitem__,
            say_value=say_value,
            whole=whole,
            top=top,
        )

    def _name(self, begin: datetime) -> str:
        """Name a bucket by its beginning."""
        return clock(begin) if self.range.span_s <= _DAY_S else f"{day(begin)} {clock(begin)}"

    def tasks(
        self,
        words: str,
        *,
        state: str = "",
        by: str = "ended",
        agent: str = "",
        begin: datetime | None = None,
    ) -> Cell:
        """Make a number that leads to the tasks it counts; a zero leads nowhere."""
        if words == count(0):
            return Cell(words)
        until = self.series.computed_at
        if begin is not None:
            until = begin + timedelta(seconds=self.range.width_s)
        wanted = {
            "state": state,
            "agent": agent or self.agent,
            "time": by,
            "since": instant(begin or self.series.since),
            "until": instant(until),
        }
        kept = {name: value for name, value in wanted.items() if value}
        return Cell(words, f"{reverse('tasks')}?{urlencode(kept)}")

    def by_bucket(
        self,
        heads: Sequence[str],
        cells: Callable[[datetime | None, Counts], Sequence[Cell] | None],
    ) -> Table:
        """List the buckets in which something happened, the newest first, below all of them.

        Args:
            heads: Of the numbers.
            cells: Gives the numbers of a bucket, or of the whole range where there is no beginning.
        """
        lines = []
        for begin, counts in zip(self.begins, self.counts, strict=True):
            found = cells(begin, counts) if counts.by else None
            if found is not None:
                is_open = begin == self.begins[-1]
                lines.append(Line(self.named[begin], tuple(found), is_open))
        whole = cells(None, self.series.total)
        if whole is not None:
            lines.append(Line(_("Whole range"), tuple(whole)))
        return Table((_("From"), *heads), tuple(reversed(lines)))
