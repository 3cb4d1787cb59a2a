"""``apply`` reads journals of any origin: complete, from a later version, or damaged."""

from copy import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.core import checkpoint as cp
from runtime.core import commands as c
from runtime.core.apply import apply, created, fold, link
from runtime.core.errors import IllegalTransition, SignalboxError
from runtime.core.events import Event, EventType
from runtime.core.states import State
from runtime.core.table import edges
from tests.runtime.core.bookkeeping import Book, on_the_wire
from tests.runtime.core.specimens import INSTANT, event, payload, standing

EDGES = [(source, kind, target) for source, kind, target in edges() if source is not None]
KINDS = sorted({kind for _, kind, _ in EDGES})
SHAPES: list[Any] = [None, [], "text", 7, {}, {"calls": [3]}, {"calls": {}}]
FACTS = sorted(payload(State.PLANNING))
junk: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
    st.lists(st.integers() | st.just({}), max_size=2),
    st.dictionaries(st.sampled_from(FACTS), st.text(max_size=3), max_size=2),
    st.sampled_from([INSTANT, "2026-03-01T12:00:00", "planning", "keyed"]),
)


@given(st.sampled_from(EDGES), st.dictionaries(st.text(min_size=1), junk, max_size=3))
def test_facts_that_nobody_knows_change_nothing(
    edge: tuple[State, EventType, State], unknown: dict[str, Any]
) -> None:
    source, kind, target = edge
    before = standing(source, more_calls=target is State.WAITING_TOOL_CALL)
    extra = {f"x_{name}": value for name, value in unknown.items()}

    plain = apply(before, event(kind, payload(target)))
    more = apply(before, event(kind, payload(target) | extra))

    assert more == plain


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_fact_is_an_illegal_event_or_one_that_may_be_missing(kind: EventType) -> None:
    for source, target in _ways(kind):
        before = standing(source, more_calls=target is State.WAITING_TOOL_CALL)
        for name in FACTS:
            facts = payload(target)
            del facts[name]
            _refused_or_sound(before, event(kind, facts))


@settings(max_examples=300)
@given(st.sampled_from(EDGES), st.sampled_from(FACTS), junk)
def test_a_damaged_fact_is_refused_or_harmless_and_never_stored_as_something_else(
    edge: tuple[State, EventType, State], name: str, value: Any
) -> None:
    source, kind, target = edge
    before = standing(source, more_calls=target is State.WAITING_TOOL_CALL)

    _refused_or_sound(before, event(kind, payload(target) | {name: value}))


@pytest.mark.parametrize("kind", KINDS)
def test_a_payload_of_any_shape_is_refused_by_name(kind: EventType) -> None:
    for source, target in _ways(kind):
        for facts in SHAPES:
            _refused_or_sound(standing(source), event(kind, facts))
        _refused_or_sound(replace(standing(source), pending=None), event(kind, payload(target)))


def _ways(kind: EventType) -> list[tuple[State, State]]:
    return [(source, target) for source, told, target in EDGES if told is kind]


def _refused_or_sound(before: cp.Checkpoint, happening: Event) -> None:
    """Every error is one of ours; what is accepted can be written and read again."""
    try:
        after = apply(before, happening)
    except IllegalTransition as refused:
        said = str(refused)
    else:
        assert cp.decode("t", cp.encode(after)) == after
        return
    assert str(happening.type) in said


@pytest.mark.parametrize("facts", [None, {"deadline": 7}, {"deadline": "soon"}, {"deadline": "9"}])
def test_a_creation_without_a_readable_deadline_is_refused(facts: object) -> None:
    with pytest.raises(IllegalTransition):
        created(event(EventType.TASK_CREATED, facts, seq=1))


def test_an_empty_journal_a_gap_and_a_repetition_are_refused() -> None:
    paused = c.Hold("why", "human:ann")
    journal = Book().do_all(c.Start("w"), paused, paused).journal

    for broken in ([], journal[1:], journal[:1] + journal[2:], [journal[0], *journal]):
        with pytest.raises(IllegalTransition):
            fold(broken)


def test_a_refused_event_changes_nothing() -> None:
    before = standing(State.PLANNING)
    text = cp.encode(before)

    with pytest.raises(SignalboxError):
        apply(before, event(EventType.TASK_STARTED, {}))

    assert cp.encode(before) == text


def test_an_event_from_the_journal_gives_the_same_bytes_as_the_one_that_was_decided() -> None:
    book = Book().do_all(c.Start("w"), c.Hold("why", "human:ann"))

    assert cp.encode(fold(on_the_wire(one) for one in book.journal)) == cp.encode(book.at)


def test_the_chain_depends_on_every_call_and_their_order() -> None:
    def of(*calls: str) -> str:
        so_far = ""
        for call in calls:
            so_far = link(so_far, call, "arguments", "result")
        return so_far

    ends = [of("a", "b"), of("b", "a"), of("a"), of("ab"), of("a", "b", "b")]

    assert len(set(ends)) == len(ends)
