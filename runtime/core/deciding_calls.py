"""Decisions about tool calls: begin, success, failure, doubt.

Called by ``decide`` only.
"""

from typing import Any

from runtime.core import commands as c
from runtime.core.checkpoint import Pending
from runtime.core.effects import MEANINGS, Effect
from runtime.core.events import EventType as E
from runtime.core.keys import call_id
from runtime.core.retry import Check, ErrorKind, GiveUp, InDoubt, next_move
from runtime.core.reviews import ALLOWED, Decision, Kind
from runtime.core.states import State
from runtime.core.story import Story


def tell(story: Story, command: c.Command) -> bool:
    """Tell what a command about calls leads to; False if the command is not about calls."""
    match command:
        case c.PlanCalls(calls):
            described = [story.call(call, ordinal) for ordinal, call in enumerate(calls)]
            story.tell(E.PLAN_GENERATED, to=State.WAITING_TOOL_CALL.value, calls=described)
        case c.Begin():
            _begin(story, command)
        case c.Succeeded():
            _succeed(story, command)
        case c.Failed():
            _fail(story, command)
        case c.Parked(decided, wait_s):
            facts = _facts(story, decided)
            until = story.later(wait_s)
            story.tell(
                E.RETRY_SCHEDULED,
                _call_id(story, decided),
                **facts,
                until=until,
                since=story.now_text,
                why="the tool is resting after repeated failures",
            )
        case c.Doubted(why):
            doubt(story, why)
        case c.Checked():
            _check(story, command)
        case c.Repeats(decided, confirmed):
            request(
                story,
                Kind.REPEATED_WRITE,
                f"{decided.tool} was confirmed before with the same arguments (call {confirmed})",
                calls=[story.call(decided)],
            )
        case _:
            return False
    return True


def request(story: Story, kind: Kind, why: str, **more: Any) -> None:  # noqa: ANN401
    """Open a review item; the task goes on where it stands once a person has decided."""
    state = story.at.state
    has_call = story.at.pending is not None or bool(more.get("calls"))
    if state is State.RETRYING or more.get("calls"):
        state = State.WAITING_TOOL_CALL
    allowed = [d for d in ALLOWED[kind] if has_call or d is not Decision.RESULT]
    pending = story.at.pending
    story.tell(
        E.REVIEW_REQUESTED,
        pending.call_id if pending else None,
        review_id=story.dice.uuid(story.now),
        kind=kind.value,
        why=why,
        allowed=[choice.value for choice in allowed],
        since=story.now_text,
        back_to=state.value,
        **more,
    )


def doubt(story: Story, why: str) -> None:
    """Record that nobody knows whether the pending call happened, and ask a person."""
    pending = _pending(story)
    story.tell(
        E.TOOL_CALL_IN_DOUBT,
        pending.call_id,
        tool=pending.tool,
        operation_id=pending.operation_id,
        why=why,
    )
    request(story, Kind.IN_DOUBT, why)


def drop_pending(story: Story) -> None:
    """Close the calls that will not be made, so that every call id ends with one outcome."""
    pending = story.at.pending
    if pending is None:
        return
    if pending.dispatched:
        why = "the task ended before its outcome was known"
        story.tell(
            E.TOOL_CALL_IN_DOUBT,
            pending.call_id,
            tool=pending.tool,
            operation_id=pending.operation_id,
            why=why,
        )
    rest = [call_id(story.at.branch, story.at.step, n) for n in _queued(story)]
    story.tell(
        E.TOOL_CALL_CANCELLED,
        pending.call_id,
        tool=pending.tool,
        operation_id=pending.operation_id,
        dispatched=pending.dispatched,
        rest=rest,
    )


def _queued(story: Story) -> range:
    queue = story.at.queue
    return range(queue.next, queue.count) if queue else range(0)


def _pending(story: Story) -> Pending:
    if story.at.pending is None:
        raise story.refuse("take an outcome without a call")
    return story.at.pending


def _call_id(story: Story, decided: c.Decided | None) -> str:
    pending = story.at.pending
    if pending is not None:
        return pending.call_id
    if decided is None:
        raise story.refuse("take an outcome without a call")
    return call_id(story.at.branch, story.at.step + 1, 0)


def _facts(
    story: Story,
    decided: c.Decided | None,
    *,
    arguments: bool = True,
) -> dict[str, Any]:
    """Describe the call an event is about: in full if the event is the first to name it."""
    pending = story.at.pending
    if pending is not None:
        facts: dict[str, Any] = {"tool": pending.tool, "effect": pending.effect.value}
        if pending.operation_id is not None:
            facts["operation_id"] = pending.operation_id
        return facts
    if decided is None:
        raise story.refuse("take an outcome without a call")
    return story.call(decided, arguments=arguments)


