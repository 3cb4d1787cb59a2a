"""What operators ask and do: backlog, workers, what was given up, proofs; see ``runtime.api``."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from runtime.api.acting import decide
from runtime.core.errors import BadIdentifier, UnknownTask, WrongUsage, safe_text
from runtime.core.reviews import Decision, Kind
from runtime.engine.submit import as_uuid
from runtime.store import operations, pulse, queries
from runtime.store import tasks as stored
from runtime.store import verify as proofs
from runtime.store.operations import QueueView, RefusalView, WorkerView
from runtime.store.verify import Verdict
from runtime.store.views import ReviewView

TAKEN_UP_BY_PEOPLE = (Kind.KILLED_WORKER, Kind.RETRIES_EXHAUSTED, Kind.CHECKPOINT_UNREADABLE)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message the broker gave up; it carries no work, only the hint that there is some."""

    id: str
    queue: str
    actor: str
    arguments: Any
    died_at: datetime


@dataclass(frozen=True, slots=True)
class BrokerStand:
    """How many messages the broker holds; None for what this kind of broker does not tell.

    Args:
        waiting: Doorbells that no worker has taken yet.
        unacknowledged: Taken by a worker that has not said yet that it looked.
        given_up: Dead letters.
    """

    waiting: int | None = None
    unacknowledged: int | None = None
    given_up: int | None = None


class DeadLetters(Protocol):
    """The broker's dead-letter queues."""

    def stand(self) -> BrokerStand:
        """Count the broker's messages."""
        ...

    def list(self, limit: int) -> list[DeadLetter]:
        """List given-up messages, the oldest first."""
        ...

    def requeue(self, message_id: str) -> bool:
        """Send a message again; False if there is none of this id."""
        ...


class _NoLetters:
    def stand(self) -> BrokerStand:
        return BrokerStand()

    def list(self, limit: int) -> list[DeadLetter]:  # noqa: ARG002
        return []

    def requeue(self, message_id: str) -> bool:  # noqa: ARG002
        return False


class _Letters:
    port: DeadLetters = _NoLetters()


def set_dead_letters(port: DeadLetters) -> None:
    """Name where this process finds the messages that the broker gave up."""
    _Letters.port = port


@dataclass(frozen=True, slots=True)
class Dead:
    """What was given up: tasks that a person must take up, and messages."""

    tasks: tuple[ReviewView, ...]
    letters: tuple[DeadLetter, ...]
    broker: str | None = None
    """Why the broker could not be asked, if it could not."""


@dataclass(frozen=True, slots=True)
class Broker:
    """Whether the broker answers, and what it holds; `problem` says why it does not."""

    stand: BrokerStand
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Requeued:
    """What was set going again: ``task`` or ``message``."""

    what: str
    id: str


SWEEP_LATE_S = 15.0


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the database takes writes, and how old the sweep's last sign of life is."""

    sweep_s: float | None

    @property
    def swept(self) -> bool:
        """Whether a sweep is at work."""
        return self.sweep_s is not None and self.sweep_s < SWEEP_LATE_S


def readiness() -> Readiness:
    """Prove that the database takes writes by making one, and look for the sweep.

    Raises:
        psycopg.Error: The database is away, or takes no writes.
        django.db.Error: The same.
    """
    pulse.beat(pulse.READY)
    return Readiness(pulse.age_s(pulse.SWEEP))


def queues() -> list[QueueView]:
    """List the queues that have work or workers, with backlog and age."""
    return operations.queues()


def workers() -> list[WorkerView]:
    """List the living workers, and those that ended within the last day and how."""
    return operations.workers()


def refusals(
    task: str | UUID,
    *,
    limit: int = 200,
    namespace: str = "default",
) -> list[RefusalView]:
    """List the writes of lost leases that were refused on a task, the newest first.

    Raises:
        BadIdentifier: The id is none.
        UnknownTask: There is none in this namespace.
    """
    return operations.refusals(stored.find(namespace, as_uuid(task)), limit)


def dead(*, namespace: str = "default", limit: int = 200) -> Dead:
    """List what was given up: tasks whose step failed for good, and messages of the broker."""
    items = queries.reviews(namespace, "open", TAKEN_UP_BY_PEOPLE, limit)
    try:
        return Dead(tuple(items), tuple(_Letters.port.list(limit)))
    except Exception as error:  # noqa: BLE001 (any broker, any failure)
        return Dead(tuple(items), (), safe_text(error, 200))


def broker() -> Broker:
    """Ask the broker what it holds; tasks go on without it, only later."""
    try:
        return Broker(_Letters.port.stand())
    except Exception as error:  # noqa: BLE001 (any broker, any failure)
        return Broker(BrokerStand(), safe_text(error, 200) or type(error).__name__)


def requeue(
    id: str | UUID,  # noqa: A002
    *,
    reason: str,
    by: str,
    channel: str = "api",
    namespace: str = "default",
) -> Requeued:
    """Set going again what was given up.

    For a task this decides ``retry`` on the item it waits at, or ``rebuild`` where the checkpoint
    could not be read.

    Args:
        id: Of the task, of its review item, or of the message.
        reason: Why, for people.
        by: Who.
        channel: Where the decision came in.
        namespace: Where the task lives.

    Raises:
        UnknownTask: Nothing that was given up has this id.
        NothingToRequeue: The item offers neither.
        ReviewClosed: Somebody decided first.
    """
    item = _given_up(id, namespace)
    if item is None:
        if _Letters.port.requeue(str(id)):
            return Requeued("message", str(id))
        raise UnknownTask(id)
    wanted = next((d for d in (Decision.RETRY, Decision.REBUILD) if d in item.allowed), None)
    if wanted is None:
        raise NothingToRequeue(item.task_id, item.allowed)
    decide(item.id, wanted, reason=reason, by=by, channel=channel, namespace=namespace)
    return Requeued("task", str(item.task_id))


def _given_up(id: str | UUID, namespace: str) -> ReviewView | None:  # noqa: A002
    try:
        wanted = as_uuid(id)
    except BadIdentifier:
        return None
    item = queries.open_review(wanted, namespace)
    if item is not None and item.kind in TAKEN_UP_BY_PEOPLE:
        return item
    return None


@dataclass(eq=False)
class NothingToRequeue(WrongUsage):
    """The item can only be decided otherwise."""

    task_id: object
    allowed: object

    http_status = 409
    code = "nothing_to_requeue"
    sentence = "Task {task_id} cannot be set going again: its review item offers only {allowed}."

    def __post_init__(self) -> None:
        self.task_id = str(self.task_id)


def verify(
    task: str | UUID | None = None,
    *,
    namespace: str = "default",
    told: Callable[[int], None] | None = None,
) -> Verdict:
    """Prove that journal, checkpoint, results, ledger and people's items say the same.

    Args:
        task: Only this one; None for every task of every namespace.
        namespace: Where that one lives.
        told: Hears now and then how many tasks are done.

    Raises:
        BadIdentifier: The id is none.
        UnknownTask: There is none in this namespace.
    """
    only = None if task is None else stored.find(namespace, as_uuid(task))
    return proofs.verify(only, told)
