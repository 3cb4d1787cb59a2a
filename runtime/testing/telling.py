"""Tells a finished rehearsal as a `Path`."""

from runtime.core.states import TERMINAL
from runtime.testing.paper import Paper
from runtime.testing.path import CallPath, Path
from runtime.testing.world import Sent, World


def path_of(agent: str, paper: Paper, world: World, *, slept_s: float, took_s: float) -> Path:
    """Give the path of a task that was played to where it stands."""
    at = paper.checkpoint
    calls = _calls(paper, world)
    return Path(
        agent=agent,
        outcome=at.outcome or "waiting",
        state=at.state,
        states=list(paper.states),
        tools=[call.tool for call in calls],
        result=paper.ending.result,
        reason=paper.ending.reason if at.state in TERMINAL else None,
        waiting=paper.open_item,
        asked=list(paper.items),
        slept_s=slept_s,
        took_s=took_s,
        crashes=world.deaths,
        operations=list(paper.operations.values()),
        events=list(paper.events),
        checkpoint=at,
        all_calls=calls,
        happened=list(world.effects.values()),
    )


def _calls(paper: Paper, world: World) -> list[CallPath]:
    """Join what was sent with what was written of it, in the order of the first sending."""
    by_call: dict[str, list[Sent]] = {}
    for sent in world.sent:
        by_call.setdefault(sent.call_id, []).append(sent)
    return [_call(paper, call_id, sent) for call_id, sent in by_call.items()]


def _call(paper: Paper, call_id: str, sent: list[Sent]) -> CallPath:
    first = sent[0]
    found = next((pair for pair in paper.rows if pair[0].call_id == call_id), None)
    written, result = found if found is not None else (None, None)
    return CallPath(
        tool=first.tool,
        call_id=call_id,
        arguments=first.arguments,
        attempts=written.attempts if written else sent[-1].attempt,
        sent=len(sent),
        outcome=written.outcome if written else "open",
        result=paper.value(result) if result else None,
    )
