"""What a test may say about a tool: outcomes, one per attempt or the same every time.

Values only; `runtime.testing.world` plays them.
"""

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Always:
    """A value that is returned every time, also where it would be read as a script."""

    value: Any


@dataclass(frozen=True, slots=True)
class Lost:
    """The call takes effect, and its answer never reaches us."""

    value: Any


@dataclass(frozen=True, slots=True)
class Slow:
    """The outcome comes only after so many seconds; past the tool's time-out nobody waits for it.

    A value that comes too late has taken effect all the same.
    """

    seconds: float
    outcome: Any


@dataclass(frozen=True, slots=True)
class Hangs:
    """The call has no effect and gives no answer: its time-out ends the wait."""


class Real:
    """The tool itself is called."""

    def __repr__(self) -> str:
        return "real"


real: Final = Real()
"""Call the tool itself: `tools={"compute_refund": real}`."""


def always(value: object) -> Always:
    """Return this value at every call; needed only for a list, a callable or an exception."""
    return Always(value)


def lost(value: object) -> Lost:
    """Let the call take effect and lose its answer: the caller sees a broken connection."""
    return Lost(value)


def slow(seconds: float, outcome: object) -> Slow:
    """Let an outcome come after so many seconds of the test's clock."""
    return Slow(seconds, outcome)


def hangs() -> Hangs:
    """Let a call have no effect and no answer until its time-out."""
    return Hangs()


@dataclass(frozen=True, slots=True)
class Crash:
    """A death of the worker in the middle of a call.

    Args:
        tool: The tool whose call it is.
        when: `before_call`: the intent is written and nothing was sent.  `after_call`: the tool
            has confirmed and our commit is not written.  `in_call`: the tool's own code ends the
            process, without effect; such deaths are counted against the call.
        call: Which call of that tool, counted from 1 as the path sends them.
        times: How often in a row.
    """

    tool: str
    when: str = "after_call"
    call: int = 1
    times: int = 1


MOMENTS: Final = ("before_call", "in_call", "after_call")


@dataclass(frozen=True, slots=True)
class Decide:
    """What a person decides on a review item.

    Args:
        decision: `retry`, `result`, `abort` or `rebuild`; one the item offers.
        result: For `result`: what the tool is taken to have returned.
        reason: Why.
    """

    decision: str
    result: Any = None
    reason: str = "the test decides so"


def decide(decision: str, result: object = None, *, reason: str = "the test decides so") -> Decide:
    """Decide a review item: `decide("result", {"id": "M1"})`."""
    return Decide(decision, result, reason)
