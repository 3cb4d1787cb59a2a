"""The states of the design stand in the enumeration, each in exactly one group."""

from runtime.core.states import ACTIVE, LIVE, RUNNABLE, TERMINAL, State

DESIGN = """
initialized planning waiting_tool_call retrying waiting_external_event waiting_timer
waiting_children waiting_human compensating consolidating
terminated_success terminated_failed terminated_aborted
"""


def test_every_state_of_the_design_stands_there_and_no_other() -> None:
    assert {state.value for state in State} == set(DESIGN.split())


def test_a_state_is_live_or_terminal_and_the_terminal_ones_say_so_in_their_name() -> None:
    assert set(State) == LIVE | TERMINAL
    assert not LIVE & TERMINAL
    assert {state for state in State if state.startswith("terminated")} == TERMINAL


def test_a_worker_can_only_go_on_where_the_task_is_active() -> None:
    assert RUNNABLE < ACTIVE < LIVE
    assert not RUNNABLE & {State.RETRYING, State.WAITING_HUMAN, State.WAITING_TIMER}
    assert {State.CONSOLIDATING} == LIVE - ACTIVE
