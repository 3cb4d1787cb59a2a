"""Every error the runtime raises on purpose, in one tree.

Constructors take data, `str(error)` is one clear sentence, class data says how it is answered::

    SignalboxError
    ├── ToolError               raised by the author of a tool to say what happened
    │   ├── Retryable           try again (from a `once` tool: nothing was sent)
    │   ├── Permanent           never try again, it did not happen
    │   └── Ambiguous           nobody knows whether it happened
    ├── WrongUsage              asking again unchanged will not help; exit code 2, HTTP 4xx
    │   ├── UnknownAgent  UnknownTool  UnknownTask  UnknownReview             (404)
    │   ├── InputRefused  ArgumentsRefused  BadIdentifier  ApprovalNotPossible
    │   ├── ManifestRefused  ManifestWidens
    │   ├── KeyReused  NotAllowedNow  SituationMoved                          (409)
    │   ├── DecisionRefused
    │   │   └── ReviewClosed                                                  (409)
    │   └── AgentRefused  ToolRefused       a definition no process may start with
    └── EngineError             reaches a person only as a review item or a log line
        ├── IllegalTransition  StaleVersion                               bugs of ours
        ├── LeaseLost                                                     another worker has it
        ├── PlanInvalid  ToolFailed  ChildDied  ChildVanished
        └── Unreadable          something stored cannot be read back, and nobody guesses
            └── CheckpointUnreadable  PayloadUnreadable  UnknownCodec
"""

from __future__ import annotations

from dataclasses import dataclass

from runtime.core.error_base import Ambiguous, Permanent, Retryable, SignalboxError, ToolError
from runtime.core.error_text import (
    ErrorInfo,
    clean_text,
    describe,
    safe_text,
    type_name,
)
from runtime.core.error_usage import (
    AgentRefused,
    ApprovalNotPossible,
    ArgumentsRefused,
    BadIdentifier,
    DecisionRefused,
    InputRefused,
    KeyReused,
    ManifestRefused,
    ManifestWidens,
    NotAllowedNow,
    ReviewClosed,
    SituationMoved,
    ToolRefused,
    UnknownAgent,
    UnknownReview,
    UnknownTask,
    UnknownTool,
    WrongUsage,
)

__all__ = [
    "AgentRefused",
    "Ambiguous",
    "ApprovalNotPossible",
    "ArgumentsRefused",
    "BadIdentifier",
    "CheckpointUnreadable",
    "ChildDied",
    "ChildVanished",
    "DecisionRefused",
    "EngineError",
    "ErrorInfo",
    "IllegalTransition",
    "InputRefused",
    "KeyReused",
    "LeaseLost",
    "ManifestRefused",
    "ManifestWidens",
    "NotAllowedNow",
    "PayloadUnreadable",
    "Permanent",
    "PlanInvalid",
    "Retryable",
    "ReviewClosed",
    "SignalboxError",
    "SituationMoved",
    "StaleVersion",
    "ToolError",
    "ToolFailed",
    "ToolRefused",
    "UnknownAgent",
    "UnknownCodec",
    "UnknownReview",
    "UnknownTask",
    "UnknownTool",
    "Unreadable",
    "WrongUsage",
    "clean_text",
    "describe",
    "safe_text",
    "type_name",
]


class EngineError(SignalboxError):
    """Something inside the engine; no caller did anything wrong."""

    code = "engine_error"


@dataclass(eq=False)
class IllegalTransition(EngineError):
    """An event does not belong to the state it met; nothing was changed."""

    state: str
    event: str

    code = "illegal_transition"
    sentence = "Event {event} is not legal in state {state}; nothing was changed."


@dataclass(eq=False)
class StaleVersion(EngineError):
    """A commit lost by version while the lease was still ours: two drivers for one task, a bug."""

    task_id: object
    expected: int

    code = "stale_version"
    sentence = (
        "Task {task_id} is no longer at version {expected} although its lease is ours; "
        "two drivers wrote to it, which is a bug."
    )

    def __post_init__(self) -> None:
        self.task_id = str(self.task_id)


@dataclass(eq=False)
class LeaseLost(EngineError):
    """Another worker holds the task; whatever this one still does changes nothing."""

    task_id: object
    epoch: int
    epoch_now: int = 0
    """The one in force; 0 when it is not known."""

    code = "lease_lost"
    sentence = "The lease on task {task_id} was lost at epoch {epoch}; another worker continues it."

    def __post_init__(self) -> None:
        self.task_id = str(self.task_id)


@dataclass(eq=False)
class PlanInvalid(EngineError):
    """A planner returned something that is no plan."""

    why: str

    code = "plan_invalid"
    sentence = "The plan is invalid: {why}."


@dataclass(eq=False)
class ToolFailed(EngineError):
    """An isolated tool raised something of its own; it crosses processes as text only."""

    type_name: str
    message: str

    code = "tool_failed"
    sentence = "{type_name}: {message}"


@dataclass(eq=False)
class ChildDied(EngineError):
    """The child process of an isolated tool was ended by a signal before it answered."""

    signal: int

    code = "child_died"
    sentence = "The child process of the tool was ended by signal {signal} before it answered."


@dataclass(eq=False)
class ChildVanished(EngineError):
    """The child process of an isolated tool left by itself without an answer."""

    status: int

    code = "child_vanished"
    sentence = "The child process of the tool left with status {status} before it answered."


class Unreadable(EngineError):
    """Something stored cannot be read back; the reader refuses instead of guessing."""

    code = "unreadable"


@dataclass(eq=False)
class CheckpointUnreadable(Unreadable):
    """A task's checkpoint cannot be read, so nothing may be done with it."""

    task_id: object
    why: str

    code = "checkpoint_unreadable"
    sentence = (
        "The checkpoint of task {task_id} cannot be read ({why}); rebuild it from its events."
    )

    def __post_init__(self) -> None:
        self.task_id = str(self.task_id)


@dataclass(eq=False)
class PayloadUnreadable(Unreadable):
    """A stored payload is not what the gate writes."""

    why: str

    code = "payload_unreadable"
    sentence = "A stored payload cannot be read: {why}."


@dataclass(eq=False)
class UnknownCodec(Unreadable):
    """A stored payload names a codec this version does not know."""

    codec: str

    code = "unknown_codec"
    sentence = (
        "A stored payload has codec '{codec}', which this version does not know; "
        "upgrade this process."
    )
