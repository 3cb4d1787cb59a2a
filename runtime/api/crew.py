"""What administrators do to workers: have one take nothing more, take a task out of its hands.

See ``runtime.api``.
"""

from dataclasses import dataclass
from uuid import UUID

from runtime.api.process import ring
from runtime.core.errors import WrongUsage
from runtime.engine.submit import as_uuid
from runtime.store import leases


@dataclass(eq=False)
class UnknownWorker(WrongUsage):
    """No living worker has this id."""

    worker_id: object

    http_status = 404
    code = "unknown_worker"
    sentence = "There is no living worker '{worker_id}': it may have ended since you looked."

    def __post_init__(self) -> None:
        self.worker_id = str(self.worker_id)


@dataclass(eq=False)
class NotInTheseHands(WrongUsage):
    """The lease that was to be taken away is over already."""

    task_id: object
    epoch: int

    http_status = 409
    code = "not_in_these_hands"
    sentence = (
        "Task {task_id} is not held at epoch {epoch} any more: it was given back, or has changed "
        "hands since you looked."
    )

    def __post_init__(self) -> None:
        self.task_id = str(self.task_id)


def drain(worker: str | UUID, *, wanted: bool = True) -> str:
    """Have a worker finish what it holds and take nothing more, or have it take tasks again.

    It reads so with the next renewal of its lease, within a second.

    Args:
        worker: Id of the incarnation.
        wanted: False to have it take tasks again.

    Returns:
        Host and process, for people.

    Raises:
        BadIdentifier: The id is none.
        UnknownWorker: It is not among the living.
    """
    worker_id = as_uuid(worker, "worker id")
    named = leases.drain(worker_id, wanted=wanted)
    if named is None:
        raise UnknownWorker(worker_id)
    return named


def force_release(id: str | UUID, *, epoch: int, namespace: str = "default") -> UUID:  # noqa: A002
    """Take a task out of the hands of its worker, whether or not the lease lives.

    Nothing of the task is changed: the next worker goes on from its last commit.  What the old one
    still brings is refused and kept as evidence.

    Args:
        id: The task.
        epoch: The lease that was on the screen; another one now is left alone.
        namespace: Where it lives.

    Returns:
        The worker that held it.

    Raises:
        BadIdentifier: The id is none.
        NotInTheseHands: Nobody holds it at this epoch.
    """
    task_id = as_uuid(id)
    seized = leases.seize(namespace, task_id, epoch)
    if seized is None:
        raise NotInTheseHands(task_id, epoch)
    worker, queue = seized
    ring(queue, task_id)
    return worker
