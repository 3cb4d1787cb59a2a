"""The track diagram: the transition table as a railway, drawn by the server.

Stations are states; every legal transition of `runtime.core.table` is a way over the rails (a test
holds that), so what the table allows and what is drawn cannot part.  The travelled path is lit and
the present state is a lamp.  Two layouts of one network: a wide one for desks, one for phones.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from django.utils.translation import ngettext, pgettext

from console.pages.words import FAMILY_OF, LAMP_OF_FAMILY, STATE_WORDS
from console.queries import Journey
from runtime.core.states import State as S  # noqa: N817 (short, so that a layout stays readable)

type Side = Literal["above", "below", "right"]
type Point = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Stop:
    """A station's place and where its name stands."""

    at: Point
    side: Side


@dataclass(frozen=True, slots=True)
class Layout:
    """One drawing of the network.

    Args:
        size: Width and height of the drawing.
        stops: The stations.
        points: Where rails part: a name and a place each.
    """

    name: str
    size: Point
    stops: Mapping[S, Stop]
    points: Mapping[str, Point]


#: The rails: between stations and points, in any direction.
RAILS: Final[tuple[tuple[S | str, S | str], ...]] = (
    (S.INITIALIZED, S.PLANNING),
    (S.PLANNING, "a"),
    ("a", "b"),
    ("b", S.WAITING_TOOL_CALL),
    (S.WAITING_TOOL_CALL, "c"),
    ("c", "d"),
    ("d", "e"),
    ("e", S.TERMINATED_SUCCESS),
    # The sidings above: a call that is tried again, and what was learned moving into memory.
    ("b", S.RETRYING),
    (S.RETRYING, "c"),
    ("d", S.CONSOLIDATING),
    (S.CONSOLIDATING, "e"),
    # The line below: where a task waits, is undone or ends early.
    ("a", "t"),
    ("c", "w"),
    ("t", "v"),
    ("v", "w"),
    ("w", "x"),
    ("x", "y"),
    ("y", "z"),
    ("z", S.TERMINATED_FAILED),
    ("z", S.TERMINATED_ABORTED),
    ("t", S.WAITING_EXTERNAL_EVENT),
    ("v", S.WAITING_TIMER),
    ("w", S.WAITING_CHILDREN),
    ("x", S.WAITING_HUMAN),
    ("y", S.COMPENSATING),
)

WIDE: Final = Layout(
    "wide",
    (1080, 268),
    {
        S.INITIALIZED: Stop((56, 96), "below"),
        S.PLANNING: Stop((186, 96), "below"),
        S.WAITING_TOOL_CALL: Stop((396, 96), "below"),
        S.RETRYING: Stop((396, 40), "above"),
        S.CONSOLIDATING: Stop((816, 40), "above"),
        S.TERMINATED_SUCCESS: Stop((1010, 96), "above"),
        S.WAITING_EXTERNAL_EVENT: Stop((366, 222), "below"),
        S.WAITING_TIMER: Stop((496, 222), "below"),
        S.WAITING_CHILDREN: Stop((596, 222), "below"),
        S.WAITING_HUMAN: Stop((726, 222), "below"),
        S.COMPENSATING: Stop((866, 222), "below"),
        S.TERMINATED_FAILED: Stop((1010, 168), "above"),
        S.TERMINATED_ABORTED: Stop((1010, 222), "below"),
    },
    {
        "a": (246, 96),
        "b": (306, 96),
        "c": (486, 96),
        "d": (726, 96),
        "e": (906, 96),
        "t": (316, 168),
        "v": (446, 168),
        "w": (546, 168),
        "x": (676, 168),
        "y": (816, 168),
        "z": (920, 168),
    },
)
TALL: Final = Layout(
    "tall",
    (326, 560),
    {
        S.INITIALIZED: Stop((84, 28), "right"),
        S.PLANNING: Stop((84, 88), "right"),
        S.WAITING_TOOL_CALL: Stop((84, 216), "right"),
        S.RETRYING: Stop((40, 216), "below"),
        S.CONSOLIDATING: Stop((40, 416), "below"),
        S.TERMINATED_SUCCESS: Stop((84, 520), "right"),
        S.WAITING_EXTERNAL_EVENT: Stop((206, 196), "right"),
        S.WAITING_TIMER: Stop((206, 244), "right"),
        S.WAITING_CHILDREN: Stop((206, 306), "right"),
        S.WAITING_HUMAN: Stop((206, 360), "right"),
        S.COMPENSATING: Stop((206, 414), "right"),
        S.TERMINATED_FAILED: Stop((178, 520), "right"),
        S.TERMINATED_ABORTED: Stop((254, 520), "below"),
    },
    {
        "a": (84, 120),
        "b": (84, 164),
        "c": (84, 268),
        "d": (84, 364),
        "e": (84, 468),
        "t": (178, 172),
        "v": (178, 220),
        "w": (178, 282),
        "x": (178, 336),
        "y": (178, 390),
        "z": (178, 466),
    },
)


@dataclass(frozen=True, slots=True)
class Rail:
    """One piece of track as an SVG path."""

    path: str
    lit: bool


