"""The checkpoint: everything a worker needs to take a task further, in under 2 kB.

It is a value: ``apply`` makes the next one from an event.  Completed calls, arguments and the
conversation are referenced by sequence number or digest, never repeated here.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, NamedTuple, get_type_hints

import pydantic_core

from runtime.core.effects import Effect
from runtime.core.errors import CheckpointUnreadable
from runtime.core.states import State

VERSION = 1
"""Version of the encoding; a reader refuses one it does not know."""
LIMIT_BYTES = 2048


@dataclass(frozen=True, slots=True)
class Pending:
    """The call that comes next or is under way.

    Args:
        call_id: Its identity within the task.
        tool: Name of the tool.
        effect: The tool's effect class when the call was decided.
        digest: Digest of the arguments.
        args_seq: Sequence number of the event whose payload holds the arguments.
        args_index: Position in that event's list of calls, or None when it names one call.
        operation_id: What the downstream knows a write by; None for a read.
        attempt: Attempts that ended in a known failure so far.
        dispatched: The intent is written and no outcome is known: it may have happened.  Never
            set for effects that do not leave our database: those did not happen without a result.
        unclear: An earlier attempt may have happened; a later one that says of itself that it
            did not happen does not settle that.
        doubted: A person was asked whether it happened and has not said so yet.
        again: A confirmed identical write exists and a person allowed this one.
        fallback_for: Call id of the call that this one replaces.
    """

    call_id: str
    tool: str
    effect: Effect
    digest: str
    args_seq: int
    args_index: int | None = None
    operation_id: str | None = None
    attempt: int = 0
    dispatched: bool = False
    unclear: bool = False
    doubted: bool = False
    again: bool = False
    fallback_for: str | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """The calls of a plan that come after the pending one: a range, so that it stays small."""

    seq: int
    next: int
    count: int


@dataclass(frozen=True, slots=True)
class Wait:
    """What the task waits for.

    Args:
        kind: ``retry`` or the kind of the review item.
        until: When the wait ends by itself, ISO 8601 in UTC, or None.
        review_id: The open review item, if it waits for a person.
        since: When it began, ISO 8601 in UTC.
        back_to: The state it goes on in.
    """

    kind: str
    until: str | None
    review_id: str | None
    since: str
    back_to: State


class Checkpoint(NamedTuple):
    """Where a task stands after its last commit.

    A named tuple and no dataclass, because every event makes a new one and this is four times as
    fast to replace.

    Args:
        state: The state of the machine.
        seq: Sequence number of the last event; this is the task's version.
        situation: Moves when something changes that a person or a token relies on.
        branch: Grows when the task goes on from an earlier point.
        step: Decisions of the planner that led to calls, so far.
        done: Completed calls.
        chain: Rolling digest over the completed calls.
        writes: Calls with an effect that were confirmed.
        deadline: When the task must have ended, ISO 8601 in UTC; moves with waits for people.
        pending: The call that comes next or is under way.
        queue: Further calls of the same plan.
        wait: What it waits for.
        drift: Digest of the drift from the pinned configuration that was last recorded.
        outcome: How it ended, in one word.
        result_digest: Digest of its result.
    """

    state: State
    seq: int
    situation: int = 1
    branch: int = 0
    step: int = 0
    done: int = 0
    chain: str = ""
    writes: int = 0
    deadline: str | None = None
    pending: Pending | None = None
    queue: Queue | None = None
    wait: Wait | None = None
    drift: str | None = None
    outcome: str | None = None
    result_digest: str | None = None


def encode(checkpoint: Checkpoint) -> str:
    """Write a checkpoint as JSON text; the same checkpoint gives the same bytes."""
    body: dict[str, Any] = {
        "v": VERSION,
        "state": checkpoint.state,
        "seq": checkpoint.seq,
        "situation": checkpoint.situation,
        "branch": checkpoint.branch,
        "step": checkpoint.step,
        "done": checkpoint.done,
        "chain": checkpoint.chain,
        "writes": checkpoint.writes,
        "deadline": checkpoint.deadline,
    }
    # What is absent is left out: most checkpoints are half as long for it.
    if checkpoint.pending is not None:
        body["pending"] = _fields(checkpoint.pending)
    if checkpoint.queue is not None:
        body["queue"] = _fields(checkpoint.queue)
    if checkpoint.wait is not None:
        body["wait"] = _fields(checkpoint.wait)
    if checkpoint.drift is not None:
        body["drift"] = checkpoint.drift
    if checkpoint.outcome is not None:
        body["outcome"] = checkpoint.outcome
        body["result_digest"] = checkpoint.result_digest
    return pydantic_core.to_json(body).decode()


def _fields(part: Pending | Queue | Wait) -> dict[str, Any]:
    # dataclasses.asdict copies deeply and costs ten times as much; these parts are flat.
    return {name: getattr(part, name) for name in part.__slots__}


def checksum(text: str) -> str:
    """Digest the encoded text, so that a flipped byte is noticed when it is read."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def decode(task_id: object, text: str, expected_checksum: str | None = None) -> Checkpoint:
    """Read a checkpoint back.

    Raises:
        CheckpointUnreadable: The text is damaged, or written by a version this one cannot read.
    """
    if expected_checksum is not None and checksum(text) != expected_checksum:
        raise CheckpointUnreadable(str(task_id), "its checksum does not match")
    try:
        body = json.loads(text)
        version = body.pop("v")
        checkpoint = _from_body(body) if version == VERSION else None
    except Exception as error:
        raise CheckpointUnreadable(str(task_id), f"{type(error).__name__}: {error}") from error
    if checkpoint is None:
        raise CheckpointUnreadable(str(task_id), "it was written by another version")
    return checkpoint


def _from_body(body: dict[str, Any]) -> Checkpoint:
    pending, queue = body.pop("pending", None), body.pop("queue", None)
    wait = body.pop("wait", None)
    body["state"] = State(body["state"])
    if pending is not None:
        pending["effect"] = Effect(pending["effect"])
        body["pending"] = Pending(**pending)
    if queue is not None:
        body["queue"] = Queue(**queue)
    if wait is not None:
        wait["back_to"] = State(wait["back_to"])
        body["wait"] = Wait(**wait)
    checkpoint = Checkpoint(**body)
    for part in (checkpoint, checkpoint.pending, checkpoint.queue, checkpoint.wait):
        _check_types(part)
    return checkpoint


def _check_types(part: Checkpoint | Pending | Queue | Wait | None) -> None:
    """Make sure that every field holds what it should: a wrong one would be written on for ever."""
    for name, kind in _TYPES[type(part)].items() if part is not None else ():
        value = getattr(part, name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            raise TypeError(name)


_TYPES = {part: get_type_hints(part) for part in (Checkpoint, Pending, Queue, Wait)}
