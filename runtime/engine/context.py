"""What a script planner sees: input, results, answers; read-only."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from runtime.core.errors import clean_text
from runtime.core.payloads import decode


@dataclass(slots=True)
class Finished:
    """One completed call.

    Args:
        call_id: Its identity within the task.
        tool: Name of the tool.
        outcome: ``succeeded``, ``failed`` or ``skipped``.
        text: Stored form of its result.
        codec: How that was written.
        summary: One line for people.
    """

    call_id: str
    tool: str
    outcome: str
    text: str | None
    codec: str
    summary: str
    _value: Any = field(default=None, repr=False)
    _read: bool = field(default=False, repr=False)

    @property
    def value(self) -> Any:
        """The result as it is stored: the same before and after a recovery."""
        if not self._read:
            self._value = None if self.text is None else decode(self.text, self.codec)
            self._read = True
        return self._value


class Results(Sequence[Finished]):
    """The completed calls, oldest first, without a way to change them."""

    def __init__(self, calls: list[Finished]) -> None:
        """Take the list that the engine goes on filling."""
        self._calls = calls

    @overload
    def __getitem__(self, index: int) -> Finished: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Finished]: ...
    def __getitem__(self, index: int | slice) -> Finished | Sequence[Finished]:
        return self._calls[index]

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Finished]:
        return iter(self._calls)


@dataclass(frozen=True, slots=True)
class PlanContext:
    """What ``plan(context)`` decides on.

    Args:
        input: What the task was asked, as the agent's input model gave it.
        results: The completed calls, oldest first.
        events: What people answered: dicts of ``question``, ``answer`` and ``by``, oldest first.
    """

    input: Any
    results: Sequence[Finished]
    events: Sequence[dict[str, Any]]

    def result(self, tool: object) -> Any:
        """Give the value of the last succeeded call of a tool, or None."""
        name = tool if isinstance(tool, str) else getattr(tool, "name", None)
        for call in reversed(self.results):
            if call.tool == name and call.outcome == "succeeded":
                return call.value
        return None

    def succeeded(self, tool: str) -> bool:
        """Tell whether a call of this tool has succeeded."""
        return any(call.tool == tool and call.outcome == "succeeded" for call in self.results)

    def answer(self, question: str) -> Any:
        """Give the last answer to a question, or None while nobody has answered."""
        stored = clean_text(question)
        for event in reversed(self.events):
            if event["question"] == stored:
                return event["answer"]
        return None
