"""The books: where the truth about tasks is read and written.

The engine's one door to the store while it drives a task.  Reads, and writes that may be sent
twice, wait here until the database answers.  `runtime.testing` keeps books of its own in memory.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Protocol
from uuid import UUID

from django.db import connection, transaction

from runtime.core.events import Event
from runtime.core.payloads import Encoded
from runtime.store import artifacts, claims, health, inbox, journal, ledger, reviews, tasks
from runtime.store.commits import Commit, Holder
from runtime.store.inbox import Letter
from runtime.store.ledger import Entry
from runtime.store.session import give_up_idle_transaction, patiently
from runtime.store.tasks import Result, Spec

type Standing = tuple[UUID | None, int, int, int]
"""Owner, epoch, attention and version of a task."""


class Books(Protocol):
    """What the engine reads and writes of a task; the functions of the store say more of each."""

    # --- what a task is ---------------------------------------------------------------------------

    def digest_key(self, namespace: str) -> bytes:
        """Give the key of a namespace's digests."""
        ...

    def spec(self, task_id: UUID) -> Spec:
        """Read input and pinned manifest."""
        ...

    def results(self, task_id: UUID) -> Sequence[Result]:
        """Read the completed calls in their order."""
        ...

    def answers(self, task_id: UUID) -> list[dict[str, Any]]:
        """Read what people answered, oldest first."""
        ...

    def made(self, task_id: UUID) -> dict[tuple[str, str], str]:
        """Give the call of each confirmed write, by tool and digest of what makes it the same."""
        ...

    def event(self, task_id: UUID, seq: int) -> dict[str, Any]:
        """Read the payload of one event."""
        ...

    def journal(self, task_id: UUID) -> Sequence[Event]:
        """Read all events in order."""
        ...

    # --- writing ----------------------------------------------------------------------------------

    def commit(self, step: Commit) -> int:
        """Write a step; gives the attention.

        Raises:
            LeaseLost: Another holder has the task.
            Refused: Another guard failed; nothing was written.
        """
        ...

    def landed(self, step: Commit) -> int | None:
        """Tell after a lost connection whether a step was written; gives the attention if so."""
        ...

    def after_commit(self, then: Callable[[], None]) -> None:
        """Have something done once what was written is there to be read."""
        ...

    def hasten(self, seconds: float) -> None:
        """Give up this transaction when we are silent for so long, from now on."""
        ...

    def standing(self, task_id: UUID) -> Standing:
        """Give owner, epoch, attention and version as they are now."""
        ...

    def release(
        self,
        holder: Holder,
        attended: int,
        due_at: datetime | None = None,
        *,
        due_now: bool = False,
    ) -> bool:
        """Give a task back with no event; False when the lease is lost or attention was raised."""
        ...

    # --- the inbox --------------------------------------------------------------------------------

    def letters(self, task_id: UUID) -> Sequence[Letter]:
        """Read what waits in the inbox, first in first out."""
        ...

    def set_aside(self, letter: Letter, why: str) -> None:
        """Settle a command that could not be obeyed; a decision may then be taken anew."""
        ...

    # --- calls ------------------------------------------------------------------------------------

    def operation(self, operation_id: str) -> Entry | None:
        """Read one operation of the ledger."""
        ...

    def progress(self, task_id: UUID, call_id: str) -> object:
        """Read the last progress of a call; None if it never reported any."""
        ...

    def keep(
        self, namespace: str, task_id: UUID, artifact_id: UUID, payload: Encoded
    ) -> tuple[str, str]:
        """Store a payload too large for a row; gives the marker's stored text and the handle."""
        ...

    def breakers(self) -> Sequence[tuple[str, str, dict[str, Any], datetime]]:
        """List the breakers of all tools: namespace, tool, body, time of writing."""
        ...

    def store_breaker(self, namespace: str, tool: str, body: dict[str, Any]) -> datetime:
        """Write a tool's breaker; gives the time of writing."""
        ...


class Database:
    """The books every worker shares."""

    def digest_key(self, namespace: str) -> bytes:
        """Give the key of a namespace's digests."""
        return patiently(partial(tasks.digest_key, namespace))

    def spec(self, task_id: UUID) -> Spec:
        """Read input and pinned manifest."""
        return patiently(partial(tasks.load_spec, task_id))

    def results(self, task_id: UUID) -> Sequence[Result]:
        """Read the completed calls in their order."""
        return patiently(partial(tasks.load_results, task_id))

    def answers(self, task_id: UUID) -> list[dict[str, Any]]:
        """Read what people answered, oldest first."""
        return patiently(partial(tasks.load_answers, task_id))

    def made(self, task_id: UUID) -> dict[tuple[str, str], str]:
        """Give the call of each confirmed write, by tool and digest of what makes it the same."""
        return patiently(partial(ledger.confirmed, task_id))

    def event(self, task_id: UUID, seq: int) -> dict[str, Any]:
        """Read the payload of one event."""
        return patiently(partial(tasks.load_event, task_id, seq))

    def journal(self, task_id: UUID) -> Sequence[Event]:
        """Read all events in order."""
        return patiently(partial(tasks.load_journal, task_id))

    def commit(self, step: Commit) -> int:
        """Write a step; a lost connection is the desk's matter, which knows what it sent."""
        return journal.commit(step)

    def landed(self, step: Commit) -> int | None:
        """Tell after a lost connection whether a step was written."""
        return journal.landed(step)

    def after_commit(self, then: Callable[[], None]) -> None:
        """Have something done once what was written is there to be read."""
        if connection.in_atomic_block:
            transaction.on_commit(then, robust=True)
        else:
            then()

    def hasten(self, seconds: float) -> None:
        """Give up this transaction when we are silent for so long, from now on."""
        give_up_idle_transaction(seconds)

    def standing(self, task_id: UUID) -> Standing:
        """Give owner, epoch, attention and version as they are now."""
        return patiently(partial(tasks.standing, task_id))

    def release(
        self,
        holder: Holder,
        attended: int,
        due_at: datetime | None = None,
        *,
        due_now: bool = False,
    ) -> bool:
        """Give a task back with no event; False when the lease is lost or attention was raised."""
        return patiently(partial(claims.release, holder, attended, due_at, due_now=due_now))

    def letters(self, task_id: UUID) -> Sequence[Letter]:
        """Read what waits in the inbox, first in first out."""
        return patiently(partial(inbox.waiting, task_id))

    def set_aside(self, letter: Letter, why: str) -> None:
        """Settle a command that could not be obeyed; a decision may then be taken anew."""
        patiently(partial(inbox.set_aside, letter, why))
        if letter.kind == "settle":
            patiently(partial(reviews.reopen, UUID(letter.payload["review_id"])))

    def operation(self, operation_id: str) -> Entry | None:
        """Read one operation of the ledger."""
        return patiently(partial(ledger.entry, operation_id))

    def progress(self, task_id: UUID, call_id: str) -> object:
        """Read the last progress of a call."""
        return patiently(partial(health.load_progress, task_id, call_id))

    def keep(
        self, namespace: str, task_id: UUID, artifact_id: UUID, payload: Encoded
    ) -> tuple[str, str]:
        """Store a payload too large for a row."""
        return patiently(partial(artifacts.keep, namespace, task_id, artifact_id, payload))

    def breakers(self) -> Sequence[tuple[str, str, dict[str, Any], datetime]]:
        """List the breakers of all tools; also called on the lease's own connection."""
        return health.breakers()

    def store_breaker(self, namespace: str, tool: str, body: dict[str, Any]) -> datetime:
        """Write a tool's breaker; the last writer wins."""
        return health.store_breaker(namespace, tool, body)
