"""Charts as drawings for a template: bars that stand on each other, and lines, over time.

Pure: numbers and instants in, paths and texts out, in the caller's words and zone.  Each chart is
drawn twice, wide and narrow, and the stylesheet shows one.  The bucket that is still open is drawn
open, and where nothing was observed there is a gap, never a zero.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from django.utils.html import format_html_join
from django.utils.safestring import SafeString

type Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of numbers over the buckets.

    Args:
        kind: How it looks: a name of the stylesheet's.
        words: What it is.
        values: One for each bucket; None where nothing was observed.
    """

    kind: str
    words: str
    values: Values


@dataclass(frozen=True, slots=True)
class Axes:
    """What a chart is drawn on.

    Args:
        begins: The beginning of each bucket in the reader's zone; the last one is still open.
        width_s: Seconds that a bucket spans.
        tick_s: Seconds between the marks of the time axis, counted from midnight.
        say_time: Words for a mark of the time axis.
        say_bucket: Words for the time that a bucket spans.
        say_value: Words for a mark of the other axis, and for a value.
        whole: Values are counts, so marks are whole numbers.
        top: The highest value, if it is known beforehand, as for shares.
    """

    begins: Sequence[datetime]
    width_s: int
    tick_s: int
    say_time: Callable[[datetime], str]
    say_bucket: Callable[[datetime], str]
    say_value: Callable[[float], str]
    whole: bool = True
    top: float | None = None


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis, with its words."""

    at: float
    words: str


@dataclass(frozen=True, slots=True)
class Mark:
    """What is drawn for one row: what is settled, and what may still change."""

    kind: str
    path: str
    open_path: str
    dots: tuple[tuple[float, float, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class Drawing:
    """One size of a chart; `left`, `top`, `right` and `bottom` bound its plot.

    Args:
        hits: Where each bucket can be pointed at and what it then says, as markup: a template
            takes ten times as long for a thousand of them.
    """

    name: str
    width: int
    height: int
    left: int
    top: int
    right: int
    bottom: int
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    marks: tuple[Mark, ...]
    hits: SafeString

    @property
    def tall(self) -> int:
        """Height of the plot."""
        return self.bottom - self.top

    @property
    def middle(self) -> tuple[int, int]:
        """Middle of the plot."""
        return (self.left + self.right) // 2, (self.top + self.bottom) // 2


@dataclass(frozen=True, slots=True)
class _Size:
    name: str
    width: int
    height: int
    left: int
    x_ticks: int
    y_ticks: int


_WIDE: Final = _Size("wide", 480, 170, 48, 9, 5)
_NARROW: Final = _Size("narrow", 270, 160, 44, 4, 4)
_TOP, _BELOW, _RIGHT = 12, 26, 8
_GAP: Final = 0.22
_LEAST: Final = 1e-9
"""What is smaller is nothing to a reader, and to the logarithm of a mark no number."""
"""The part of a bucket that is left free between bars."""
_LOG_TICKS: Final = (
    *(0.001, 0.01, 0.1, 1.0, 10.0, 60.0, 600.0, 3600.0),
    *(6 * 3600.0, 86_400.0, 7 * 86_400.0, 30 * 86_400.0),
)


def stacked(axes: Axes, rows: Sequence[Row]) -> tuple[Drawing, Drawing]:
    """Draw rows of counts as bars that stand on each other, the first row below."""
    sums = [sum(row.values[at] or 0 for row in rows) for at in range(len(axes.begins))]
    ticks = _even(max(sums, default=0), axes)
    return _both(axes, ticks, _linear(ticks), lambda plot: _bars(plot, rows), rows)


def lines(axes: Axes, rows: Sequence[Row]) -> tuple[Drawing, Drawing]:
    """Draw rows as lines from zero upwards."""
    ticks = _even(_highest(rows), axes)
    return _both(axes, ticks, _linear(ticks), lambda plot: _lines(plot, rows), rows)


def spans(axes: Axes, rows: Sequence[Row]) -> tuple[Drawing, Drawing]:
    """Draw rows of durations in seconds as lines over a logarithmic axis."""
    ticks = _decades([value for row in rows for value in row.values if value is not None])
    low, high = math.log(ticks[0]), math.log(ticks[-1])

    def place(value: float) -> float:
        return (math.log(min(max(value, ticks[0]), ticks[-1])) - low) / (high - low)

    return _both(axes, ticks, place, lambda plot: _lines(plot, rows), rows)


# --- axes ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Plot:
    size: _Size
    axes: Axes
    place: Callable[[float], float]

    @property
    def right(self) -> int:
        return self.size.width - _RIGHT

    @property
    def bottom(self) -> int:
        return self.size.height - _BELOW

    @property
    def step(self) -> float:
        return (self.right - self.size.left) / max(len(self.axes.begins), 1)

    def x(self, at: float) -> float:
        return round(self.size.left + at * self.step, 1)

    def y(self, value: float) -> float:
        share = self.place(value)
        return round(self.bottom - share * (self.bottom - _TOP), 1)


def _linear(ticks: Sequence[float]) -> Callable[[float], float]:
    return lambda value: value / ticks[-1]


def _highest(rows: Sequence[Row]) -> float:
    return max((value for row in rows for value in row.values if value is not None), default=0)


def _even(highest: float, axes: Axes) -> list[float]:
    """Give marks at round values from zero to above the highest."""
    if axes.top is not None:
        return [axes.top * part / 4 for part in range(5)]
    if highest < _LEAST:
        return [0.0, 1.0]
    raw = highest / 4
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw)
    if axes.whole:
        step = max(math.ceil(step), 1)
    return [step * n for n in range(math.ceil(highest / step) + 1)]


def _decades(values: Sequence[float]) -> list[float]:
    """Give marks that people know as durations, around the values."""
    low, high = (min(values), max(values)) if values else (1.0, 60.0)
    first = max((n for n, mark in enumerate(_LOG_TICKS) if mark <= low), default=0)
    last = min(
        (n for n, mark in enumerate(_LOG_TICKS) if mark >= high), default=len(_LOG_TICKS) - 1
    )
    last = max(last, first + 1)
    if last == len(_LOG_TICKS):
        first, last = first - 1, last - 1
    return list(_LOG_TICKS[first : last + 1])


def _both(
    axes: Axes,
    ticks: Sequence[float],
    place: Callable[[float], float],
    draw: Callable[[_Plot], Iterator[Mark]],
    rows: Sequence[Row],
) -> tuple[Drawing, Drawing]:
    wide, narrow = (
        _drawing(_Plot(size, axes, place), ticks, draw, rows) for size in (_WIDE, _NARROW)
    )
    return wide, narrow


def _drawing(
    plot: _Plot,
    ticks: Sequence[float],
    draw: Callable[[_Plot], Iterator[Mark]],
    rows: Sequence[Row],
) -> Drawing:
    size = plot.size
    shown = _thinned(list(ticks), size.y_ticks)
    return Drawing(
        name=size.name,
        width=size.width,
        height=size.height,
        left=size.left,
        top=_TOP,
        right=plot.right,
        bottom=plot.bottom,
        x_ticks=tuple(_time_ticks(plot)),
        y_ticks=tuple(Tick(plot.y(tick), plot.axes.say_value(tick)) for tick in shown),
        marks=tuple(draw(plot)),
        hits=_hits(plot, rows) if size is _WIDE else SafeString(""),
    )


def _thinned[T](ticks: list[T], most: int) -> list[T]:
    return ticks[:: max(math.ceil(len(ticks) / most), 1)]


def _time_ticks(plot: _Plot) -> list[Tick]:
    """Mark round times of the reader's day; where the clock was put forward one may be missing."""
    axes = plot.axes
    found: list[Tick] = []
    for at, (before, begin) in enumerate(pairwise(axes.begins), start=1):
        mark = _floor(begin, axes.tick_s)
        if mark > _floor(before, axes.tick_s):
            late = (begin - mark) / timedelta(seconds=axes.width_s)
            found.append(Tick(plot.x(at - late), axes.say_time(mark)))
    return _thinned(found, plot.size.x_ticks)


