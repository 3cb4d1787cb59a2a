"""The builder that ``decide`` tells its events to.

Each event is applied as it is told, so that the next one is decided on the state it really meets;
the finished decision carries both the events and the checkpoint they lead to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NoReturn, Protocol

from runtime.core.apply import apply
from runtime.core.checkpoint import Checkpoint
from runtime.core.commands import Decided
from runtime.core.effects import MEANINGS
from runtime.core.errors import CheckpointUnreadable, NotAllowedNow
from runtime.core.events import Event, EventType
from runtime.core.keys import call_id
from runtime.core.records import Passage


class Dice(Protocol):
    """Chance, as an argument."""

    def random(self) -> float:
        """Give a number in [0, 1)."""
        ...

    def uuid(self, now: datetime) -> str:
        """Give a fresh UUIDv7."""
        ...


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided: the events, and the checkpoints between them."""

    passages: tuple[Passage, ...]
    after: Checkpoint

    @property
    def events(self) -> tuple[Event, ...]:
        """The events alone."""
        return tuple(passage.event for passage in self.passages)

    def then(self, later: "Decision") -> "Decision":
        """Put another decision behind this one, for one commit.

        Must hold: the later one was made on the checkpoint this one leads to.
        """
        return Decision(self.passages + later.passages, later.after)


class Story:
    """Events being decided on, in order.

    Args:
        checkpoint: Where the task stands.
        now: The instant every event carries.
        dice: Chance.
        actor: Who causes the events.
        plan: The calls of the plan under way, if it named several.
        task_id: The task, for what an error says.
    """

    def __init__(  # noqa: PLR0913, PLR0917 (what decide is given, in its order)
        self,
        checkpoint: Checkpoint,
        now: datetime,
        dice: Dice,
        actor: str,
        plan: Sequence[Decided] = (),
        task_id: object = "",
    ) -> None:
        self.task_id = task_id
        self.at = checkpoint
        self.now = now
        self.dice = dice
        self.actor = actor
        self.plan = plan
        self._passages: list[Passage] = []

    def tell(self, kind: EventType, call: str | None = None, /, **payload: Any) -> None:
        """Add one event and move on to the checkpoint it makes; any name may be a fact."""
        event = Event(self.at.seq + 1, kind, payload, self.now, self.actor, call_id=call)
        after = apply(self.at, event)
        self._passages.append(Passage(self.at, event, after))
        self.at = after

    def refuse(self, command: str) -> NoReturn:
        """Refuse what has no place here.

        Raises:
            NotAllowedNow: Always.
        """
        raise NotAllowedNow(self.task_id, command, self.at.state)

    def end(self) -> Decision:
        """Give the decision."""
        return Decision(tuple(self._passages), self.at)

    @property
    def now_text(self) -> str:
        """The instant as it stands in payloads: ISO 8601 in UTC."""
        return self.now.isoformat()

    def later(self, seconds: float) -> str:
        """An instant this many seconds from now."""
        return (self.now + timedelta(seconds=seconds)).isoformat()

    def call(self, decided: Decided, ordinal: int = 0, *, arguments: bool = True) -> dict[str, Any]:
        """Describe a call that is decided now, as it stands in a payload.

        Raises:
            NotAllowedNow: A write without an operation id could not be accounted for.
        """
        if (decided.operation_id is not None) is not MEANINGS[decided.effect].is_write:
            self.refuse("make a write without an operation id, nor a read with one,")
        facts: dict[str, Any] = {
            "call_id": call_id(self.at.branch, self.at.step + 1, ordinal),
            "tool": decided.tool,
            "effect": decided.effect.value,
            "digest": decided.digest,
        }
        if decided.operation_id is not None:
            facts["operation_id"] = decided.operation_id
        if arguments:
            facts["arguments"] = decided.arguments
        return facts

    def following(self) -> Mapping[str, Any]:
        """Describe in short the call that comes after the pending one, if the plan has one.

        Raises:
            CheckpointUnreadable: The plan that was given is not the one under way.
        """
        queue = self.at.queue
        if queue is None:
            return {}
        if len(self.plan) != queue.count:
            why = f"event {queue.seq} planned {queue.count} calls, {len(self.plan)} were given"
            raise CheckpointUnreadable(self.task_id, why)
        decided = self.plan[queue.next]
        facts: dict[str, Any] = {
            "call_id": call_id(self.at.branch, self.at.step, queue.next),
            "tool": decided.tool,
            "effect": decided.effect.value,
            "digest": decided.digest,
        }
        if decided.operation_id is not None:
            facts["operation_id"] = decided.operation_id
        return {"next": facts}
