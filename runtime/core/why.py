"""Why is it not moving?  One sentence from what the database knows.

Pure: facts in, text out.  The list, the task page, the command line and alerts all use it, so that
they never say different things.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from runtime.core.reviews import Kind
from runtime.core.states import TERMINAL, State

SUSPECT_DEATHS = 2
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
_SOON_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A pause: who placed it, why, and when."""

    by: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The worker that holds the task; ``state`` None when no such worker is known."""

    host: str = ""
    pid: int = 0
    state: str | None = None
    renewed_at: datetime | None = None
    expires_at: datetime | None = None
    death: str | None = None

    @property
    def name(self) -> str:
        """How people find it."""
        return f"worker {self.host}:{self.pid}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The review item that a task waits for."""

    id: str
    kind: str
    why: str
    question: str
    status: str
    at: datetime
    decision: str | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resting:
    """A tool's breaker that lets no call through."""

    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything the sentence is made of.

    Args:
        now: The database's clock.
        moved_at: When its last event came.
        attention: Commands of people that nobody has read yet.
        agent_known: Whether this installation has the agent.
        serving: Running workers that serve its queue.
        free: Free slots of those.
        ahead: Due tasks that rank before it.
        last_failure: What the last attempt of the pending call said.
        readable: Whether its checkpoint can be read.
        wait_until: When its wait ends by itself.
        reason: Why it ended.
    """

    state: State
    now: datetime
    moved_at: datetime
    agent: str
    queue: str
    due_at: datetime | None = None
    finished_at: datetime | None = None
    deadline: datetime | None = None
    reason: str | None = None
    outcome: str | None = None
    hold: Hold | None = None
    holder: Holder | None = None
    asked: Asked | None = None
    resting: Resting | None = None
    tool: str | None = None
    attempt: int = 0
    dispatched: bool = False
    last_failure: str | None = None
    wait_until: datetime | None = None
    deaths: int = 0
    attention: int = 0
    agent_known: bool = True
    serving: int = 1
    free: int = 1
    ahead: int = 0
    readable: bool = True


def sentence(facts: Facts) -> str:  # noqa: PLR0911 (one line per cause, the strongest first)
    """Say in one sentence where a task stands and what it waits for."""
    if facts.state in TERMINAL:
        return _ended(facts)
    if facts.hold is not None:
        return _paused(facts, facts.hold)
    if facts.holder is not None:
        return _in_hand(facts, facts.holder)
    if facts.state is State.WAITING_HUMAN:
        return _asks(facts)
    if facts.attention:
        return "A command of a person waits to be read; the next worker or sweep obeys it."
    if not facts.readable:
        return "Its checkpoint cannot be read; the worker that takes it next hands it to a person."
    waits = _WAITS.get(facts.state)
    if waits is not None and not _is_due(facts):
        return waits(facts)
    return _free(facts)


# --- the end, pauses, workers -------------------------------------------------------------------


def _ended(facts: Facts) -> str:
    ago = f" {_span(facts.now, facts.finished_at)} ago" if facts.finished_at else ""
    why = f": {_tidy(facts.reason)}" if facts.reason else ""
    match facts.state:
        case State.TERMINATED_SUCCESS:
            return f"It reached its goal{ago}{why}."
        case State.TERMINATED_FAILED:
            return f"It failed{ago}{why}."
        case _:
            return f"It was ended{ago}{why}."


def _paused(facts: Facts, hold: Hold) -> str:
    said = f": {_tidy(hold.reason)}" if hold.reason else ""
    text = f"{hold.by or 'Somebody'} paused it {_span(facts.now, hold.at)} ago{said}"
    if facts.holder is not None and _lives(facts, facts.holder):
        return f"{text}; {facts.holder.name} is still finishing the step under way."
    return f"{text}."


def _in_hand(facts: Facts, holder: Holder) -> str:
    if holder.state is None:
        return "Its worker is not known any more; the sweep frees it."
    if holder.state in {"dead", "stopped"}:
        why = f" ({_tidy(holder.death)})" if holder.death else ""
        return f"The {holder.name} that held it is {holder.state}{why}; the sweep frees it."
    if not _lives(facts, holder):
        silent = _span(facts.now, holder.renewed_at) if holder.renewed_at else "a while"
        return (
            f"The {holder.name} that holds it has been silent for {silent} and its lease ran out; "
            "the sweep gives it to another worker."
        )
    doing = _doing(facts)
    if holder.state == "draining":
        return (
            f"The {holder.name} is shutting down and gives it back after it has finished {doing}."
        )
    return f"The {holder.name} is {doing}, for {_span(facts.now, facts.moved_at)} now."


def _lives(facts: Facts, holder: Holder) -> bool:
    if holder.state not in {"running", "draining"}:
        return False
    return holder.expires_at is not None and holder.expires_at > facts.now


def _doing(facts: Facts) -> str:
    if facts.state is State.WAITING_TOOL_CALL and facts.tool:
        return f"calling {facts.tool}{_attempt(facts)}"
    if facts.state is State.RETRYING and facts.tool:
        return f"about to call {facts.tool} again"
    return {
        State.INITIALIZED: "starting it",
        State.PLANNING: "deciding on its next step",
        State.COMPENSATING: "undoing its effects",
        State.CONSOLIDATING: "moving what was learned into memory",
    }.get(facts.state, f"at work on it ({facts.state})")


def _attempt(facts: Facts) -> str:
    return f" (attempt {facts.attempt + 1})" if facts.attempt else ""


# --- waiting ------------------------------------------------------------------------------------


def _asks(facts: Facts) -> str:
    asked = facts.asked
    if asked is None:
        return "It waits for a person, but no review item is open: run `manage.py verify` on it."
    if asked.status == "decided":
        by, at = asked.decided_by or "Somebody", asked.decided_at or asked.at
        ago = _span(facts.now, at)
        return f"{by} decided '{asked.decision}' {ago} ago; a worker or the sweep carries it out."
    since = _span(facts.now, asked.at)
    wanted = _KINDS.get(asked.kind, f"decide on it ({asked.kind})")
    about = _tidy(asked.question or asked.why)
    stop = "" if about.endswith(("?", "!")) else "."
    return f"It has waited {since} for a person to {wanted}: {about}{stop}"


_KINDS: dict[str, str] = {
    Kind.QUESTION: "answer its question",
    Kind.IN_DOUBT: "say whether a call happened",
    Kind.KILLED_WORKER: "look at a step that killed its workers",
    Kind.RETRIES_EXHAUSTED: "say what to do after the last attempt",
    Kind.PLAN_INVALID: "look at a plan that cannot run",
    Kind.REPEATED_WRITE: "say whether an effect is wanted twice",
    Kind.CHECKPOINT_UNREADABLE: "look at state that cannot be trusted",
}


def _retries(facts: Facts) -> str:
    tool, when = facts.tool or "a call", _when(facts)
    if facts.resting is not None:
        return f"{tool} rests after repeated failures; the call is tried {when}."
    failed = f" after it failed: {_tidy(facts.last_failure)}" if facts.last_failure else ""
    return f"Attempt {facts.attempt + 1} of {tool} comes {when}{failed}."


def _waits_for_event(facts: Facts) -> str:
    return f"It waits for an event; the wait ends {_when(facts)}."


def _sleeps(facts: Facts) -> str:
    return f"It sleeps by its own plan and wakes {_when(facts)}."


def _waits_for_children(facts: Facts) -> str:
    return f"It waits for its sub-tasks; the wait ends {_when(facts)}."


def _starts_later(facts: Facts) -> str:
    return f"It starts {_when(facts)}, as was asked when it was submitted."


_WAITS: dict[State, Callable[[Facts], str]] = {
    State.INITIALIZED: _starts_later,
    State.RETRYING: _retries,
    State.WAITING_EXTERNAL_EVENT: _waits_for_event,
    State.WAITING_TIMER: _sleeps,
    State.WAITING_CHILDREN: _waits_for_children,
}


# --- free and due -------------------------------------------------------------------------------


def _is_due(facts: Facts) -> bool:
    return facts.due_at is None or facts.due_at <= facts.now


def _free(facts: Facts) -> str:  # noqa: PLR0911 (one line per cause, the strongest first)
    if facts.due_at is None:
        return "Nothing will wake it, which is a fault: run `manage.py verify` on it."
    if not facts.agent_known:
        return f"No process here knows its agent '{facts.agent}': see SIGNALBOX_APPS."
    if facts.serving == 0:
        return f"No worker serves its queue '{facts.queue}': start one with `manage.py worker`."
    if facts.deaths == SUSPECT_DEATHS:
        return "Its step ended two workers; it waits for a process of its own."
    due = _span(facts.now, facts.due_at)
    if facts.free == 0:
        return (
            f"It has been due for {due}, and the {_workers(facts.serving)} no free "
            f"slot{_behind(facts)}."
        )
    if facts.deadline is not None and facts.deadline <= facts.now:
        late = _span(facts.now, facts.deadline)
        return f"Its deadline passed {late} ago; the worker that takes it next ends it."
    return f"It has been due for {due} and a worker takes it next{_behind(facts)}."


def _behind(facts: Facts) -> str:
    if not facts.ahead:
        return ""
    if facts.ahead == 1:
        return ", after one that ranks before it"
    return f", after {facts.ahead} that rank before it"


def _workers(count: int) -> str:
    if count == 1:
        return "one worker of its queue has"
    return f"{count} workers of its queue have"


# --- words --------------------------------------------------------------------------------------


def _when(facts: Facts) -> str:
    until = facts.due_at or facts.wait_until
    if until is None:
        return "at no time that is known"
    if until - facts.now <= timedelta(seconds=_SOON_S):
        return "within a second"
    return f"in {_span(until, facts.now)}"


def _span(later: datetime, earlier: datetime | None) -> str:
    """Say how long it is from one instant to another, as coarsely as people do."""
    seconds = max((later - (earlier or later)).total_seconds(), 0.0)
    if seconds < _MINUTE_S:
        return f"{seconds:.0f} s" if seconds >= 1 else "less than a second"
    if seconds < _HOUR_S:
        return f"{seconds / _MINUTE_S:.0f} min"
    if seconds < 2 * _DAY_S:
        return f"{seconds / _HOUR_S:.0f} h"
    return f"{seconds / _DAY_S:.0f} days"


def _tidy(text: str | None) -> str:
    """Bring a foreign text into the sentence: one line, bounded, without its own full stop."""
    line = " ".join((text or "").split())
    short = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
    return short.rstrip(".")


_LONGEST = 200