def _floor(at: datetime, tick_s: int) -> datetime:
    midnight = at.replace(hour=0, minute=0, second=0, microsecond=0)
    passed = at.hour * 3600 + at.minute * 60 + at.second
    return midnight + timedelta(seconds=passed // tick_s * tick_s)


def _hits(plot: _Plot, rows: Sequence[Row]) -> SafeString:
    width, height = round(plot.step, 1), plot.bottom - _TOP
    return format_html_join(
        "",
        '<rect x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>',
        (
            (str(plot.x(at)), _TOP, str(width), height, words)
            for at in range(len(plot.axes.begins))
            if (words := _words_of(plot.axes, rows, at))
        ),
    )


def _words_of(axes: Axes, rows: Sequence[Row], at: int) -> str:
    say = axes.say_value
    parts = [f"{row.words} {say(value)}" for row in rows if (value := row.values[at]) is not None]
    return f"{axes.say_bucket(axes.begins[at])} · {', '.join(parts)}" if parts else ""


# --- marks --------------------------------------------------------------------------------------


def _bars(plot: _Plot, rows: Sequence[Row]) -> Iterator[Mark]:
    heaps = [0.0] * len(plot.axes.begins)
    last = len(heaps) - 1
    for row in rows:
        settled, still_open = "", ""
        for at, value in enumerate(row.values):
            if not value:
                continue
            bar = _bar(plot, at, heaps[at], heaps[at] + value)
            heaps[at] += value
            settled, still_open = (settled, bar) if at == last else (settled + bar, still_open)
        yield Mark(row.kind, settled, still_open)


def _bar(plot: _Plot, at: int, low: float, high: float) -> str:
    gap = plot.step * _GAP / 2
    left, right = round(plot.x(at) + gap, 1), round(plot.x(at) + plot.step - gap, 1)
    bottom, top = plot.y(low), plot.y(high)
    # Something happened, so something is seen, however small it is beside the highest.
    top = min(top, bottom - 1)
    return f"M{left} {bottom}V{top}H{right}V{bottom}Z"


def _lines(plot: _Plot, rows: Sequence[Row]) -> Iterator[Mark]:
    last = len(plot.axes.begins) - 1
    for row in rows:
        points = [
            None if value is None else (round(plot.x(at + 0.5), 1), plot.y(value))
            for at, value in enumerate(row.values)
        ]
        settled = path_of(points[:last])
        before = points[last - 1] if last else None
        end = points[last] if points else None
        still_open = path_of([before, end]) if before and end else ""
        yield Mark(row.kind, settled, still_open, tuple(_dots(points, last)))


type Point = tuple[float, float] | None


def path_of(points: Sequence[Point]) -> str:
    """Join neighbours; a gap lifts the pen."""
    path, is_down = "", False
    for point in points:
        if point is not None:
            path += f"{'L' if is_down else 'M'}{point[0]} {point[1]}"
        is_down = point is not None
    return path


def _dots(points: Sequence[Point], last: int) -> Iterator[tuple[float, float, bool]]:
    """Mark points that no line leads to or from, and the open one."""
    for at, point in enumerate(points):
        if point is None:
            continue
        before = points[at - 1] if at else None
        after = points[at + 1] if at < last else None
        if at == last or (before is None and after is None):
            yield (*point, at == last)
