r"""Every error the runtime raises on purpose, in one tree; constructors take data, `str()` is one clear sentence.

::

    SignalboxError
    ├── ToolError                raised by the author of a tool to say what happened
    │   ├── Retryable            try again (from a `once` tool: nothing was sent)
    │   ├── Permanent            never try again, it did not happen
    │   └── Ambiguous            nobody knows whether it happened
    ├── WrongUsage               the caller asked for something that cannot be done; exit code 2, HTTP 4xx
    │   ├── UnknownAgent  UnknownTool  UnknownTask  UnknownReview                     (404)
    │   ├── InputRefused  ArgumentsRefused  ManifestRefused  ManifestWidens  BadIdentifier  ApprovalNotPossible
    │   ├── KeyReused  NotAllowedNow  SituationMoved                                  (409)
    │   ├── DecisionRefused      (422)
    │   │   └── ReviewClosed     (409)
    │   └── AgentRefused  ToolRefused                a definition that cannot be started with
    └── EngineError              inside the engine; reaches a person only as a review item or a log line
        ├── IllegalTransition  StaleVersion          bugs of ours
        ├── LeaseLost                                another worker holds the task now
        ├── PlanInvalid  ChildDied  ChildVanished  ToolFailed
        └── Unreadable
            ├── CheckpointUnreadable  PayloadUnreadable
            └── UnknownCodec

Every error survives pickling because `args` are exactly the constructor's arguments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNSTORABLE_CHARACTERS: Final = re.compile("[\x00\ud800-\udfff]")
_MOST_NAMES = 20
_MOST_LINKS = 5
_GUARDED: Final = (Exception, SystemExit, GeneratorExit)
"""What foreign `__str__` methods may throw at us; interrupts of the worker itself still pass."""


class SignalboxError(Exception):
    """Root of the tree. `str(error)` says what happened and what to do."""

    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False
    code: ClassVar[str] = "error"


# --- raised by tools ----------------------------------------------------------------------------


class ToolError(SignalboxError):
    """What the author of a tool raises to say how a call ended."""

    code = "tool_error"

    def __init__(self, message: str = "") -> None:
        """Take the sentence that people will read."""
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return self.message or self.code.replace("_", " ")


class Retryable(ToolError):
    """The call did not succeed and may be tried again; from a `once` tool: nothing was sent."""

    retryable = True
    code = "retryable"

    def __init__(self, message: str = "", after_s: float | None = None) -> None:
        """Take the message and, when the downstream named one, the pause in seconds."""
        super().__init__(message)
        self.after_s = after_s
        self.args = (message, after_s)


class Permanent(ToolError):
    """The call failed, had no effect, and would fail again."""

    code = "permanent"


class Ambiguous(ToolError):
    """Nobody knows whether the call took effect: a time-out, a lost connection, an unclear answer."""

    code = "ambiguous"


# --- wrong usage --------------------------------------------------------------------------------


class WrongUsage(SignalboxError):
    """The request itself cannot be served; asking again unchanged will not help."""

    http_status = 422
    exit_code = 2
    code = "wrong_usage"


class UnknownAgent(WrongUsage):
    """No agent has this name."""

    http_status = 404
    code = "unknown_agent"

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        """Take the name asked for and the names there are."""
        self.name, self.known = name, tuple(sorted(known))
        super().__init__(name, self.known)

    def __str__(self) -> str:
        return f"No agent is named {_quoted(self.name)}; {_there_are('agents', self.known)}."


class UnknownTool(WrongUsage):
    """The agent has no tool of this name."""

    http_status = 404
    code = "unknown_tool"

    def __init__(self, tool: str, agent: str, known: Iterable[str] = ()) -> None:
        """Take the tool asked for, the agent, and the tools it has."""
        self.tool, self.agent, self.known = tool, agent, tuple(sorted(known))
        super().__init__(tool, agent, self.known)

    def __str__(self) -> str:
        known = f"; {_there_are('tools', self.known)}" if self.known else ""
        return f"Agent {_quoted(self.agent)} has no tool {_quoted(self.tool)}{known}."


class UnknownTask(WrongUsage):
    """No task has this id in this namespace."""

    http_status = 404
    code = "unknown_task"

    def __init__(self, task_id: object) -> None:
        """Take the id asked for."""
        self.task_id = str(task_id)
        super().__init__(self.task_id)

    def __str__(self) -> str:
        return f"There is no task {_quoted(self.task_id)} here; check the id and the namespace."


class UnknownReview(WrongUsage):
    """No review item has this id in this namespace."""

    http_status = 404
    code = "unknown_review"

    def __init__(self, review_id: object) -> None:
        """Take the id asked for."""
        self.review_id = str(review_id)
        super().__init__(self.review_id)

    def __str__(self) -> str:
        return f"There is no review item {_quoted(self.review_id)} here; check the id and the namespace."


class InputRefused(WrongUsage):
    """The input does not fit what the agent declares."""

    code = "input_refused"

    def __init__(self, agent: str, problems: Iterable[str]) -> None:
        """Take the agent and one line per problem."""
        self.agent, self.problems = agent, tuple(problems)
        super().__init__(agent, self.problems)

    def __str__(self) -> str:
        return f"The input does not fit agent {_quoted(self.agent)}: {_listed(self.problems)}."


class ArgumentsRefused(WrongUsage):
    """The arguments of a call do not fit the tool's schema."""

    code = "arguments_refused"

    def __init__(self, tool: str, problems: Iterable[str]) -> None:
        """Take the tool and one line per problem."""
        self.tool, self.problems = tool, tuple(problems)
        super().__init__(tool, self.problems)

    def __str__(self) -> str:
        return f"The arguments do not fit tool {_quoted(self.tool)}: {_listed(self.problems)}."


