"""How the console says things: states, spans, instants, decisions.

Pure and in one place, so that the list, the task page and the reviews never disagree.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from runtime.core.reviews import Decision, Kind
from runtime.core.states import State

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400


@dataclass(frozen=True, slots=True)
class Lamp:
    """One meaning: a shape, a colour and a word; never a colour alone.

    Args:
        kind: Which lamp: ``moving``, ``queued``, ``waiting``, ``retrying``, ``person``, ``paused``,
            ``stop``, ``done``, ``ended``, ``model``, ``write``.
        label: The word beside it.
    """

    kind: str
    label: str


#: The families of states; each has its row in the list and its filter.
FAMILIES: Final[dict[str, tuple[State, ...]]] = {
    "moving": (
        State.INITIALIZED,
        State.PLANNING,
        State.WAITING_TOOL_CALL,
        State.COMPENSATING,
        State.CONSOLIDATING,
    ),
    "retrying": (State.RETRYING,),
    "waiting": (
        State.WAITING_EXTERNAL_EVENT,
        State.WAITING_TIMER,
        State.WAITING_CHILDREN,
    ),
    "person": (State.WAITING_HUMAN,),
    "done": (State.TERMINATED_SUCCESS,),
    "failed": (State.TERMINATED_FAILED,),
    "ended": (State.TERMINATED_ABORTED,),
}
FAMILY_WORDS: Final[dict[str, str]] = {
    "moving": "Moving",
    "retrying": "Retrying",
    "waiting": "Waiting",
    "person": "Needs a person",
    "done": "Done",
    "failed": "Failed",
    "ended": "Cancelled",
}
FAMILY_OF: Final = {state: family for family, states in FAMILIES.items() for state in states}
LAMP_OF_FAMILY: Final[dict[str, str]] = {
    "moving": "moving",
    "retrying": "retrying",
    "waiting": "waiting",
    "person": "person",
    "done": "done",
    "failed": "stop",
    "ended": "ended",
}
STATE_WORDS: Final[dict[State, str]] = {
    State.INITIALIZED: "queued",
    State.PLANNING: "planning",
    State.WAITING_TOOL_CALL: "tool call",
    State.RETRYING: "retrying",
    State.WAITING_EXTERNAL_EVENT: "event",
    State.WAITING_TIMER: "timer",
    State.WAITING_CHILDREN: "sub-tasks",
    State.WAITING_HUMAN: "needs a person",
    State.COMPENSATING: "compensating",
    State.CONSOLIDATING: "consolidating",
    State.TERMINATED_SUCCESS: "success",
    State.TERMINATED_FAILED: "failed",
    State.TERMINATED_ABORTED: "cancelled",
}
KIND_WORDS: Final[dict[Kind, str]] = {
    Kind.QUESTION: "Question",
    Kind.IN_DOUBT: "In doubt",
    Kind.KILLED_WORKER: "Killed its worker",
    Kind.RETRIES_EXHAUSTED: "Retries exhausted",
    Kind.PLAN_INVALID: "Plan invalid",
    Kind.REPEATED_WRITE: "Repeated write",
    Kind.CHECKPOINT_UNREADABLE: "Checkpoint unreadable",
}
DECISION_WORDS: Final[dict[Decision, str]] = {
    Decision.ANSWER: "Answer",
    Decision.RETRY: "Call again",
    Decision.RESULT: "Give the result",
    Decision.REBUILD: "Rebuild and go on",
    Decision.ABORT: "End the task",
}
_RETRY_WORDS: Final[dict[Kind, str]] = {
    Kind.PLAN_INVALID: "Plan again",
    Kind.REPEATED_WRITE: "Do it again",
    Kind.KILLED_WORKER: "Try once more",
    Kind.RETRIES_EXHAUSTED: "Start over",
}


def lamp(state: State, *, held: bool = False, in_hand: bool = True) -> Lamp:
    """Give the lamp of a task.

    Args:
        state: Where it stands.
        held: Somebody paused it.
        in_hand: A worker has it, or it needs none.
    """
    family = FAMILY_OF[state]
    if held and family not in {"done", "failed", "ended"}:
        return Lamp("paused", "paused")
    if family == "moving" and not in_hand:
        return Lamp("queued", STATE_WORDS[state])
    return Lamp(LAMP_OF_FAMILY[family], STATE_WORDS[state])


def kind_word(kind: str) -> str:
    """Name a kind of review item."""
    return KIND_WORDS.get(Kind(kind), kind) if kind in set(Kind) else kind


def decision_word(kind: str, decision: str) -> str:
    """Name a decision as the button that takes it."""
    if decision == Decision.RETRY and kind in set(Kind):
        return _RETRY_WORDS.get(Kind(kind), DECISION_WORDS[Decision.RETRY])
    return (
        DECISION_WORDS.get(Decision(decision), decision) if decision in set(Decision) else decision
    )


def span(seconds: float) -> str:
    """Say how long: ``0.4 s``, ``12 s``, ``3 min``, ``2 h 14 min``, ``5 d 3 h``."""
    seconds = max(seconds, 0.0)
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:  # noqa: PLR2004 (one decimal says something only below ten)
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < _MINUTE_S:
        return f"{whole} s"
    if whole < _HOUR_S:
        minutes, rest = divmod(whole, _MINUTE_S)
        return f"{minutes} min {rest} s" if minutes < 10 and rest else f"{minutes} min"  # noqa: PLR2004
    if whole < _DAY_S:
        hours, rest = divmod(whole, _HOUR_S)
        return f"{hours} h {rest // _MINUTE_S} min" if rest >= _MINUTE_S else f"{hours} h"
    days, rest = divmod(whole, _DAY_S)
    return f"{days} d {rest // _HOUR_S} h" if rest >= _HOUR_S else f"{days} d"


def age(now: datetime, then: datetime | None) -> str:
    """Say coarsely how long ago, or until: ``now``, ``12 s``, ``3 min``, ``2 h``, ``5 d``."""
    if then is None:
        return "–"
    seconds = abs((now - then).total_seconds())
    if seconds < 1:
        return "now"
    for size, unit in ((_DAY_S, "d"), (_HOUR_S, "h"), (_MINUTE_S, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


def short(text: str) -> str:
    """Shorten an id in the middle; both ends are what people compare."""
    return text if len(text) <= 13 else f"{text[:4]}…{text[-4:]}"  # noqa: PLR2004


def actor(text: str) -> str:
    """Name who did something: ``human:ann`` is ann, a worker is shortened, a policy says so."""
    kind, _, name = text.partition(":")
    match kind:
        case "human" if name:
            return name
        case "worker" if name:
            return f"worker {short(name)}"
        case _:
            return text
