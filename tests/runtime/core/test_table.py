"""The table as data: complete, closed, and exactly what ``apply`` obeys."""

from collections import deque
from collections.abc import Iterable
from itertools import product

import pytest

from runtime.core.apply import apply, created
from runtime.core.checkpoint import Checkpoint
from runtime.core.errors import IllegalTransition
from runtime.core.events import Event, EventType
from runtime.core.states import LIVE, TERMINAL, State
from runtime.core.table import ROWS, TABLE, edges, is_legal
from tests.runtime.core.specimens import event, payload, standing

DESIGN = """
task_created task_started model_called plan_generated plan_rejected tool_call_started
tool_call_succeeded tool_call_failed tool_call_cancelled tool_call_in_doubt tool_call_reconciled
retry_scheduled external_event_received wait_started wait_timed_out timer_fired child_spawned
child_finished review_requested review_closed human_approved human_rejected human_answered
token_issued token_consumed token_refused memory_recalled loop_warned loop_detected
budget_exhausted limit_raised config_drift_detected checkpoint_unreadable step_skipped
branch_opened compensation_started compensation_succeeded compensation_failed memory_proposed
memory_written hold_placed hold_released cancel_requested acceptance_failed task_completed
task_failed task_aborted
"""
LATER = set(EventType) - {EventType.TASK_CREATED}


def test_every_event_of_the_design_has_exactly_one_row() -> None:
    assert set(DESIGN.split()) <= {kind.value for kind in EventType}
    assert [row.event for row in ROWS] == list(TABLE)
    assert set(TABLE) == set(EventType)
    assert all(row.says for row in ROWS)


@pytest.mark.parametrize("kind", sorted(LATER))
def test_apply_takes_exactly_the_triples_of_the_table(kind: EventType) -> None:
    """Each legal (state, event, target) is reached; each illegal one is refused or not reached."""
    for source, target in product(State, State):
        before = standing(source, more_calls=target is State.WAITING_TOOL_CALL)
        happening = event(kind, payload(target))

        if source not in TABLE[kind].sources:
            with pytest.raises(IllegalTransition):
                apply(before, happening)
        elif is_legal(kind, source, target):
            assert apply(before, happening).state is target
        else:
            assert _reached(before, happening) != target
        assert before == standing(source, more_calls=target is State.WAITING_TOOL_CALL)


def _reached(before: Checkpoint, happening: Event) -> State | None:
    try:
        after = apply(before, happening)
    except IllegalTransition:
        return None
    assert is_legal(happening.type, before.state, after.state)
    return after.state


@pytest.mark.parametrize("kind", sorted(LATER))
def test_only_the_creation_makes_a_task_and_only_as_the_first_event(kind: EventType) -> None:
    with pytest.raises(IllegalTransition):
        created(event(kind, payload(State.INITIALIZED), seq=1))
    with pytest.raises(IllegalTransition):
        created(event(EventType.TASK_CREATED, payload(State.INITIALIZED), seq=2))


def test_nothing_leads_out_of_a_terminal_state() -> None:
    assert not [edge for edge in edges() if edge[0] in TERMINAL]


def test_every_state_can_be_reached_and_every_live_one_can_end() -> None:
    assert _closure({None}, [(source, target) for source, _, target in edges()]) >= set(State)
    for state in LIVE:
        ways = [(source, target) for source, _, target in edges()]
        assert _closure({state}, ways) & TERMINAL, state


def test_people_can_end_or_pause_a_task_in_every_live_state() -> None:
    for state in LIVE:
        assert is_legal(EventType.CANCEL_REQUESTED, state, state)
        assert is_legal(EventType.HOLD_PLACED, state, state)
        assert is_legal(EventType.HOLD_RELEASED, state, state)
        assert is_legal(EventType.TASK_ABORTED, state, State.TERMINATED_ABORTED)


def test_a_person_who_is_asked_is_passed_by_nothing_but_a_closed_item_or_an_end() -> None:
    """Else an item would stay open behind a task that went on."""
    leads_on = {
        kind
        for source, kind, target in edges()
        if source is State.WAITING_HUMAN and target not in {State.WAITING_HUMAN, *TERMINAL}
    }

    assert leads_on == {
        EventType.REVIEW_CLOSED,
        EventType.BRANCH_OPENED,
        EventType.COMPENSATION_STARTED,
    }


def test_edges_list_what_is_legal_and_nothing_else() -> None:
    listed = set(edges())

    assert len(listed) == len(edges())
    for source in [None, *State]:
        for kind in EventType:
            for target in State:
                assert ((source, kind, target) in listed) is is_legal(kind, source, target)


def _closure(
    start: Iterable[State | None], ways: Iterable[tuple[State | None, State]]
) -> set[State | None]:
    found: set[State | None] = set(start)
    steps = list(ways)
    waiting = deque(found)
    while waiting:
        here = waiting.popleft()
        new = {target for source, target in steps if source == here} - found
        found |= new
        waiting.extend(new)
    return found