@dataclass(frozen=True, slots=True)
class Station:
    """One state on the drawing; `lamp` names the lamp it wears while it is the present one."""

    state: str
    x: int
    y: int
    label: str
    label_x: int
    label_y: int
    anchor: str
    visits: int
    here: bool
    lamp: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """One layout, drawn for one task; `said` is the path in words."""

    name: str
    width: int
    height: int
    rails: tuple[Rail, ...]
    stations: tuple[Station, ...]
    said: str


def draw(journey: Journey, *, paused: bool = False) -> tuple[Drawing, Drawing]:
    """Draw the network for a task, wide and tall.

    Args:
        journey: The way it has gone.
        paused: Somebody holds it where it stands.
    """
    lit: set[frozenset[S | str]] = set()
    for source, target in journey.legs:
        lit.update(way(source, target))
    here, said = journey.recent[-1], _said(journey)
    return (
        _draw(WIDE, lit, journey.visits, here, said, paused=paused),
        _draw(TALL, lit, journey.visits, here, said, paused=paused),
    )


@cache
def way(source: S, target: S) -> tuple[frozenset[S | str], ...]:
    """Find the rails from one station to another: the fewest, without stopping where avoidable.

    Raises:
        KeyError: No rails join them.
    """
    if source == target:
        return ()
    before: dict[S | str, S | str] = {}
    queue: deque[S | str] = deque([source])
    while queue:
        here = queue.popleft()
        for there in _NEIGHBOURS[here]:
            if there not in before and there != source:
                before[there] = here
                queue.append(there)
    rails, node = [], target
    while node != source:
        rails.append(frozenset({node, before[node]}))
        node = before[node]  # type: ignore[assignment]
    return tuple(reversed(rails))


def _neighbours() -> dict[S | str, list[S | str]]:
    found: dict[S | str, list[S | str]] = {}
    for one, other in RAILS:
        found.setdefault(one, []).append(other)
        found.setdefault(other, []).append(one)
    for there in found.values():
        # Points first: of two ways as long, the one that passes no station is taken.
        there.sort(key=lambda node: isinstance(node, S))
    return found


_NEIGHBOURS: Final = _neighbours()


def _draw(  # noqa: PLR0913 (the parts of one drawing)
    layout: Layout,
    lit: set[frozenset[S | str]],
    visits: Mapping[S, int],
    here: S,
    said: str,
    *,
    paused: bool,
) -> Drawing:
    rails = [
        Rail(_path(layout, one, other), frozenset({one, other}) in lit) for one, other in RAILS
    ]
    # Lit rails are drawn last, so that they lie on top where rails meet.
    rails.sort(key=lambda rail: rail.lit)
    stations = [
        _station(stop, state, visits.get(state, 0), here=state == here, paused=paused)
        for state, stop in layout.stops.items()
    ]
    return Drawing(layout.name, *layout.size, tuple(rails), tuple(stations), said)


_BEND: Final = 18


def _path(layout: Layout, one: S | str, other: S | str) -> str:
    """Draw one rail: straight, or a slanted piece with rounded ends as rails have."""
    (x1, y1), (x2, y2) = _place(layout, one), _place(layout, other)
    if x1 == x2 or y1 == y2:
        return f"M{x1} {y1}L{x2} {y2}"
    if layout.name == "wide":
        bend = min(_BEND, abs(x2 - x1) // 2) * (1 if x2 > x1 else -1)
        return f"M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"
    bend = min(_BEND, abs(y2 - y1) // 2) * (1 if y2 > y1 else -1)
    return f"M{x1} {y1}C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2}"


def _place(layout: Layout, node: S | str) -> Point:
    return layout.stops[node].at if isinstance(node, S) else layout.points[node]


_LABELS: Final[dict[Side, tuple[int, int, str]]] = {
    "above": (0, -18, "middle"),
    "below": (0, 26, "middle"),
    "right": (16, 5, "start"),
}
_HALO: Final = 9
"""How much further a name stands off the present station, which glows."""


def _station(stop: Stop, state: S, visits: int, *, here: bool, paused: bool) -> Station:
    x, y = stop.at
    dx, dy, anchor = _LABELS[stop.side]
    if here:
        dx, dy = dx + _HALO * (dx > 0) // 2, dy + _HALO * ((dy > _HALO) - (dy < 0))
    label = f"{STATE_WORDS[state]} ×{visits:,}" if visits > 1 else str(STATE_WORDS[state])
    lamp = "paused" if paused else LAMP_OF_FAMILY[FAMILY_OF[state]]
    return Station(state, x, y, label, x + dx, y + dy, anchor, visits, here, lamp)


def _said(journey: Journey) -> str:
    words = [str(STATE_WORDS[state]) for state in journey.recent]
    then = pgettext("between the stations of a way", ", then ").join(words)
    if not journey.before:
        return then
    return ngettext(
        "%(count)d station before, then %(stations)s",
        "%(count)d stations before, then %(stations)s",
        journey.before,
    ) % {"count": journey.before, "stations": then}
