"""Taking tasks and giving them back: claims by rank, by name, releases, hints."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from runtime.core import checkpoint as cp
from runtime.core.payloads import CODEC
from runtime.core.reviews import Decision, Kind
from runtime.core.story import Dice
from runtime.store.commits import Holder
from runtime.store.session import execute, run

SUSPECT_DEATHS = 2
"""Deaths after which a task runs in a process of its own; one more and a person must look."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """A task that was just taken: its row as of the claim."""

    id: UUID
    namespace: str
    agent: str
    queue: str
    version: int
    situation: int
    checkpoint: str
    checkpoint_sum: str
    epoch: int
    attention: int
    attended: int
    held: bool
    deaths: int
    owner: UUID
    asked: Sequence[str] | None = None
    """Input, its codec, pinned manifest, its codec: read with a claim by rank, which goes on."""

    @property
    def holder(self) -> Holder:
        """The lease under which it is held."""
        return Holder(self.id, self.owner, self.epoch)


def claim(
    owner: UUID,
    queues: Sequence[str],
    agents: Sequence[str],
    limit: int,
) -> list[Claimed]:
    """Take up to ``limit`` due tasks of these queues whose agents this worker knows."""
    params = {
        "owner": owner,
        "queues": list(queues),
        "agents": list(agents),
        "limit": limit,
        "codec": cp.VERSION,
        "suspect": SUSPECT_DEATHS,
    }
    return [Claimed(*row) for row in run("claim", params)]


def claim_one(owner: UUID, task_id: UUID) -> Claimed | None:
    """Take one named task if nobody holds it, also a paused or waiting one."""
    params = {"owner": owner, "task": task_id, "codec": cp.VERSION}
    rows = run("claim_one", params)
    return Claimed(*rows[0]) if rows else None


def reread(claimed: Claimed) -> Claimed | None:
    """Read a claimed task anew; None if it is not ours any more."""
    rows = execute(
        "SELECT id, namespace, agent, queue, version, situation, checkpoint, checkpoint_sum, "
        "epoch, attention, attended, held, deaths, owner FROM runtime_task "
        "WHERE id = %s AND owner = %s AND epoch = %s",
        (claimed.id, claimed.owner, claimed.epoch),
    )
    return Claimed(*rows[0]) if rows else None


def free_strays(owner: UUID, keep: Sequence[UUID]) -> list[UUID]:
    """Free what stands in a living worker's name without its knowledge; names those tasks.

    After a claim whose answer was lost, or a driver that failed together with the database: no
    sweep frees what the living hold. The epoch moves, as at every change of hands.

    Args:
        owner: The worker.
        keep: The tasks that it knows of.
    """
    rows = execute(
        "UPDATE runtime_task SET owner = NULL, epoch = epoch + 1, due_at = runtime_now(), "
        "hinted_at = NULL WHERE owner = %s AND id <> ALL(%s) RETURNING id",
        (owner, list(keep)),
    )
    return [row[0] for row in rows]


def find_suspect(queues: Sequence[str], agents: Sequence[str]) -> UUID | None:
    """Find a task that must run in a process of its own."""
    params = {
        "queues": list(queues),
        "agents": list(agents),
        "codec": cp.VERSION,
        "suspect": SUSPECT_DEATHS,
    }
    rows = run("claim_suspect", params)
    return rows[0][0] if rows else None


def release(
    holder: Holder,
    attended: int,
    due_at: datetime | None = None,
    *,
    due_now: bool = False,
) -> bool:
    """Give a task back with no event.

    Returns:
        False if nothing was written: the lease is lost, or somebody raised the attention.
    """
    params = {
        "task": holder.task_id,
        "owner": holder.owner,
        "epoch": holder.epoch,
        "attended": attended,
        "due_at": due_at,
        "due_now": due_now,
    }
    return bool(run("release", params))


def due_queues() -> list[str]:
    """Name the queues in which something is due and free."""
    return [row[0] for row in run("due_queues")]


def call_out(queue: str, limit: int, again_s: float) -> list[UUID]:
    """Mark due tasks of a queue as called out, and name them.

    Args:
        queue: The queue.
        limit: At most so many.
        again_s: A task that was called out is not called again for so many seconds.
    """
    params = {"queue": queue, "limit": limit, "again_s": again_s}
    return [row[0] for row in run("hint", params)]


def standing(task_id: UUID) -> tuple[UUID | None, int, int] | None:
    """Give owner, epoch and attention of a task as they are now."""
    rows = execute("SELECT owner, epoch, attention FROM runtime_task WHERE id = %s", (task_id,))
    return rows[0] if rows else None


def give_up_on(holder: Holder, why: str, dice: Dice, now: datetime) -> bool:
    """Hand a task to a person that cannot be decided upon: its journal or the engine failed.

    The checkpoint stays as it is; the two events are appended behind whatever the journal holds.

    Returns:
        False if another holder has the task.
    """
    params = {
        "task": holder.task_id,
        "owner": holder.owner,
        "epoch": holder.epoch,
        "review": dice.uuid(now),
        "kind": Kind.CHECKPOINT_UNREADABLE.value,
        "why": why,
        "allowed": [Decision.ABORT.value],
        "codec": CODEC,
    }
    return bool(run("give_up_on", params))