class ManifestRefused(WrongUsage):
    """The manifest holds something that is wrong or not available."""

    code = "manifest_refused"

    def __init__(self, problems: Iterable[str]) -> None:
        """Take one line per problem."""
        self.problems = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return f"The manifest was refused: {_listed(self.problems)}."


class ManifestWidens(WrongUsage):
    """A submitted manifest asks for more than its agent allows."""

    code = "manifest_widens"

    def __init__(self, field: str, asked: object, allowed: object) -> None:
        """Take the field, what was asked for, and what the agent allows."""
        self.field, self.asked, self.allowed = field, _shown(asked), _shown(allowed)
        super().__init__(field, self.asked, self.allowed)

    def __str__(self) -> str:
        return (
            f"A submitted manifest may only narrow its agent's: {self.field} asks for {self.asked}, "
            f"allowed is {self.allowed}."
        )


class ApprovalNotPossible(WrongUsage):
    """A tool would have to ask a person and nothing here can ask."""

    code = "approval_not_possible"

    def __init__(self, agent: str, tool: str, why: str) -> None:
        """Take the agent, the tool, and why it has to ask."""
        self.agent, self.tool, self.why = agent, tool, why
        super().__init__(agent, tool, why)

    def __str__(self) -> str:
        return (
            f"Tool {_quoted(self.tool)} of agent {_quoted(self.agent)} would have to ask a person ({self.why}), "
            "and approvals are not available in this version; waive it in the manifest with a reason."
        )


class BadIdentifier(WrongUsage):
    """A text that should be an id, a key or a name is none."""

    code = "bad_identifier"

    def __init__(self, text: object, kind: str = "id") -> None:
        """Take the text and what it should have been."""
        self.text, self.kind = str(text), kind
        super().__init__(self.text, kind)

    def __str__(self) -> str:
        return f"{_quoted(self.text)} is not a valid {self.kind}."


class KeyReused(WrongUsage):
    """An idempotency key came again with another body."""

    http_status = 409
    code = "key_reused"

    def __init__(self, key: str) -> None:
        """Take the key."""
        self.key = key
        super().__init__(key)

    def __str__(self) -> str:
        return f"Key {_quoted(self.key)} was already used with a different request; repeat that request or take a new key."


class NotAllowedNow(WrongUsage):
    """The command exists and the task's state does not take it."""

    http_status = 409
    code = "not_allowed_now"

    def __init__(self, task_id: object, command: str, state: str) -> None:
        """Take the task, the command, and the state it is in."""
        self.task_id, self.command, self.state = str(task_id), command, state
        super().__init__(self.task_id, command, state)

    def __str__(self) -> str:
        return f"Task {self.task_id} cannot {self.command} now: it is in state {self.state}."


class SituationMoved(WrongUsage):
    """What the caller relied on has changed since it was read."""

    http_status = 409
    code = "situation_moved"

    def __init__(self, expected: int, actual: int) -> None:
        """Take the situation the caller saw and the one there is."""
        self.expected, self.actual = expected, actual
        super().__init__(expected, actual)

    def __str__(self) -> str:
        return (
            f"The task has moved on since it was read (situation {self.expected}, now {self.actual}); "
            "read it again, then decide."
        )


