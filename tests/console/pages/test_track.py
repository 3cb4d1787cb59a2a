"""The track diagram and the transition table cannot part."""

from itertools import pairwise

import pytest

from console.pages.track import RAILS, TALL, WIDE, Layout, draw, way
from console.pages.words import STATE_WORDS, lamp
from console.queries import Journey
from runtime.core.states import TERMINAL, State
from runtime.core.table import edges

PAIRS = sorted({(s, t) for s, _, t in edges() if s is not None and s != t})


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_every_legal_transition_is_a_way_over_the_rails(source: State, target: State) -> None:
    rails = way(source, target)

    assert source in rails[0]
    assert target in rails[-1]
    assert all(one & other for one, other in pairwise(rails))


@pytest.mark.parametrize("layout", [WIDE, TALL], ids=["wide", "tall"])
def test_every_state_and_point_has_a_place_within_the_drawing(layout: Layout) -> None:
    width, height = layout.size
    assert set(layout.stops) == set(State)
    assert {node for rail in RAILS for node in rail} == {*layout.stops, *layout.points}
    for x, y in [*(stop.at for stop in layout.stops.values()), *layout.points.values()]:
        assert 0 < x < width
        assert 0 < y < height


def test_the_travelled_path_is_lit_and_the_present_state_wears_its_lamp() -> None:
    path = [State.INITIALIZED, State.PLANNING, State.WAITING_HUMAN]

    wide, _ = draw(Journey.along(path))

    lit = [rail for rail in wide.rails if rail.lit]
    assert len(lit) == len(way(*path[:2])) + len(way(*path[1:]))
    here = [station for station in wide.stations if station.here]
    assert [(station.state, station.lamp) for station in here] == [("waiting_human", "person")]


def test_visits_are_counted_and_said_in_words() -> None:
    path = [State.INITIALIZED, *[State.PLANNING, State.WAITING_TOOL_CALL] * 9]

    wide, tall = draw(Journey.along(path))

    planning = next(one for one in wide.stations if one.state == State.PLANNING)
    assert planning.label == "planning ×9"
    assert wide.said.startswith("7 stations before, then")
    assert wide.said == tall.said


def test_a_paused_task_wears_the_lamp_of_a_pause() -> None:
    wide, _ = draw(Journey.along([State.INITIALIZED, State.PLANNING]), paused=True)

    assert [station.lamp for station in wide.stations if station.here] == ["paused"]


@pytest.mark.parametrize("state", State)
def test_every_state_has_a_word_and_a_lamp(state: State) -> None:
    assert STATE_WORDS[state]
    assert lamp(state).kind
    assert (lamp(state, held=True).kind == "paused") is (state not in TERMINAL)
