"""The inbox of a task: commands and events, stored before they are acknowledged."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from runtime.core.errors import UnknownTask
from runtime.core.payloads import CODEC, decode, encode
from runtime.store.session import execute, run


@dataclass(frozen=True, slots=True)
class Letter:
    """One stored command or event."""

    id: int
    kind: str
    actor: str
    source: str
    event_id: str
    payload: Any


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of a delivery.

    Args:
        living: The task is there and has not ended.
        stored: It was new; False for a second delivery of the same event.
    """

    living: bool
    stored: bool


def deliver(  # noqa: PLR0913 (one row, one call)
    task_id: UUID,
    kind: str,
    payload: object,
    *,
    actor: str,
    source: str,
    event_id: str,
    held: bool | None = None,
) -> Delivery:
    """Store a command or event for a task and raise its attention.

    Args:
        task_id: The task.
        kind: What is wanted: the name of a command or of an event.
        payload: Its facts.
        actor: Who wants it.
        source: Where it comes from; with ``event_id`` it is stored once.
        event_id: The sender's id for it.
        held: Pauses or releases the task in the same transaction, if given.
    """
    params = {
        "task": task_id,
        "kind": kind,
        "payload": encode(payload).text,
        "codec": CODEC,
        "actor": actor,
        "source": source,
        "event_id": event_id,
        "held": held,
    }
    living, stored = run("deliver", params)[0]
    return Delivery(bool(living), bool(stored))


def waiting(task_id: UUID) -> list[Letter]:
    """Read what has not been settled yet, first in first out."""
    rows = execute(
        "SELECT id, kind, actor, source, event_id, payload, codec FROM runtime_inbox "
        "WHERE task_id = %s AND consumed_at IS NULL ORDER BY id",
        (task_id,),
    )
    return [
        Letter(number, kind, actor, source, event_id, decode(payload, codec))
        for number, kind, actor, source, event_id, payload, codec in rows
    ]


def set_aside(letter: Letter, refused: str) -> None:
    """Settle a command that could not be obeyed; nothing else is written."""
    execute(
        "UPDATE runtime_inbox SET consumed_at = runtime_now(), refused = %s "
        "WHERE id = %s AND consumed_at IS NULL",
        (refused, letter.id),
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """What a lever must know of a task: the row is locked, so that it stays true."""

    id: UUID
    namespace: str
    queue: str
    state: str
    situation: int
    held: bool


def lock(namespace: str, task_id: UUID) -> Standing:
    """Lock a task's row for the rest of the transaction.

    Must hold: an open transaction.

    Raises:
        UnknownTask: There is none in this namespace.
    """
    rows = execute(
        "SELECT id, namespace, queue, state, situation, held FROM runtime_task "
        "WHERE id = %s AND namespace = %s FOR NO KEY UPDATE",
        (task_id, namespace),
    )
    if not rows:
        raise UnknownTask(task_id)
    return Standing(*rows[0])


def queue_of(task_id: UUID) -> str:
    """Give the queue of a task that exists."""
    queue: str = execute("SELECT queue FROM runtime_task WHERE id = %s", (task_id,))[0][0]
    return queue
