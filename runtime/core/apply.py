"""``apply``: what an event makes of a checkpoint.

It sees no clock and no chance: everything it needs stands in the event.  It must go on reading
every event ever written, also after ``decide`` has changed.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace

from runtime.core.checkpoint import Checkpoint, Pending, Queue, Wait
from runtime.core.effects import Effect
from runtime.core.errors import IllegalTransition
from runtime.core.events import Event
from runtime.core.events import EventType as E
from runtime.core.states import State
from runtime.core.table import TABLE, is_legal


def created(event: Event) -> Checkpoint:
    """Make the first checkpoint from ``task_created``.

    Raises:
        IllegalTransition: The event is another one, or not the first.
    """
    if event.type is not E.TASK_CREATED or event.seq != 1:
        raise IllegalTransition("none", event.type)
    return Checkpoint(State.INITIALIZED, seq=1, deadline=event.payload["deadline"])


def apply(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    """Make the next checkpoint from an event.

    Raises:
        IllegalTransition: The event is not legal in this state, or not the next in the journal.
    """
    if event.seq != checkpoint.seq + 1:
        raise IllegalTransition(checkpoint.state, f"{event.type} as number {event.seq}")
    if checkpoint.state not in TABLE[event.type].sources:
        raise IllegalTransition(checkpoint.state, event.type)
    change = _CHANGES.get(event.type, _moved)
    after = change(checkpoint, event)
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


def _writes(checkpoint: Checkpoint) -> str | None:
    """Name the write that is under way: its begin and its end move the situation."""
    pending = checkpoint.pending
    if pending is None or not pending.dispatched:
        return None
    return pending.operation_id


def _moved(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    """Events that change nothing but the state name it, where there is a choice."""
    if not TABLE[event.type].targets:
        return checkpoint
    return replace(checkpoint, state=State(event.payload["to"]))


def _started(checkpoint: Checkpoint, _event: Event) -> Checkpoint:
    return replace(checkpoint, state=State.PLANNING)


def _planned(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    calls = event.payload["calls"]
    checkpoint = replace(
        checkpoint,
        state=State.WAITING_TOOL_CALL,
        step=checkpoint.step + 1,
        queue=Queue(event.seq, 0, len(calls)),
    )
    return replace(checkpoint, pending=_pending(event, 0), queue=_rest(checkpoint.queue))


def _pending(event: Event, index: int | None) -> Pending:
    """Read one call from the event that decided it."""
    call = event.payload if index is None else event.payload["calls"][index]
    return Pending(
        call_id=call["call_id"],
        tool=call["tool"],
        effect=Effect(call["effect"]),
        digest=call["digest"],
        args_seq=event.seq,
        args_index=index,
        operation_id=call.get("operation_id"),
        again=bool(call.get("again")),
        fallback_for=call.get("fallback_for"),
    )


def _rest(queue: Queue | None) -> Queue | None:
    if queue is None or queue.next + 1 >= queue.count:
        return None
    return replace(queue, next=queue.next + 1)


def _taken(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    """Make a call pending that its own event decided, unless it is pending already."""
    if checkpoint.pending is not None:
        return checkpoint
    return replace(checkpoint, pending=_pending(event, None), step=checkpoint.step + 1)


def _dispatched(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    checkpoint = _taken(checkpoint, event)
    assert checkpoint.pending is not None  # noqa: S101 (the line above)
    pending = replace(checkpoint.pending, dispatched=True)
    return replace(checkpoint, state=State.WAITING_TOOL_CALL, pending=pending, wait=None)


def _completed(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    """Close the pending call and put the next of its plan in its place."""
    checkpoint = _taken(checkpoint, event)
    pending = checkpoint.pending
    assert pending is not None  # noqa: S101 (the line above)
    result = event.payload.get("result_digest")
    return _next_call(
        replace(
            checkpoint,
            done=checkpoint.done + 1,
            writes=checkpoint.writes + (pending.effect is not Effect.READ),
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
    call = event.payload["next"]
    pending = Pending(
        call_id=call["call_id"],
        tool=call["tool"],
        effect=Effect(call["effect"]),
        digest=call["digest"],
        args_seq=queue.seq,
        args_index=queue.next,
        operation_id=call.get("operation_id"),
    )
    return replace(
        checkpoint,
        state=State.WAITING_TOOL_CALL,
        pending=pending,
        queue=_rest(queue),
    )


def _failed(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    checkpoint = _taken(checkpoint, event)
    pending = checkpoint.pending
    assert pending is not None  # noqa: S101 (the line above)
    checkpoint = replace(checkpoint, state=State.WAITING_TOOL_CALL)
    if event.payload.get("calls"):
        fallback = _pending(event, 0)
        chain = link(checkpoint.chain, pending.call_id, pending.digest, None)
        return replace(checkpoint, pending=fallback, done=checkpoint.done + 1, chain=chain)
    unknown = bool(event.payload.get("unknown"))
    tried = replace(pending, attempt=event.payload["attempt"], dispatched=unknown)
    return replace(checkpoint, pending=tried)


def _cancelled(checkpoint: Checkpoint, _event: Event) -> Checkpoint:
    return replace(checkpoint, pending=None, queue=None)


def _reconciled(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    if event.payload["happened"]:
        return _completed(checkpoint, event)
    pending = checkpoint.pending
    assert pending is not None  # noqa: S101 (only a pending call can be reconciled)
    again = replace(pending, dispatched=False)
    return replace(checkpoint, state=State.WAITING_TOOL_CALL, pending=again)


def _retrying(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    checkpoint = _taken(checkpoint, event) if "call_id" in event.payload else checkpoint
    back_to = State.PLANNING if checkpoint.pending is None else State.WAITING_TOOL_CALL
    wait = Wait("retry", event.payload["until"], None, event.payload["since"], back_to)
    return replace(checkpoint, state=State.RETRYING, wait=wait)


def _asked(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    payload = event.payload
    if payload.get("calls"):
        pending = _pending(event, 0)
        checkpoint = replace(checkpoint, pending=pending, step=checkpoint.step + 1)
    wait = Wait(
        payload["kind"],
        payload.get("until"),
        payload["review_id"],
        payload["since"],
        State(payload["back_to"]),
    )
    return replace(checkpoint, state=State.WAITING_HUMAN, wait=wait)


def _settled(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    target = State(event.payload["to"])
    pending = checkpoint.pending
    if pending is not None and event.payload.get("fresh"):
        pending = replace(pending, attempt=0)
    if pending is not None and event.payload.get("again"):
        pending = replace(pending, again=True)
    wait = checkpoint.wait if target is State.WAITING_HUMAN else None
    deadline = event.payload.get("deadline", checkpoint.deadline)
    return replace(checkpoint, state=target, pending=pending, wait=wait, deadline=deadline)


def _drifted(checkpoint: Checkpoint, event: Event) -> Checkpoint:
    return replace(checkpoint, drift=event.payload["digest"])


def _ended(state: State) -> Callable[[Checkpoint, Event], Checkpoint]:
    def end(checkpoint: Checkpoint, event: Event) -> Checkpoint:
        return replace(
            checkpoint,
            state=state,
            pending=None,
            queue=None,
            wait=None,
            outcome=event.payload["outcome"],
            result_digest=event.payload.get("result_digest"),
        )

    return end


_CHANGES: dict[E, Callable[[Checkpoint, Event], Checkpoint]] = {
    E.TASK_STARTED: _started,
    E.PLAN_GENERATED: _planned,
    E.TOOL_CALL_STARTED: _dispatched,
    E.TOOL_CALL_SUCCEEDED: _completed,
    E.TOOL_CALL_FAILED: _failed,
    E.TOOL_CALL_CANCELLED: _cancelled,
    E.TOOL_CALL_RECONCILED: _reconciled,
    E.STEP_SKIPPED: _completed,
    E.RETRY_SCHEDULED: _retrying,
    E.REVIEW_REQUESTED: _asked,
    E.REVIEW_CLOSED: _settled,
    E.CONFIG_DRIFT_DETECTED: _drifted,
    E.TASK_COMPLETED: _ended(State.TERMINATED_SUCCESS),
    E.TASK_FAILED: _ended(State.TERMINATED_FAILED),
    E.TASK_ABORTED: _ended(State.TERMINATED_ABORTED),
}
