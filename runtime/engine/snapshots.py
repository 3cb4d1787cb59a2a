"""What a person is shown who must decide: the task as it stood when it asked."""

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.core.checkpoint import Checkpoint
from runtime.core.events import Event
from runtime.core.payloads import encode, summarise
from runtime.engine.context import Finished

_SHOWN_STEPS = 20
_INPUT_CHARS = 1000


def snapshot(
    at: Checkpoint,
    asked: Event,
    asked_for: object,
    calls: Sequence[Finished],
    arguments: Mapping[str, Any] | None,
) -> str:
    """Give the stored text of what a review item shows.

    Args:
        at: Where the task stands once it has asked.
        asked: The event by which it asks.
        asked_for: The task's input.
        calls: Its completed calls, oldest first; the last ones are shown.
        arguments: Those of the pending call, if there is one.
    """
    shown = {
        "state": asked.payload["back_to"],
        "why": asked.payload["why"],
        "steps": at.step,
        "writes": at.writes,
        "input": summarise(asked_for, _INPUT_CHARS),
        "arguments": arguments,
        "attempts": at.pending.attempt if at.pending else 0,
        "results": [
            {"call_id": call.call_id, "tool": call.tool, "outcome": call.outcome}
            | {"summary": call.summary}
            for call in calls[-_SHOWN_STEPS:]
        ],
    }
    return encode(shown).text
