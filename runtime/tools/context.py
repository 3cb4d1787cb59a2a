"""What a running tool may know and do beside its arguments, given to it as `ctx`.

It holds plain data and a few functions that the engine passes in, so it can be made by hand in a
test; it never touches the database or the clock itself. Tools that ask for `ctx` are its callers.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from runtime.core.errors import Permanent

_LOGGER: Final = logging.getLogger("runtime.tool")


def _no_heartbeat(progress: object) -> None:
    """Drop progress where nobody listens, as in an author's own test."""


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The functions behind a `ToolContext`; the engine wires them, a test may pass its own.

    Attributes:
        clock: Gives the present as an aware datetime.
        heartbeat: Takes progress, None for a mere sign of life. It must not block: tools on the
            event loop call it too.
        cancelled: Whether somebody asked for the task's end.
        transaction: Opens the transaction that commits with the step; None for all effects but
            local.
    """

    clock: Callable[[], datetime]
    heartbeat: Callable[[object], None] = _no_heartbeat
    cancelled: Callable[[], bool] = _never
    transaction: Callable[[], AbstractContextManager[None]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """One attempt of one call, as its tool sees it.

    Attributes:
        task_id: The task the call belongs to; also its trace id.
        namespace: Where that task lives.
        call_id: The call, the same on every attempt.
        operation_id: What a downstream may de-duplicate by, the same on every attempt.
        attempt: 1 on the first try.
        deadline: Aware instant after which nobody waits for the result any more.
        progress: What an earlier attempt reported last, None if nothing; go on from there.
    """

    task_id: UUID
    namespace: str
    call_id: str
    operation_id: str
    attempt: int
    deadline: datetime
    ports: Ports = field(repr=False)
    progress: object = None

    def remaining_s(self) -> float:
        """Seconds left until the deadline, never below 0; a good time-out for the next request."""
        return max(0.0, (self.deadline - self.ports.clock()).total_seconds())

    def heartbeat(self, progress: object = None) -> None:
        """Say that the call is alive.

        Args:
            progress: Kept for the next attempt, where it arrives as `ctx.progress`; the last one
                counts. None keeps what was there.
        """
        self.ports.heartbeat(progress)

    def cancelled(self) -> bool:
        """Whether the task is to end; a long tool looks now and then and returns early."""
        return self.ports.cancelled()

    @property
    def logger(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger whose records carry `task_id`, `call_id` and `attempt`."""
        ids = {"task_id": str(self.task_id), "call_id": self.call_id, "attempt": self.attempt}
        return logging.LoggerAdapter(_LOGGER, ids, merge_extra=True)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do database work that commits together with the record of this step, or not at all.

        Raises:
            Permanent: The tool is not declared `effect="local"`, so nothing ties its work to the
                step; nothing was written.
        """
        if self.ports.transaction is None:
            message = 'ctx.transaction() is for tools declared effect="local"; declare it so'
            raise Permanent(message)
        with self.ports.transaction():
            yield
