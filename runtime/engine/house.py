"""What a driver asks of the worker it runs in; `runtime.testing` has a house of its own."""

from typing import Protocol
from uuid import UUID

from runtime.core.retry import Failure
from runtime.engine.calls import Call
from runtime.engine.desk import Desk
from runtime.tools.registry import AnyTool


class House(Protocol):
    """What a driver asks of the worker it runs in."""

    @property
    def stopping(self) -> bool:
        """Whether tasks are to be given back at their next commit."""
        ...

    def may_call(self, owner: UUID) -> bool:
        """Make sure that the lease holds, waiting for its renewal; False if it is lost."""
        ...

    def slice_over(self, since_s: float) -> bool:
        """Tell whether somebody else waits for this thread and our time is up."""
        ...

    def is_quick(self, name: str) -> bool:
        """Tell whether code of this name is over at once, as far as it has been seen."""
        ...

    def wanted(self, task_id: UUID) -> bool:
        """Tell whether somebody wants something of a task."""
        ...

    def progress(self, desk: Desk, call_id: str, progress: object) -> None:
        """Take progress of a running call; does not block."""
        ...

    def flush_progress(self, desk: Desk) -> None:
        """Write the progress that was taken, now."""
        ...

    def admit(self, desk: Desk, tool: AnyTool) -> float:
        """Ask the tool's breaker; gives the seconds to wait, 0 to go on."""
        ...

    def record(self, desk: Desk, tool: AnyTool, failure: Failure | None) -> None:
        """Tell the tool's breaker how a call went."""
        ...

    def refused(self, desk: Desk, what: str, call: Call | None, evidence: object) -> None:
        """Keep a write or call that the fence refused."""
        ...
