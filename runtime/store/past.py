"""Checkpoints as they are and as they were: the stored one, and those the journal folds to.

Reads only, in chunks, so that a long journal costs time but no memory.
"""

from collections.abc import Collection
from uuid import UUID

from runtime.core import checkpoint as cp
from runtime.core.apply import apply, created
from runtime.core.checkpoint import Checkpoint
from runtime.store.session import execute
from runtime.store.tasks import load_journal

CHUNK = 1000


def stored(task_id: UUID) -> Checkpoint:
    """Read the checkpoint of a task as it is stored.

    Raises:
        CheckpointUnreadable: It is damaged.
    """
    text = "SELECT checkpoint, checkpoint_sum FROM runtime_task WHERE id = %s"
    return cp.decode(task_id, *execute(text, (task_id,))[0])


def folded(task_id: UUID, wanted: Collection[int]) -> dict[int, Checkpoint]:
    """Fold the journal once, up to the last of some events; gives the checkpoint after each.

    Args:
        task_id: The task.
        wanted: Sequence numbers; those that do not exist are left out.

    Raises:
        IllegalTransition: The journal has a gap, or an event that cannot be applied.
        Unreadable: A payload is damaged.
    """
    found: dict[int, Checkpoint] = {}
    at: Checkpoint | None = None
    last, seq = max(wanted, default=0), 0
    while seq < last:
        events = load_journal(task_id, seq, min(CHUNK, last - seq))
        for event in events:
            at = created(event) if at is None else apply(at, event)
            if event.seq in wanted:
                found[event.seq] = at
        if not events:
            break
        seq = events[-1].seq
    return found
