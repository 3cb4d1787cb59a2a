"""Reading where a task stood after an event of its journal; see ``runtime.api``."""

from collections.abc import Collection
from typing import Final
from uuid import UUID

from runtime.core.checkpoint import Checkpoint
from runtime.core.errors import BadIdentifier
from runtime.engine.submit import as_uuid
from runtime.store import past
from runtime.store import tasks as stored

FARTHEST_FOLD: Final = 10_000
"""How far a journal is folded for a reader; beyond, it would keep one waiting for seconds."""


def checkpoint(id: str | UUID, *, namespace: str = "default") -> Checkpoint:  # noqa: A002
    """Give the checkpoint of a task as it is stored.

    Raises:
        BadIdentifier: The id is none.
        UnknownTask: There is none in this namespace.
        CheckpointUnreadable: It is damaged.
    """
    return past.stored(stored.find(namespace, as_uuid(id)))


def checkpoints_at(
    id: str | UUID,  # noqa: A002
    seqs: Collection[int],
    *,
    namespace: str = "default",
) -> dict[int, Checkpoint]:
    """Give the checkpoints a task had after some of its events, folded from its journal.

    Args:
        id: The task.
        seqs: Sequence numbers of events; those that do not exist are left out.
        namespace: Where it lives.

    Raises:
        BadIdentifier: The id is none, or an event lies farther than FARTHEST_FOLD.
        UnknownTask: There is none in this namespace.
        IllegalTransition: The journal cannot be folded.
        Unreadable: A payload is damaged.
    """
    farthest = max(seqs, default=0)
    if farthest > FARTHEST_FOLD:
        raise BadIdentifier(farthest, f"event to fold to (at most {FARTHEST_FOLD:,})")
    return past.folded(stored.find(namespace, as_uuid(id)), frozenset(seqs))
