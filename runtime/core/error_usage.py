"""Errors of the caller: the request cannot be served; the tree is in `runtime.core.errors`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from runtime.core.error_base import SignalboxError
from runtime.core.error_text import shown


class WrongUsage(SignalboxError):
    """The request itself cannot be served; asking again unchanged will not help."""

    http_status = 422
    exit_code = 2
    code = "wrong_usage"


@dataclass(eq=False)
class UnknownAgent(WrongUsage):
    """No agent has this name."""

    name: str
    known: Iterable[str] = ()

    http_status = 404
    code = "unknown_agent"
    sentence = "No agent is named '{name}'; known agents: {known}."

    def __post_init__(self) -> None:
        self.known = tuple(sorted(self.known))


@dataclass(eq=False)
class UnknownTool(WrongUsage):
    """The agent has no tool of this name."""

    tool: str
    agent: str
    known: Iterable[str] = ()

    http_status = 404
    code = "unknown_tool"
    sentence = "Agent '{agent}' has no tool '{tool}'; its tools: {known}."

    def __post_init__(self) -> None:
        self.known = tuple(sorted(self.known))


@dataclass(eq=False)
class UnknownTask(WrongUsage):
    """No task has this id in this namespace."""

    task_id: object

    http_status = 404
    code = "unknown_task"
    sentence = "There is no task '{task_id}' here; check the id and the namespace."

    def __post_init__(self) -> None:
        self.task_id = str(self.task_id)


@dataclass(eq=False)
class UnknownReview(WrongUsage):
    """No review item has this id in this namespace."""

    review_id: object

    http_status = 404
    code = "unknown_review"
    sentence = "There is no review item '{review_id}' here; check the id and the namespace."

    def __post_init__(self) -> None:
        self.review_id = str(self.review_id)


@dataclass(eq=False)
class InputRefused(WrongUsage):
    """The input does not fit what the agent declares."""

    agent: str
    problems: Iterable[str]

    code = "input_refused"
    sentence = "The input does not fit agent '{agent}': {problems}."

    def __post_init__(self) -> None:
        self.problems = tuple(self.problems)


@dataclass(eq=False)
class ArgumentsRefused(WrongUsage):
    """The arguments of a call do not fit the tool's schema."""

    tool: str
    problems: Iterable[str]

    code = "arguments_refused"
    sentence = "The arguments do not fit tool '{tool}': {problems}."

    def __post_init__(self) -> None:
        self.problems = tuple(self.problems)


@dataclass(eq=False)
class ManifestRefused(WrongUsage):
    """The manifest holds something that is wrong or not available."""

    problems: Iterable[str]

    code = "manifest_refused"
    sentence = "The manifest was refused: {problems}."

    def __post_init__(self) -> None:
        self.problems = tuple(self.problems)


@dataclass(eq=False)
class ManifestWidens(WrongUsage):
    """A submitted manifest asks for more than its agent allows."""

    field: str
    asked: object
    allowed: object

    code = "manifest_widens"
    sentence = (
        "A submitted manifest may only narrow its agent's: {field} asks for {asked}, "
        "allowed is {allowed}."
    )


@dataclass(eq=False)
class ApprovalNotPossible(WrongUsage):
    """A tool would have to ask a person and nothing here can ask."""

    agent: str
    tool: str
    why: str

    code = "approval_not_possible"
    sentence = (
        "Tool '{tool}' of agent '{agent}' would have to ask a person ({why}), and approvals are "
        "not available in this version; waive it in the manifest with a reason."
    )


@dataclass(eq=False)
class BadIdentifier(WrongUsage):
    """A text that should be an id, a key or a name is none."""

    text: object
    kind: str = "id"

    code = "bad_identifier"
    sentence = "'{text}' is not a valid {kind}."

    def __post_init__(self) -> None:
        self.text = shown(self.text)


@dataclass(eq=False)
class KeyReused(WrongUsage):
    """An idempotency key came again with another body."""

    key: str

    http_status = 409
    code = "key_reused"
    sentence = (
        "Key '{key}' was already used with a different request; "
        "repeat that request or take a new key."
    )


@dataclass(eq=False)
class NotAllowedNow(WrongUsage):
    """The command exists and the task's state does not take it."""

    task_id: object
    command: str
    state: str

    http_status = 409
    code = "not_allowed_now"
    sentence = "Task {task_id} cannot {command} now: it is in state {state}."

    def __post_init__(self) -> None:
        self.task_id = str(self.task_id)


@dataclass(eq=False)
class SituationMoved(WrongUsage):
    """What the caller relied on has changed since it was read."""

    expected: int
    actual: int

    http_status = 409
    code = "situation_moved"
    sentence = (
        "The task has moved on since it was read (situation {expected}, now {actual}); "
        "read it again, then decide."
    )


@dataclass(eq=False)
class DecisionRefused(WrongUsage):
    """A review item does not take this decision."""

    review_id: object
    decision: str
    why: str

    code = "decision_refused"
    sentence = "Review {review_id} does not take decision '{decision}': {why}."

    def __post_init__(self) -> None:
        self.review_id = str(self.review_id)


class ReviewClosed(DecisionRefused):
    """Somebody else decided first, or the item was closed."""

    http_status = 409
    code = "review_closed"

    def __init__(
        self, review_id: object, decision: str, closed_by: str, outcome: str, at: str
    ) -> None:
        """Take the item, the late decision, and who closed it how and when."""
        super().__init__(review_id, decision, f"{closed_by} closed it as {outcome} at {at}")
        self.closed_by, self.outcome, self.at = closed_by, outcome, at


@dataclass(eq=False)
class AgentRefused(WrongUsage):
    """The definition of an agent is wrong; no process may start with it."""

    agent: str
    why: str

    code = "agent_refused"
    sentence = "Agent '{agent}' cannot be used: {why}."


@dataclass(eq=False)
class ToolRefused(WrongUsage):
    """The definition of a tool is wrong; no process may start with it."""

    tool: str
    why: str

    code = "tool_refused"
    sentence = "Tool '{tool}' cannot be used: {why}."
