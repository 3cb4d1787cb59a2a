"""Decisions about tool calls: begin, success, failure, doubt.

Called by ``decide`` only.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.core import commands as c
from runtime.core.checkpoint import Pending
from runtime.core.effects import MEANINGS, Effect, Unknown
from runtime.core.events import EventType as E
from runtime.core.keys import call_id
from runtime.core.retry import Check, ErrorKind, GiveUp, InDoubt, Move, next_move
from runtime.core.reviews import ALLOWED, Decision, Kind
from runtime.core.states import State
from runtime.core.story import Story


def tell(story: Story, command: c.Command) -> bool:
    """Tell what a command about calls leads to; False if the command is not about calls."""
    match command:
        case c.PlanCalls(calls):
            _plan(story, calls)
        case c.Begin():
            _begin(story, command)
        case c.Succeeded():
            _succeed(story, command)
        case c.Failed():
            _fail(story, command)
        case c.Parked():
            _park(story, command)
        case c.Doubted(why):
            doubt(story, why)
        case c.Checked():
            _check(story, command)
        case c.Repeats():
            _repeat(story, command)
        case _:
            return False
    return True


def request(story: Story, kind: Kind, why: str, **more: Any) -> None:
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
    """Record that nobody knows whether the pending call happened, and ask a person.

    Raises:
        NotAllowedNow: Its intent was never written, so it did not happen.
    """
    _tell_doubt(story, _sent(story), why)
    request(story, Kind.IN_DOUBT, why)


def _tell_doubt(story: Story, pending: Pending, why: str) -> None:
    story.tell(
        E.TOOL_CALL_IN_DOUBT,
        pending.call_id,
        tool=pending.tool,
        operation_id=pending.operation_id,
        why=why,
    )


def drop_pending(story: Story) -> None:
    """Close the calls that will not be made, so that every call id ends with one outcome."""
    pending = story.at.pending
    if pending is None:
        return
    if pending.dispatched:
        _tell_doubt(story, pending, "the task ended before its outcome was known")
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


def _sent(story: Story) -> Pending:
    """Give the pending call, whose effect may be out in the world."""
    pending = story.at.pending
    if pending is None or not pending.dispatched:
        story.refuse("take word of a call that was not dispatched")
    return pending


def _about(story: Story, decided: c.Decided | None) -> Pending | c.Decided:
    """Give the call a command is about: the pending one, else the one just decided."""
    pending = story.at.pending
    if pending is None:
        if decided is None:
            story.refuse("take word of a call that nobody decided")
        return decided
    if decided is not None and (decided.tool, decided.digest) != (pending.tool, pending.digest):
        story.refuse(f"take word of {decided.tool} while {pending.tool} is pending")
    return pending


def _call_id(story: Story) -> str:
    pending = story.at.pending
    return pending.call_id if pending else call_id(story.at.branch, story.at.step + 1, 0)


def _attempt(story: Story) -> int:
    return story.at.pending.attempt + 1 if story.at.pending else 1


def _facts(
    story: Story,
    decided: c.Decided | None,
    *,
    arguments: bool = True,
) -> dict[str, Any]:
    """Describe the call an event is about: in full if the event is the first to name it."""
    about = _about(story, decided)
    if isinstance(about, c.Decided):
        return story.call(about, arguments=arguments)
    facts: dict[str, Any] = {"tool": about.tool, "effect": about.effect.value}
    if about.operation_id is not None:
        facts["operation_id"] = about.operation_id
    return facts


def _plan(story: Story, calls: Sequence[c.Decided]) -> None:
    if not calls:
        story.refuse("plan no calls")
    described = [story.call(call, ordinal) for ordinal, call in enumerate(calls)]
    story.tell(E.PLAN_GENERATED, to=State.WAITING_TOOL_CALL.value, calls=described)


def _park(story: Story, command: c.Parked) -> None:
    story.tell(
        E.RETRY_SCHEDULED,
        _call_id(story),
        **_facts(story, command.decided),
        until=story.later(command.wait_s),
        since=story.now_text,
        why="the tool is resting after repeated failures",
    )


def _repeat(story: Story, command: c.Repeats) -> None:
    decided, confirmed = command.decided, command.confirmed_call_id
    if story.at.state is not State.PLANNING or not MEANINGS[decided.effect].is_write:
        story.refuse("ask about a repeated write")
    why = f"{decided.tool} was confirmed before with the same arguments (call {confirmed})"
    request(story, Kind.REPEATED_WRITE, why, calls=[story.call(decided)])


def _begin(story: Story, command: c.Begin) -> None:
    facts = _facts(story, command.decided)
    pending = story.at.pending
    again: dict[str, Any] = {}
    if pending is not None and pending.dispatched:
        if pending.doubted or MEANINGS[pending.effect].when_unknown is not Unknown.SAME_ID:
            story.refuse("send a call again that may have happened and cannot be told apart,")
        again = {"redispatch": True}
    story.tell(E.TOOL_CALL_STARTED, _call_id(story), **facts, attempt=_attempt(story), **again)


def _succeed(story: Story, command: c.Succeeded) -> None:
    # The row of the result holds the arguments of a call that was never pending.
    facts = _facts(story, command.decided, arguments=False)
    if _leaves_us(facts) and not _is_out(story):
        story.refuse("take the result of a write whose intent was not written")
    story.tell(
        E.TOOL_CALL_SUCCEEDED,
        _call_id(story),
        **facts,
        to=_then(story).value,
        attempt=_attempt(story),
        result_digest=command.result_digest,
        summary=command.summary,
        took_ms=command.took_ms,
        **story.following(),
    )


def _leaves_us(facts: Mapping[str, Any]) -> bool:
    return MEANINGS[Effect(facts["effect"])].leaves_us


def _is_out(story: Story) -> bool:
    """Tell whether the call of this attempt may have reached the outside."""
    return story.at.pending is not None and story.at.pending.dispatched


def _then(story: Story) -> State:
    return State.WAITING_TOOL_CALL if story.at.queue else State.PLANNING


def _fail(story: Story, command: c.Failed) -> None:
    about = _about(story, command.decided)
    move = _move(story, command, command.effect_now or about.effect)
    if isinstance(move, InDoubt):
        doubt(story, move.reason)
        return
    call = _call_id(story)
    _tell_failed(story, command, move)
    if not isinstance(move, GiveUp):
        wait_s = max(move.after_s, command.not_before_s)
        until, since = story.later(wait_s), story.now_text
        story.tell(E.RETRY_SCHEDULED, call, until=until, since=since)
    elif command.fallback is None:
        request(story, Kind.RETRIES_EXHAUSTED, f"{about.tool}: {move.reason}")


def _move(story: Story, command: c.Failed, effect: Effect) -> Move:
    """Say what follows a failure, given what is known of the attempts before it."""
    failure, policy, attempt = command.failure, command.policy, _attempt(story)
    dice = story.dice.random()
    move = next_move(policy, failure, effect=effect, attempt=attempt, dice=dice)
    if isinstance(move, Check) and attempt > policy.attempts:
        return InDoubt(f"its check does not answer: {failure.message}")
    if isinstance(move, InDoubt) and not _is_out(story):
        return GiveUp(f"it was not sent: {failure.message}")
    # A downstream that knows our id speaks for all attempts when it refuses for good; one that is
    # busy, or that may have forgotten the id, says nothing of the attempt before.
    final_word = failure.kind is ErrorKind.PERMANENT and effect is Effect.KEYED
    if not isinstance(move, GiveUp) or not _is_out(story) or final_word:
        return move
    if _was_unclear(story):
        return InDoubt(f"an earlier attempt may have happened; the last one: {failure.message}")
    if not failure.declared:
        return InDoubt(f"nobody knows whether it happened: {failure.message}")
    return move


def _was_unclear(story: Story) -> bool:
    return story.at.pending is not None and story.at.pending.unclear


def _tell_failed(story: Story, command: c.Failed, move: Move) -> None:
    """Tell the failed attempt, with the fallback that takes its place if it was the last."""
    failure, call, final = command.failure, _call_id(story), isinstance(move, GiveUp)
    facts = _facts(story, command.decided)
    if final and command.fallback is not None:
        fallback = {"call_id": f"{call}f", "fallback_for": call}
        facts["calls"] = [story.call(command.fallback) | fallback]
    unclear = failure.kind is ErrorKind.AMBIGUOUS or not failure.declared
    unclear = unclear or isinstance(move, Check) or _was_unclear(story)
    if not final and unclear and _is_out(story):
        facts["unknown"] = True
    story.tell(
        E.TOOL_CALL_FAILED,
        call,
        **facts,
        attempt=_attempt(story),
        of=command.policy.attempts,
        error=failure.type_name,
        message=failure.message,
        failure=failure.kind.value,
        took_ms=command.took_ms,
        final=final,
    )


def _check(story: Story, command: c.Checked) -> None:
    pending = _sent(story)
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
        tried = f"{pending.tool} failed after {pending.attempt} attempts"
        why = f"{tried}; its check says that it did not happen"
        request(story, Kind.RETRIES_EXHAUSTED, why)
