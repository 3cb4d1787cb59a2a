"""``apply``: what an event makes of a checkpoint.

It sees no clock and no chance: everything it needs stands in the event.  It must go on reading
every event ever written, also after ``decide`` has changed.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from copy import replace
from typing import Any

from runtime.core import facts
from runtime.core.checkpoint import Checkpoint, Pending, Queue, Wait
from runtime.core.effects import MEANINGS, Effect
from runtime.core.errors import IllegalTransition
from runtime.core.events import Event
from runtime.core.events import EventType as E
from runtime.core.states import State
from runtime.core.table import TABLE, is_legal

# What reading a damaged payload raises: a fact is missing, of another type, or not one of ours.
_DAMAGED = (KeyError, TypeError, ValueError, IndexError, AttributeError)


def created(event: Event) -> Checkpoint:
    """Make the first checkpoint from ``task_created``.

    Raises:
        IllegalTransition: The event is another one, not the first, or damaged.
    """
    if event.type is not E.TASK_CREATED or event.seq != 1:
        raise IllegalTransition("none", event.type)
    try:
        deadline = facts.instant_or_none(event.payload, "deadline")
    except _DAMAGED as damage:
        raise _damaged("none", event, damage) from damage
    return Checkpoint(State.INITIALIZED, seq=1, deadline=deadline)


def apply(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    """Make the next checkpoint from an event.

    Raises:
        IllegalTransition: The event is not legal in this state, not the next in the journal, or
            its payload is damaged.
    """
    if event.seq != checkpoint.seq + 1:
        raise IllegalTransition(checkpoint.state, f"{event.type} as number {event.seq}")
    if checkpoint.state not in TABLE[event.type].sources:
        raise IllegalTransition(checkpoint.state, event.type)
    change = _CHANGES.get(event.type, _moved)
    try:
        after = change(checkpoint, event)
    except _DAMAGED as damage:
        raise _damaged(checkpoint.state, event, damage) from damage
    if not is_legal(event.type, checkpoint.state, after.state):
        raise IllegalTransition(checkpoint.state, f"{event.type} to {after.state}")
    moves = TABLE[event.type].moves or _writes(checkpoint) != _writes(after)
    return replace(after, seq=event.seq, situation=checkpoint.situation + moves)


def fold(events: Iterable[Event]) -> Checkpoint:
    """Fold a whole journal into its checkpoint.

    Raises:
        IllegalTransition: The journal is empty, has a gap, or holds an illegal event.
    """
    stream = iter(events)
    first = next(stream, None)
    if first is None:
        raise IllegalTransition("none", "an empty journal")
    checkpoint = created(first)
    for event in stream:
        checkpoint = apply(checkpoint, event)
    return checkpoint


def link(chain: str, call_id: str, digest: str, result_digest: str | None) -> str:
    """Add one completed call to the rolling digest; the inputs are keyed digests already."""
    parts = "\x1f".join((chain, call_id, digest, result_digest or ""))
    return hashlib.blake2b(parts.encode(), digest_size=16).hexdigest()


def _damaged(state: str, event: Event, damage: Exception) -> IllegalTransition:
    said = f"{type(damage).__name__}: {damage}"
    return IllegalTransition(state, f"{event.type} with a damaged payload ({said})")


def _writes(checkpoint: Checkpoint) -> str | None:
    """Name the write that is under way: its begin and its end move the situation."""
    pending = checkpoint.pending
    if pending is None or not pending.dispatched:
        return None
    return pending.operation_id


def _pending_of(checkpoint: Checkpoint, event: Event) -> Pending:
    """Give the call an event is about, where only a pending one can be meant."""
    if checkpoint.pending is None:
        raise IllegalTransition(checkpoint.state, f"{event.type} without a pending call")
    return checkpoint.pending


def _moved(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    """Events that change nothing but the state name it, where there is a choice."""
    if TABLE[event.type].targets_from(checkpoint.state) == {checkpoint.state}:
        return checkpoint
    return replace(checkpoint, state=_state(event, "to"), wait=None)


def _state(event: Event, name: str) -> State:
    return State(facts.text(event.payload, name))


def _started(checkpoint: Checkpoint, _event: Event) -> Checkpoint:
    return replace(checkpoint, state=State.PLANNING)


def _planned(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    calls = facts.parts(event.payload, "calls")
    if not calls:
        return checkpoint
    return replace(
        checkpoint,
        state=State.WAITING_TOOL_CALL,
        step=checkpoint.step + 1,
        pending=_call(calls[0], event.seq, 0),
        queue=_rest(Queue(event.seq, 0, len(calls))),
    )


def _call(call: Mapping[str, Any], args_seq: int, args_index: int | None) -> Pending:
    """Read a call that was decided; its arguments stand in the event of that number."""
    return Pending(
        call_id=facts.text(call, "call_id"),
        tool=facts.text(call, "tool"),
        effect=Effect(call["effect"]),
        digest=facts.text(call, "digest"),
        args_seq=args_seq,
        args_index=args_index,
        operation_id=facts.text_or_none(call, "operation_id"),
        again=facts.truth(call, "again", absent=False),
        fallback_for=facts.text_or_none(call, "fallback_for"),
    )


def _rest(queue: Queue) -> Queue | None:
    if queue.next + 1 >= queue.count:
        return None
    return replace(queue, next=queue.next + 1)


def _taken(checkpoint: Checkpoint, event: Event) -> tuple[Checkpoint, Pending]:
    """Make a call pending that its own event decided, unless one is pending already."""
    if checkpoint.pending is not None:
        return checkpoint, checkpoint.pending
    pending = _call(event.payload, event.seq, None)
    return replace(checkpoint, pending=pending, step=checkpoint.step + 1), pending


def _dispatched(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    checkpoint, pending = _taken(checkpoint, event)
    # A read, or a write in our own transaction, did not happen if it left no result.
    leaves = MEANINGS[pending.effect].leaves_us
    unclear = pending.unclear or pending.dispatched
    pending = replace(pending, dispatched=leaves, unclear=unclear)
    return replace(checkpoint, state=State.WAITING_TOOL_CALL, pending=pending, wait=None)


def _completed(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    """Close the pending call and put the next of its plan in its place."""
    checkpoint, pending = _taken(checkpoint, event)
    result = facts.text_or_none(event.payload, "result_digest")
    # A step that was skipped had no effect, whatever result was given in its place.
    wrote = MEANINGS[pending.effect].is_write and event.type is not E.STEP_SKIPPED
    return _next_call(
        replace(
            checkpoint,
            done=checkpoint.done + 1,
            writes=checkpoint.writes + wrote,
            chain=link(checkpoint.chain, pending.call_id, pending.digest, result),
            wait=None,
        ),
        event,
    )


def _next_call(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    """Take the next call of the plan, which the event repeats in short, or go on planning."""
    queue = checkpoint.queue
    if queue is None:
        return replace(checkpoint, state=State.PLANNING, pending=None)
    return replace(
        checkpoint,
        state=State.WAITING_TOOL_CALL,
        pending=_call(facts.part(event.payload, "next"), queue.seq, queue.next),
        queue=_rest(queue),
    )


def _failed(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    checkpoint, pending = _taken(checkpoint, event)
    checkpoint = replace(checkpoint, state=State.WAITING_TOOL_CALL, wait=None)
    instead = facts.parts(event.payload, "calls")
    if instead:
        fallback = _call(instead[0], event.seq, 0)
        chain = link(checkpoint.chain, pending.call_id, pending.digest, None)
        return replace(checkpoint, pending=fallback, done=checkpoint.done + 1, chain=chain)
    unknown = facts.truth(event.payload, "unknown", absent=False)
    attempt = facts.count(event.payload, "attempt")
    tried = replace(pending, attempt=attempt, dispatched=unknown, unclear=unknown)
    return replace(checkpoint, pending=tried)


def _cancelled(checkpoint: Checkpoint, _event: Event) -> Checkpoint:
    return replace(checkpoint, pending=None, queue=None)


def _doubted(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    pending = replace(_pending_of(checkpoint, event), doubted=True)
    return replace(checkpoint, pending=pending)


def _reconciled(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    pending = _pending_of(checkpoint, event)
    if facts.truth(event.payload, "happened"):
        return _completed(checkpoint, event)
    again = replace(pending, dispatched=False, unclear=False, doubted=False)
    return replace(checkpoint, state=State.WAITING_TOOL_CALL, pending=again, wait=None)


def _retrying(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    if "call_id" in event.payload:
        checkpoint, _ = _taken(checkpoint, event)
    back_to = State.PLANNING if checkpoint.pending is None else State.WAITING_TOOL_CALL
    until, since = facts.instant(event.payload, "until"), facts.instant(event.payload, "since")
    wait = Wait("retry", until, None, since, back_to)
    return replace(checkpoint, state=State.RETRYING, wait=wait)


def _asked(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    payload = event.payload
    wait = Wait(
        kind=facts.text(payload, "kind"),
        until=facts.instant_or_none(payload, "until"),
        review_id=facts.text(payload, "review_id"),
        since=facts.instant(payload, "since"),
        back_to=_state(event, "back_to"),
    )
    calls = facts.parts(payload, "calls")
    if calls:
        pending = _call(calls[0], event.seq, 0)
        checkpoint = replace(checkpoint, pending=pending, step=checkpoint.step + 1)
    return replace(checkpoint, state=State.WAITING_HUMAN, wait=wait)


def _settled(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    payload, target, pending = event.payload, _state(event, "to"), checkpoint.pending
    if pending is not None:
        fresh = facts.truth(payload, "fresh", absent=False)
        again = facts.truth(payload, "again", absent=False)
        attempt = 0 if fresh else pending.attempt
        pending = replace(pending, attempt=attempt, again=again or pending.again)
    wait = checkpoint.wait if target is State.WAITING_HUMAN else None
    deadline = facts.instant_or_none(payload, "deadline") or checkpoint.deadline
    return replace(checkpoint, state=target, pending=pending, wait=wait, deadline=deadline)


def _drifted(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    return replace(checkpoint, drift=facts.text(event.payload, "digest"))


def _ended(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    state = _ENDS[event.type]
    if state is None:
        state = _state(event, "to")
    return replace(
        checkpoint,
        state=state,
        pending=None,
        queue=None,
        wait=None,
        outcome=facts.text(event.payload, "outcome"),
        result_digest=facts.text_or_none(event.payload, "result_digest"),
    )


_ENDS: dict[E, State | None] = {
    E.TASK_COMPLETED: None,  # at once, or by way of consolidation
    E.TASK_FAILED: State.TERMINATED_FAILED,
    E.TASK_ABORTED: State.TERMINATED_ABORTED,
}
_CHANGES: dict[E, Callable[[Checkpoint, Event], Checkpoint]] = {
    E.TASK_STARTED: _started,
    E.PLAN_GENERATED: _planned,
    E.TOOL_CALL_STARTED: _dispatched,
    E.TOOL_CALL_SUCCEEDED: _completed,
    E.TOOL_CALL_FAILED: _failed,
    E.TOOL_CALL_CANCELLED: _cancelled,
    E.TOOL_CALL_IN_DOUBT: _doubted,
    E.TOOL_CALL_RECONCILED: _reconciled,
    E.STEP_SKIPPED: _completed,
    E.RETRY_SCHEDULED: _retrying,
    E.REVIEW_REQUESTED: _asked,
    E.REVIEW_CLOSED: _settled,
    E.CONFIG_DRIFT_DETECTED: _drifted,
    E.TASK_COMPLETED: _ended,
    E.TASK_FAILED: _ended,
    E.TASK_ABORTED: _ended,
}
