"""What a driver asks its worker to do between two commits, and what comes back.

The driver is a generator: it yields one of these requests and is resumed with the outcome, on
whatever thread is free then.  So a slow call holds no thread, and a hung one can be left behind.
"""

from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any

from runtime.core.errors import Retryable
from runtime.store.commits import Commit


@dataclass(frozen=True, slots=True)
class Write:
    """Write a step, together with those of other tasks; the outcome is the task's attention."""

    step: Commit


@dataclass(frozen=True, slots=True)
class OnThread:
    """Run a function on the present thread; after ``timeout_s`` its outcome is unknown.

    Args:
        run: The function.
        timeout_s: When it is left behind.
        name: Whose code it is: how long it took before tells whether others should go on meanwhile.
    """

    run: Callable[[], Any]
    timeout_s: float
    name: str


@dataclass(frozen=True, slots=True)
class InTransaction:
    """Like ``OnThread``, inside a transaction that stays open until the driver yields ``Close``."""

    run: Callable[[], Any]
    timeout_s: float
    name: str


@dataclass(frozen=True, slots=True)
class Close:
    """Commit the transaction of ``InTransaction``."""


@dataclass(frozen=True, slots=True)
class RollBack:
    """Leave the transaction of ``InTransaction`` with nothing of it kept, then go on."""


@dataclass(frozen=True, slots=True)
class OnLoop:
    """Run a coroutine on the worker's event loop and give the thread away meanwhile."""

    run: Callable[[], Coroutine[Any, Any, Any]]
    timeout_s: float


@dataclass(frozen=True, slots=True)
class NextSlice:
    """Let other tasks have the thread for a moment."""


type Request = Write | OnThread | InTransaction | Close | RollBack | OnLoop | NextSlice


@dataclass(frozen=True, slots=True)
class Returned:
    """The function gave a value."""

    value: Any


@dataclass(frozen=True, slots=True)
class Raised:
    """The function raised; a time-out is one of these."""

    error: BaseException


type Outcome = Returned | Raised | None
type Steps[T] = Generator[Request, Outcome, T]


class CallTimedOut(TimeoutError):
    """The call did not end by its deadline: its outcome is unknown, not failed."""

    def __init__(self, tool: str, timeout_s: float) -> None:
        """Take the tool and the deadline that passed."""
        super().__init__(f"{tool} did not answer within {timeout_s:g} s")


class CallNotBegun(Retryable):
    """The call's deadline passed while another tool blocked the event loop: nothing was sent."""

    def __init__(self, tool: str, timeout_s: float) -> None:
        """Take the tool and the deadline that passed."""
        super().__init__(f"{tool} could not begin within {timeout_s:g} s: a tool blocked the loop")