class DecisionRefused(WrongUsage):
    """A review item does not take this decision."""

    code = "decision_refused"

    def __init__(self, review_id: object, decision: str, why: str) -> None:
        """Take the item, the decision, and why it was refused."""
        self.review_id, self.decision, self.why = str(review_id), decision, why
        super().__init__(self.review_id, decision, why)

    def __str__(self) -> str:
        return (
            f"Review {self.review_id} does not take decision {_quoted(self.decision)}: {self.why}."
        )


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
        self.args = (self.review_id, decision, closed_by, outcome, at)


class AgentRefused(WrongUsage):
    """The definition of an agent is wrong; the process must not start with it."""

    code = "agent_refused"

    def __init__(self, agent: str, why: str) -> None:
        """Take the agent and what is wrong with it."""
        self.agent, self.why = agent, why
        super().__init__(agent, why)

    def __str__(self) -> str:
        return f"Agent {_quoted(self.agent)} cannot be used: {self.why}."


class ToolRefused(WrongUsage):
    """The definition of a tool is wrong; the process must not start with it."""

    code = "tool_refused"

    def __init__(self, tool: str, why: str) -> None:
        """Take the tool and what is wrong with it."""
        self.tool, self.why = tool, why
        super().__init__(tool, why)

    def __str__(self) -> str:
        return f"Tool {_quoted(self.tool)} cannot be used: {self.why}."


# --- inside the engine --------------------------------------------------------------------------


class EngineError(SignalboxError):
    """Something inside the engine; no caller did anything wrong."""

    code = "engine_error"


class IllegalTransition(EngineError):
    """An event does not belong to the state it met; nothing was changed."""

    code = "illegal_transition"

    def __init__(self, state: str, event: str) -> None:
        """Take the state and the event."""
        self.state, self.event = state, event
        super().__init__(state, event)

    def __str__(self) -> str:
        return f"Event {self.event} is not legal in state {self.state}; nothing was changed."


class StaleVersion(EngineError):
    """A commit lost by version while the lease was still ours: two drivers for one task, a bug."""

    code = "stale_version"

    def __init__(self, task_id: object, expected: int) -> None:
        """Take the task and the version the commit was made for."""
        self.task_id, self.expected = str(task_id), expected
        super().__init__(self.task_id, expected)

    def __str__(self) -> str:
        return (
            f"Task {self.task_id} is no longer at version {self.expected} although its lease is ours; "
            "two drivers wrote to it, which is a bug."
        )


class LeaseLost(EngineError):
    """Another worker holds the task; whatever this one still does changes nothing."""

    code = "lease_lost"

    def __init__(self, task_id: object, epoch: int, epoch_now: int = 0) -> None:
        """Take the task, the epoch that was lost, and the one in force (0 when it is not known)."""
        self.task_id, self.epoch, self.epoch_now = str(task_id), epoch, epoch_now
        super().__init__(self.task_id, epoch, epoch_now)

    def __str__(self) -> str:
        return f"The lease on task {self.task_id} was lost at epoch {self.epoch}; another worker continues it."


class PlanInvalid(EngineError):
    """A planner returned something that is no plan."""

    code = "plan_invalid"

    def __init__(self, why: str) -> None:
        """Take what is wrong with it."""
        self.why = why
        super().__init__(why)

    def __str__(self) -> str:
        return f"The plan is invalid: {self.why}."


class ChildDied(EngineError):
    """The child process of an isolated tool ended without an answer."""

    code = "child_died"

    def __init__(self, signal: int) -> None:
        """Take the number of the signal that ended it."""
        self.signal = signal
        super().__init__(signal)

    def __str__(self) -> str:
        return (
            f"The child process of the tool was ended by signal {self.signal} before it answered."
        )


class ChildVanished(EngineError):
    """The child process of an isolated tool left by itself without an answer."""

    code = "child_vanished"

    def __init__(self, status: int) -> None:
        """Take the exit status it left with."""
        self.status = status
        super().__init__(status)

    def __str__(self) -> str:
        return f"The child process of the tool left with status {self.status} before it answered."


