"""The states a task can be in.

Wherever a task can wait there is a state of its own, so that an operator always knows where the
work lies.  Holds, leases and attention stand beside the state, never in it.
"""

from enum import StrEnum


class State(StrEnum):
    """One state of the machine; the docstring of each member says what the task waits for."""

    INITIALIZED = "initialized"
    """A worker."""
    PLANNING = "planning"
    """The planner's next decision."""
    WAITING_TOOL_CALL = "waiting_tool_call"
    """A tool call that was decided and committed."""
    RETRYING = "retrying"
    """A back-off time, kept in the database."""
    WAITING_EXTERNAL_EVENT = "waiting_external_event"
    """A named event, always with a deadline."""
    WAITING_TIMER = "waiting_timer"
    """A durable sleep."""
    WAITING_CHILDREN = "waiting_children"
    """Sub-tasks given to other agents."""
    WAITING_HUMAN = "waiting_human"
    """An open review item."""
    COMPENSATING = "compensating"
    """Completed effects being undone in reverse order."""
    CONSOLIDATING = "consolidating"
    """What was learned moving into memory; the outcome is already fixed."""
    TERMINATED_SUCCESS = "terminated_success"
    """Nothing: the goal was reached."""
    TERMINATED_FAILED = "terminated_failed"
    """Nothing: the goal was not reached."""
    TERMINATED_ABORTED = "terminated_aborted"
    """Nothing: somebody ended it."""


TERMINAL = frozenset(
    {State.TERMINATED_SUCCESS, State.TERMINATED_FAILED, State.TERMINATED_ABORTED},
)
LIVE = frozenset(State) - TERMINAL
# Consolidation has its outcome already: nothing but its own end moves it.
ACTIVE = LIVE - {State.CONSOLIDATING}
# A worker can take a task in one of these further at once; the others wait for something else.
RUNNABLE = frozenset({State.INITIALIZED, State.PLANNING, State.WAITING_TOOL_CALL})
