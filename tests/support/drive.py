"""The engine's own driver without a worker around it: one held task, on the calling thread."""

# ruff: noqa: ARG002 (a house that asks nothing of its driver)
from typing import Any
from uuid import UUID

from runtime.core.plans import Plan
from runtime.core.retry import Failure
from runtime.engine.calls import Call
from runtime.engine.desk import Desk
from runtime.engine.driver import Driver
from runtime.engine.requests import OnThread, Outcome, Raised, Returned, Write
from runtime.store import journal
from runtime.telemetry import Slice
from runtime.tools.agents import Agent
from runtime.tools.registry import AnyTool
from tests.support import work

MOST_REQUESTS = 100
"""More than any task of these tests can need: beyond it the driver runs in circles."""


def _plan(context: Any) -> Any:
    """Finish at once, or ask a person first, as the task's input says."""
    if context.input["body"] == "ask" and not context.events:
        return Plan.ask("Which one?")
    return Plan.finish({"done": True})


AGENT = Agent(work.AGENT, role="Asks and finishes", tools=[], planner=_plan)


class House:
    """A worker that always holds its lease and never rests.

    Args:
        quick: Whether all code is known to be over at once.
    """

    def __init__(self, *, quick: bool = False) -> None:
        self.stopping = False
        self.evidence: list[object] = []
        self._quick = quick

    def may_call(self, owner: UUID) -> bool:
        """Yes."""
        return True

    def slice_over(self, since_s: float) -> bool:
        """Nobody else wants the thread."""
        return False

    def is_quick(self, name: str) -> bool:
        """Say what it was told."""
        return self._quick

    def wanted(self, task_id: UUID) -> bool:
        """Learn it from the commits."""
        return False

    def progress(self, desk: Desk, call_id: str, progress: object) -> None:
        """No call reports any."""

    def flush_progress(self, desk: Desk) -> None:
        """There is none."""

    def admit(self, desk: Desk, tool: AnyTool) -> float:
        """No breaker is open."""
        return 0.0

    def record(self, desk: Desk, tool: AnyTool, failure: Failure | None) -> None:
        """No breaker listens."""

    def refused(self, desk: Desk, what: str, call: Call | None, evidence: object) -> None:
        """Keep it; the fence speaks for itself."""
        self.evidence.append(evidence)


def drive(desk: Desk, agent: Agent = AGENT, house: House | None = None) -> None:
    """Take a held task as far as it can go."""
    stretch = Slice(desk.claimed.id, desk.claimed.agent, str(desk.claimed.owner))
    script = Driver(house or House(), desk, agent, stretch).script()
    outcome: Outcome = None
    for _ in range(MOST_REQUESTS):
        try:
            request = script.send(outcome)
        except StopIteration:
            return
        assert isinstance(request, OnThread | Write)
        try:
            outcome = Returned(_answer(request))
        except Exception as error:  # noqa: BLE001 (as a worker's pool does)
            outcome = Raised(error)
    message = "the driver runs in circles"
    raise AssertionError(message)


def _answer(request: Write | OnThread) -> Any:
    return journal.commit(request.step) if isinstance(request, Write) else request.run()