class ToolFailed(EngineError):
    """An isolated tool raised something of its own; what it was crosses processes as text only."""

    code = "tool_failed"

    def __init__(self, type_name: str, message: str) -> None:
        """Take the name of the exception's class and its message, both safe to store."""
        self.type_name, self.message = type_name, message
        super().__init__(type_name, message)

    def __str__(self) -> str:
        return f"{self.type_name}: {self.message}"


class Unreadable(EngineError):
    """Something stored cannot be read back; the reader refuses instead of guessing."""

    code = "unreadable"


class CheckpointUnreadable(Unreadable):
    """A task's checkpoint cannot be read, so nothing may be done with it."""

    code = "checkpoint_unreadable"

    def __init__(self, task_id: object, why: str) -> None:
        """Take the task and why its checkpoint cannot be read."""
        self.task_id, self.why = str(task_id), why
        super().__init__(self.task_id, why)

    def __str__(self) -> str:
        return f"The checkpoint of task {self.task_id} cannot be read ({self.why}); rebuild it from its events."


class PayloadUnreadable(Unreadable):
    """A stored payload is not what the gate writes."""

    code = "payload_unreadable"

    def __init__(self, why: str) -> None:
        """Take what is wrong with it."""
        self.why = why
        super().__init__(why)

    def __str__(self) -> str:
        return f"A stored payload cannot be read: {self.why}."


class UnknownCodec(Unreadable):
    """A stored payload names a codec this version does not know."""

    code = "unknown_codec"

    def __init__(self, codec: str) -> None:
        """Take the name of the codec."""
        self.codec = codec
        super().__init__(codec)

    def __str__(self) -> str:
        return f"A stored payload has codec {_quoted(self.codec)}, which this version does not know; upgrade this process."


# --- any exception as safe text -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An exception as plain data: type name, bounded message, and its causes, nearest first."""

    type: str
    message: str
    chain: tuple[str, ...] = ()


def clean_text(text: str) -> str:
    """Replace what PostgreSQL cannot store (NUL, lone surrogates) by U+FFFD."""
    return _UNSTORABLE_CHARACTERS.sub("\ufffd", text)


def type_name(value: object) -> str:
    """Give the qualified name of a value's class, bounded and storable, whatever its metaclass does."""
    kind = type(value)
    try:
        module, name = kind.__module__, kind.__qualname__
        full = name if module == "builtins" else f"{module}.{name}"
    except _GUARDED:
        return "unnamed"
    return clean_text(full[:200])


def safe_text(exc: BaseException, limit: int = 2000) -> str:
    """Give an exception's message as bounded, storable text; never raises.

    Args:
        exc: Any exception, also one whose `__str__` raises.
        limit: Longest result in characters.

    """
    try:
        text = str.__str__(str(exc))
    except _GUARDED as problem:
        text = f"(its message cannot be shown: str() raised {type_name(problem)})"
    return _bounded(clean_text(text[: limit + 1]) or type_name(exc), limit)


def describe(exc: BaseException, limit: int = 2000) -> ErrorInfo:
    """Give an exception as plain data with at most five causes; never raises."""
    chain: list[str] = []
    link = _cause(exc)
    while link is not None and len(chain) < _MOST_LINKS:
        chain.append(f"{type_name(link)}: {safe_text(link, 200)}")
        link = _cause(link)
    return ErrorInfo(type_name(exc), safe_text(exc, limit), tuple(chain))


def _cause(exc: BaseException) -> BaseException | None:
    try:
        hidden = exc.__suppress_context__
        return exc.__cause__ or (None if hidden else exc.__context__)
    except _GUARDED:
        return None


def _bounded(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: max(limit - 1, 0)]}…"


def _shown(value: object) -> str:
    """Give a value for a sentence: texts stay as they are, so that a second pass changes nothing."""
    try:
        return _bounded(clean_text(value if isinstance(value, str) else repr(value)), 120)
    except _GUARDED:
        return type_name(value)


def _quoted(text: str) -> str:
    return f"'{_bounded(clean_text(str(text)), 80)}'"


def _there_are(noun: str, names: tuple[str, ...]) -> str:
    if not names:
        return f"there are no {noun}"
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"known {noun}: {', '.join(names[:_MOST_NAMES])}{more}"


def _listed(problems: tuple[str, ...]) -> str:
    more = f"; and {len(problems) - _MOST_NAMES} more" if len(problems) > _MOST_NAMES else ""
    return "; ".join(problem.rstrip(".") for problem in problems[:_MOST_NAMES]) + more
