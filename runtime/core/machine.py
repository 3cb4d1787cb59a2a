"""``decide``: what a command leads to in a given state.

Pure: the same checkpoint, command, instant and dice give the same events.  What the events make
of the checkpoint is ``apply``'s word alone; the rules about calls and about people stand in the
two modules beside this one.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from runtime.core import commands as c
from runtime.core import deciding_calls, deciding_people
from runtime.core.apply import apply, created, fold
from runtime.core.checkpoint import Checkpoint
from runtime.core.errors import IllegalTransition, NotAllowedNow
from runtime.core.events import Event
from runtime.core.events import EventType as E
from runtime.core.records import Passage
from runtime.core.states import ACTIVE, State
from runtime.core.story import Decision, Dice, Story

__all__ = ["Decision", "Dice", "apply", "create", "decide", "fold", "wakes_at"]

_AT_ONCE = datetime.min.replace(tzinfo=UTC)
_NAMES: dict[type, str] = {
    c.PlanCalls: "plan calls",
    c.Begin: "begin a call",
    c.Succeeded: "take a result",
    c.Failed: "take a failure",
    c.Parked: "put off a call",
    c.Doubted: "be in doubt",
    c.Checked: "take the answer of a check",
    c.Repeats: "ask about a repeated write",
    c.AskHuman: "ask a question",
    c.RejectPlan: "reject a plan",
    c.GiveUp: "fail",
    c.Exhaust: "use up a limit",
    c.Drifted: "record a drift",
    c.Escalate: "ask a person",
    c.Hold: "pause",
    c.ReleaseHold: "resume",
    c.RetryNow: "retry",
}


def create(now: datetime, actor: str, deadline_s: float, facts: Mapping[str, Any]) -> Decision:
    """Decide on the first event of a task.

    Args:
        now: The instant of creation.
        actor: Who asked for the task.
        deadline_s: Seconds until it must have ended.
        facts: Agent, digests of input and manifest, and what else the record should say.
    """
    deadline = (now + timedelta(seconds=deadline_s)).isoformat()
    payload = {**facts, "deadline": deadline}
    event = Event(1, E.TASK_CREATED, payload, now, actor)
    first = created(event)
    return Decision((Passage(first, event, first),), first)


def decide(  # noqa: PLR0913 (the facts of one decision, four of them by name)
    checkpoint: Checkpoint,
    command: c.Command,
    now: datetime,
    dice: Dice,
    *,
    actor: str,
    plan: Sequence[c.Decided] = (),
    task_id: object = "",
) -> Decision:
    """Decide what a command leads to.

    Args:
        checkpoint: Where the task stands.
        command: What is asked.
        now: The present instant; events carry it.
        dice: Chance.
        actor: Who causes the events.
        plan: The calls of the plan under way, if it named several.
        task_id: The task, for what an error says.

    Raises:
        NotAllowedNow: The command has no place in this state; nothing happens.
        DecisionRefused: The review item does not take this decision; nothing happens.
        CheckpointUnreadable: ``plan`` is not the plan under way.
    """
    story = Story(checkpoint, now, dice, actor, plan, task_id)
    if checkpoint.state not in ACTIVE:
        story.refuse(_named(command))
    try:
        _tell(story, command)
    except IllegalTransition as illegal:
        # The table knows what is legal; a command that would lead past it has no place here.
        raise NotAllowedNow(task_id, _named(command), checkpoint.state) from illegal
    return story.end()


def _tell(story: Story, command: c.Command) -> None:
    if not deciding_calls.tell(story, command) and not deciding_people.tell(story, command):
        _tell_of_task(story, command)


def _tell_of_task(story: Story, command: c.Command) -> None:
    match command:
        case c.Start(incarnation):
            story.tell(E.TASK_STARTED, incarnation=incarnation)
        case c.Finish(result_digest, summary):
            story.tell(
                E.TASK_COMPLETED,
                to=State.TERMINATED_SUCCESS.value,
                outcome="succeeded",
                result_digest=result_digest,
                summary=summary,
            )
        case c.GiveUp(reason):
            deciding_people.drop_open(story, reason)
            story.tell(E.TASK_FAILED, outcome="failed", reason=reason)
        case c.Exhaust(limit, allowed):
            reason = f"its limit of {allowed} {limit} is used up"
            story.tell(E.BUDGET_EXHAUSTED, limit=limit, allowed=allowed)
            deciding_people.drop_open(story, reason)
            story.tell(E.TASK_FAILED, outcome="failed", reason=reason)
        case c.Drifted(changes, digest):
            story.tell(E.CONFIG_DRIFT_DETECTED, changes=changes, digest=digest)
        case _:
            story.refuse(_named(command))


def _named(command: c.Command) -> str:
    return _NAMES.get(type(command), type(command).__name__.lower())


def wakes_at(checkpoint: Checkpoint) -> datetime | None:
    """Tell when a task that nobody works on must be looked at again; None for never.

    A task that can go on at once wakes at the beginning of time.  Waiting for a person uses up no
    run time, so that the task's own deadline does not wake it.
    """
    wait = checkpoint.wait
    if checkpoint.state is State.WAITING_HUMAN:
        return datetime.fromisoformat(wait.until) if wait and wait.until else None
    if checkpoint.state not in ACTIVE:
        return None
    if wait is None or wait.until is None:
        return _AT_ONCE
    until = datetime.fromisoformat(wait.until)
    if checkpoint.deadline is None:
        return until
    return min(until, datetime.fromisoformat(checkpoint.deadline))