def _begin(story: Story, command: c.Begin) -> None:
    facts = _facts(story, command.decided)
    pending = story.at.pending
    attempt = pending.attempt + 1 if pending else 1
    again = {"redispatch": True} if pending and pending.dispatched else {}
    story.tell(
        E.TOOL_CALL_STARTED,
        _call_id(story, command.decided),
        **facts,
        attempt=attempt,
        **again,
    )


def _succeed(story: Story, command: c.Succeeded) -> None:
    pending = story.at.pending
    # The row of the result holds the arguments of a call that was never pending.
    facts = _facts(story, command.decided, arguments=False)
    story.tell(
        E.TOOL_CALL_SUCCEEDED,
        _call_id(story, command.decided),
        **facts,
        to=_then(story).value,
        attempt=pending.attempt + 1 if pending else 1,
        result_digest=command.result_digest,
        summary=command.summary,
        took_ms=command.took_ms,
        **story.following(),
    )


def _then(story: Story) -> State:
    return State.WAITING_TOOL_CALL if story.at.queue else State.PLANNING


def _fail(story: Story, command: c.Failed) -> None:
    pending = story.at.pending
    declared = _effect(story, command.decided)
    attempt = pending.attempt + 1 if pending else 1
    move = next_move(
        command.policy,
        command.failure,
        effect=command.effect_now or declared,
        attempt=attempt,
        dice=story.dice.random(),
    )
    if isinstance(move, Check) and attempt > command.policy.attempts:
        move = InDoubt(f"its check does not answer: {command.failure.message}")
    if isinstance(move, InDoubt):
        doubt(story, move.reason)
        return
    described = _tell_failed(story, command, attempt, final=isinstance(move, GiveUp))
    if isinstance(move, GiveUp):
        if not described.get("calls"):
            request(story, Kind.RETRIES_EXHAUSTED, f"{described['tool']}: {move.reason}")
        return
    wait_s = max(move.after_s, command.not_before_s)
    since, call = story.now_text, described["call_id"]
    story.tell(E.RETRY_SCHEDULED, call, until=story.later(wait_s), since=since)


def _tell_failed(
    story: Story,
    command: c.Failed,
    attempt: int,
    *,
    final: bool,
) -> dict[str, Any]:
    """Tell the failed attempt, with the fallback that takes its place if it was the last."""
    failure, call = command.failure, _call_id(story, command.decided)
    facts = _facts(story, command.decided)
    if final and command.fallback is not None:
        fallback = {"call_id": f"{call}f", "fallback_for": call}
        facts["calls"] = [story.call(command.fallback) | fallback]
    unclear = failure.kind is ErrorKind.AMBIGUOUS or not failure.declared
    if not final and unclear and MEANINGS[Effect(facts["effect"])].leaves_us:
        facts["unknown"] = True
    story.tell(
        E.TOOL_CALL_FAILED,
        call,
        **facts,
        attempt=attempt,
        of=command.policy.attempts,
        error=failure.type_name,
        message=failure.message,
        failure=failure.kind.value,
        took_ms=command.took_ms,
        final=final,
    )
    return {"call_id": call, **facts}


def _effect(story: Story, decided: c.Decided | None) -> Effect:
    if story.at.pending is not None:
        return story.at.pending.effect
    if decided is None:
        raise story.refuse("take an outcome without a call")
    return decided.effect


def _check(story: Story, command: c.Checked) -> None:
    pending = _pending(story)
    if pending.effect is Effect.READ or not pending.dispatched:
        raise story.refuse("take a check of a call that was not dispatched")
    more: dict[str, Any] = {}
    if command.happened:
        more = {"result_digest": command.result_digest, "summary": command.summary}
        more |= story.following()
    story.tell(
        E.TOOL_CALL_RECONCILED,
        pending.call_id,
        tool=pending.tool,
        effect=pending.effect.value,
        operation_id=pending.operation_id,
        happened=command.happened,
        by="check",
        to=(_then(story) if command.happened else State.WAITING_TOOL_CALL).value,
        **more,
    )
    if not command.happened and pending.attempt >= command.attempts:
        why = f"{pending.tool} failed after {pending.attempt} attempts; its check says it did not happen"
        request(story, Kind.RETRIES_EXHAUSTED, why)
