"""The path of a task as a value: what a test asserts on."""

from dataclasses import dataclass
from typing import Any

from runtime.core.checkpoint import Checkpoint
from runtime.core.events import Event
from runtime.core.states import State
from runtime.testing.facts import Item, Operation
from runtime.testing.world import Happened


@dataclass(frozen=True, slots=True)
class CallPath:
    """One call of a tool.

    Args:
        arguments: As the tool got them: validated, defaults applied.
        attempts: Attempts by the journal's count; a call sent again after a crash is still one.
        sent: How often the tool was really called.
        outcome: `succeeded`, `failed`, `skipped`; `open` while nobody knows.
        result: What it returned, as the planner sees it.
    """

    tool: str
    call_id: str
    arguments: dict[str, Any]
    attempts: int
    sent: int
    outcome: str
    result: Any = None


@dataclass(frozen=True, slots=True, repr=False)
class Path:
    """How a task went.

    Args:
        agent: Name of the agent.
        outcome: `succeeded`, `failed`, `aborted`, or `waiting` for a person.
        state: Where it stands.
        states: Every state it was in, in order.
        tools: The tools that were called, one name per call, in order.
        result: The task's result.
        reason: Why it ended as it did.
        waiting: The open review item, when it waits for a person.
        asked: All review items, in order.
        slept_s: Seconds spent in back-offs and other waits between attempts.
        took_s: Seconds from first to last event.
        crashes: How often the worker died.
        operations: The ledger, in the order the effects were decided.
        events: The journal.
        checkpoint: What the journal folds to.
    """

    agent: str
    outcome: str
    state: State
    states: list[State]
    tools: list[str]
    result: Any
    reason: str | None
    waiting: Item | None
    asked: list[Item]
    slept_s: float
    took_s: float
    crashes: int
    operations: list[Operation]
    events: list[Event]
    checkpoint: Checkpoint
    all_calls: list[CallPath]
    happened: list[Happened]

    def calls(self, tool: object | None = None) -> list[CallPath]:
        """Give the calls in order: of one tool (or its name), or all."""
        wanted = _name(tool)
        return [call for call in self.all_calls if wanted in {None, call.tool}]

    def effects(self, tool: object | None = None) -> list[Happened]:
        """Give what took effect in the world, one per operation id: of one tool, or all.

        Each says how many `times` it took effect; a test of “exactly once” asserts on both.
        """
        wanted = _name(tool)
        return [one for one in self.happened if wanted in {None, one.tool}]

    @property
    def story(self) -> list[str]:
        """The event types in order."""
        return [event.type.value for event in self.events]

    def __repr__(self) -> str:
        """Tell the whole path: this is what a failed assertion shows."""
        lines = [f"<Path of {self.agent}: {self.outcome} ({self.state.value})"]
        if self.reason:
            lines.append(f"  because {self.reason}")
        if self.waiting:
            lines.append(f"  waiting: {self.waiting.kind}: {self.waiting.why}")
        for event in self.events:
            about = event.payload.get("tool") or event.payload.get("why") or ""
            lines.append(f"  {event.seq:>3} {event.type.value} {about}".rstrip())
        return "\n".join(lines) + ">"


def _name(tool: object | None) -> str | None:
    if tool is None or isinstance(tool, str):
        return tool
    name: str = getattr(tool, "name")  # noqa: B009 (a tool of any signature)
    return name
