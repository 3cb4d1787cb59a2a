"""Why is it not moving?  One sentence from what the database knows.

Pure: facts in, text out.  The list, the task page, the command line and alerts all use it, so that
they never say different things.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from runtime.core.reviews import Kind
from runtime.core.saying import NOTHING, Said, say
from runtime.core.states import TERMINAL, State
from runtime.core.why_facts import Asked, Facts, Hold, Holder, Resting

__all__ = ["Asked", "Facts", "Hold", "Holder", "Resting", "said", "sentence"]

SUSPECT_DEATHS = 2
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
_SOON_S = 1.0


def sentence(facts: Facts) -> str:
    """Say in one English sentence where a task stands and what it waits for."""
    return str(said(facts))


def said(facts: Facts) -> Said:  # noqa: PLR0911 (one line per cause, the strongest first)
    """Say where a task stands and what it waits for, to be worded for its reader."""
    if facts.state in TERMINAL:
        return _ended(facts)
    if facts.hold is not None:
        return _paused(facts, facts.hold)
    if facts.holder is not None:
        return _in_hand(facts, facts.holder)
    if facts.state is State.WAITING_HUMAN:
        return _asks(facts)
    if facts.attention:
        return say("A command of a person waits to be read; the next worker or sweep obeys it.")
    if not facts.readable:
        return say(
            "Its checkpoint cannot be read; the worker that takes it next hands it to a person."
        )
    waits = _WAITS.get(facts.state)
    if waits is not None and not _is_due(facts):
        return waits(facts)
    return _free(facts)


# --- the end, pauses, workers -------------------------------------------------------------------


def _ended(facts: Facts) -> Said:
    ends = _ENDS.get(facts.state, _ENDS[State.TERMINATED_ABORTED])
    which = ends[2 * (facts.finished_at is not None) + bool(facts.reason)]
    return which.filled(span=_span(facts.now, facts.finished_at), why=_tidy(facts.reason))


#: Without and with an instant, each without and with a reason.
_ENDS: dict[State, tuple[Said, ...]] = {
    State.TERMINATED_SUCCESS: (
        say("It reached its goal."),
        say("It reached its goal: {why}."),
        say("It reached its goal {span} ago."),
        say("It reached its goal {span} ago: {why}."),
    ),
    State.TERMINATED_FAILED: (
        say("It failed."),
        say("It failed: {why}."),
        say("It failed {span} ago."),
        say("It failed {span} ago: {why}."),
    ),
    State.TERMINATED_ABORTED: (
        say("It was ended."),
        say("It was ended: {why}."),
        say("It was ended {span} ago."),
        say("It was ended {span} ago: {why}."),
    ),
}


def _paused(facts: Facts, hold: Hold) -> Said:
    is_busy = facts.holder is not None and _lives(facts, facts.holder)
    return _PAUSES[2 * is_busy + bool(hold.reason)].filled(
        by=hold.by or say("Somebody"),
        span=_span(facts.now, hold.at),
        why=_tidy(hold.reason),
        worker=facts.holder.address if facts.holder is not None else "",
    )


#: With nobody at work and with somebody, each without and with a reason.
_PAUSES = (
    say("{by} paused it {span} ago."),
    say("{by} paused it {span} ago: {why}."),
    say("{by} paused it {span} ago; worker {worker} is still finishing the step under way."),
    say("{by} paused it {span} ago: {why}; worker {worker} is still finishing the step under way."),
)


def _in_hand(facts: Facts, holder: Holder) -> Said:
    if holder.state is None:
        return say("Its worker is not known any more; the sweep frees it.")
    worker = holder.address
    if holder.state in _GONE:
        gone = _GONE[holder.state][bool(holder.death)]
        return gone.filled(worker=worker, why=_tidy(holder.death))
    if not _lives(facts, holder):
        return _silent(facts, holder)
    if holder.state == "draining":
        return say(
            "The worker {worker} is shutting down and gives it back after it has finished {doing}.",
            worker=worker,
            doing=_doing(facts),
        )
    return say(
        "The worker {worker} is {doing}, for {span} now.",
        worker=worker,
        doing=_doing(facts),
        span=_span(facts.now, facts.moved_at),
    )


#: Without and with how it died.
_GONE = {
    "dead": (
        say("The worker {worker} that held it is dead; the sweep frees it."),
        say("The worker {worker} that held it is dead ({why}); the sweep frees it."),
    ),
    "stopped": (
        say("The worker {worker} that held it is stopped; the sweep frees it."),
        say("The worker {worker} that held it is stopped ({why}); the sweep frees it."),
    ),
}


def _silent(facts: Facts, holder: Holder) -> Said:
    return say(
        "The worker {worker} that holds it has been silent for {span} and its lease ran out; "
        "the sweep gives it to another worker.",
        worker=holder.address,
        span=_span(facts.now, holder.renewed_at) if holder.renewed_at else say("a while"),
    )


def _lives(facts: Facts, holder: Holder) -> bool:
    if holder.state not in {"running", "draining"}:
        return False
    return holder.expires_at is not None and holder.expires_at > facts.now


def _doing(facts: Facts) -> Said:
    if facts.state is State.WAITING_TOOL_CALL and facts.tool:
        if facts.attempt:
            return say("calling {tool} (attempt {number})", **_attempt(facts))
        return say("calling {tool}", tool=facts.tool)
    if facts.state is State.RETRYING and facts.tool:
        return say("about to call {tool} again", tool=facts.tool)
    known = _DOING.get(facts.state)
    return known or say("at work on it ({state})", state=facts.state)


_DOING: dict[State, Said] = {
    State.INITIALIZED: say("starting it"),
    State.PLANNING: say("deciding on its next step"),
    State.COMPENSATING: say("undoing its effects"),
    State.CONSOLIDATING: say("moving what was learned into memory"),
}


def _attempt(facts: Facts) -> dict[str, object]:
    return {"tool": facts.tool or say("a call"), "number": facts.attempt + 1}


# --- waiting ------------------------------------------------------------------------------------


def _asks(facts: Facts) -> Said:
    asked = facts.asked
    if asked is None:
        return say(
            "It waits for a person, but no review item is open: run `manage.py verify` on it."
        )
    if asked.status == "decided":
        return say(
            "{by} decided '{decision}' {span} ago; a worker or the sweep carries it out.",
            by=asked.decided_by or say("Somebody"),
            decision=asked.decision,
            span=_span(facts.now, asked.decided_at or asked.at),
        )
    text = _tidy(asked.question or asked.why)
    asks = _ASKS[text.endswith(("?", "!"))]
    # What the runtime recorded may be worded anew; what the agent asked may not.
    about = text if asked.question else Said("{why}", {"why": text})
    wanted = _KINDS.get(asked.kind) or say("decide on it ({kind})", kind=asked.kind)
    return asks.filled(span=_span(facts.now, asked.at), wanted=wanted, about=about)


#: The words of the other may bring their own end of the sentence.
_ASKS = (
    say("It has waited {span} for a person to {wanted}: {about}."),
    say("It has waited {span} for a person to {wanted}: {about}"),
)
_KINDS: dict[str, Said] = {
    Kind.QUESTION: say("answer its question"),
    Kind.IN_DOUBT: say("say whether a call happened"),
    Kind.KILLED_WORKER: say("look at a step that killed its workers"),
    Kind.RETRIES_EXHAUSTED: say("say what to do after the last attempt"),
    Kind.PLAN_INVALID: say("look at a plan that cannot run"),
    Kind.REPEATED_WRITE: say("say whether an effect is wanted twice"),
    Kind.CHECKPOINT_UNREADABLE: say("look at state that cannot be trusted"),
}


def _retries(facts: Facts) -> Said:
    call, when = _attempt(facts), _when(facts)
    if facts.resting is not None:
        return say(
            "{tool} rests after repeated failures; the call is tried {when}.", **call, when=when
        )
    if not facts.last_failure:
        return say("Attempt {number} of {tool} comes {when}.", **call, when=when)
    why = _tidy(facts.last_failure)
    return say(
        "Attempt {number} of {tool} comes {when} after it failed: {why}.",
        **call,
        when=when,
        why=why,
    )


def _waits_for_event(facts: Facts) -> Said:
    return say("It waits for an event; the wait ends {when}.", when=_when(facts))


def _sleeps(facts: Facts) -> Said:
    return say("It sleeps by its own plan and wakes {when}.", when=_when(facts))


def _waits_for_children(facts: Facts) -> Said:
    return say("It waits for its sub-tasks; the wait ends {when}.", when=_when(facts))


def _starts_later(facts: Facts) -> Said:
    return say("It starts {when}, as was asked when it was submitted.", when=_when(facts))


_WAITS: dict[State, Callable[[Facts], Said]] = {
    State.INITIALIZED: _starts_later,
    State.RETRYING: _retries,
    State.WAITING_EXTERNAL_EVENT: _waits_for_event,
    State.WAITING_TIMER: _sleeps,
    State.WAITING_CHILDREN: _waits_for_children,
}


# --- free and due -------------------------------------------------------------------------------


def _is_due(facts: Facts) -> bool:
    return facts.due_at is None or facts.due_at <= facts.now


def _free(facts: Facts) -> Said:  # noqa: PLR0911 (one line per cause, the strongest first)
    if facts.due_at is None:
        return say("Nothing will wake it, which is a fault: run `manage.py verify` on it.")
    if not facts.agent_known:
        return say(
            "No process here knows its agent '{agent}': see SIGNALBOX_APPS.", agent=facts.agent
        )
    if facts.serving == 0:
        return say(
            "No worker serves its queue '{queue}': start one with `manage.py worker`.",
            queue=facts.queue,
        )
    if facts.deaths == SUSPECT_DEATHS:
        return say("Its step ended two workers; it waits for a process of its own.")
    due, behind = _span(facts.now, facts.due_at), _behind(facts)
    if facts.free == 0:
        busy = _BUSY[facts.serving > 1]
        return busy.filled(span=due, count=facts.serving, behind=behind)
    if facts.deadline is not None and facts.deadline <= facts.now:
        late = _span(facts.now, facts.deadline)
        return say(
            "Its deadline passed {span} ago; the worker that takes it next ends it.", span=late
        )
    return say(
        "It has been due for {span} and a worker takes it next{behind}.", span=due, behind=behind
    )


#: With one worker and with several.
_BUSY = (
    say("It has been due for {span}, and the one worker of its queue has no free slot{behind}."),
    say(
        "It has been due for {span}, and the {count} workers of its queue have no free "
        "slot{behind}."
    ),
)


def _behind(facts: Facts) -> Said:
    if not facts.ahead:
        return NOTHING
    if facts.ahead == 1:
        return say(", after one that ranks before it")
    return say(", after {count} that rank before it", count=facts.ahead)


# --- words --------------------------------------------------------------------------------------


def _when(facts: Facts) -> Said:
    until = facts.due_at or facts.wait_until
    if until is None:
        return say("at no time that is known")
    if until - facts.now <= timedelta(seconds=_SOON_S):
        return say("within a second")
    return say("in {span}", span=_span(until, facts.now))


def _span(later: datetime, earlier: datetime | None) -> Said:
    """Say how long it is from one instant to another, as coarsely as people do."""
    seconds = max((later - (earlier or later)).total_seconds(), 0.0)
    if seconds < 1:
        return say("less than a second")
    if seconds < _MINUTE_S:
        return say("{number} s", number=f"{seconds:.0f}")
    if seconds < _HOUR_S:
        return say("{number} min", number=f"{seconds / _MINUTE_S:.0f}")
    if seconds < 2 * _DAY_S:
        return say("{number} h", number=f"{seconds / _HOUR_S:.0f}")
    return say("{number} days", number=f"{seconds / _DAY_S:.0f}")


def _tidy(text: str | None) -> str:
    """Bring a foreign text into the sentence: one line, bounded, without its own full stop."""
    line = " ".join((text or "").split())
    short = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
    return short.rstrip(".")


_LONGEST = 200
