"""One specimen of every event, complete enough to be applied, and of every state.

Not a test: the tests of the table and of ``apply`` take them apart.
"""

from datetime import UTC, datetime
from typing import Any

from runtime.core.checkpoint import Checkpoint, Pending, Queue, Wait
from runtime.core.effects import Effect
from runtime.core.events import Event, EventType
from runtime.core.states import State

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
INSTANT = NOON.isoformat()
CALL = {
    "call_id": "0.2.0",
    "tool": "refund",
    "effect": "keyed",
    "digest": "d" * 64,
    "operation_id": "op_2",
    "arguments": {"order": 1},
}
_HAVE_CALL = {State.WAITING_TOOL_CALL, State.RETRYING, State.WAITING_HUMAN, State.COMPENSATING}


def standing(state: State, *, more_calls: bool = False) -> Checkpoint:
    """A checkpoint in a state, with the call and the wait that belong to it."""
    pending = Pending("0.1.0", "refund", Effect.KEYED, "a" * 64, 3, 0, "op_1", dispatched=True)
    kind = {State.RETRYING: "retry", State.WAITING_HUMAN: "in_doubt"}.get(state)
    item = "item" if state is State.WAITING_HUMAN else None
    until = INSTANT if state is State.RETRYING else None
    return Checkpoint(
        state,
        seq=7,
        step=1,
        deadline=INSTANT,
        pending=pending if state in _HAVE_CALL else None,
        queue=Queue(3, 1, 3) if more_calls and state in _HAVE_CALL else None,
        wait=Wait(kind, until, item, INSTANT, State.WAITING_TOOL_CALL) if kind else None,
    )


def payload(target: State) -> dict[str, Any]:
    """Every fact that any event reads, so that it leads to a state if it can lead there."""
    onward = target is State.WAITING_TOOL_CALL
    return {
        **CALL,
        "to": target.value,
        "back_to": "planning",
        "calls": [CALL] if onward else [],
        "next": CALL,
        "attempt": 1,
        "unknown": False,
        "until": INSTANT,
        "since": INSTANT,
        "review_id": "item",
        "kind": "in_doubt",
        "happened": True,
        "fresh": True,
        "again": False,
        "outcome": "failed",
        "result_digest": "e" * 64,
        "deadline": INSTANT,
    }


def event(kind: EventType, facts: Any, seq: int = 8) -> Event:
    return Event(seq, kind, facts, NOON, "worker:w", call_id="0.1.0")
