"""What can be asked of a task: the commands that ``decide`` answers with events.

Commands are values made at the edge: by the driver from what a planner or a tool said, by the
console and the API from what a person wants.  They carry digests and summaries; bulky payloads
travel beside them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.core.effects import Effect
from runtime.core.retry import Failure, RetryPolicy


@dataclass(frozen=True, slots=True)
class Decided:
    """One call as the planner decided it, with its arguments in their stored form."""

    tool: str
    effect: Effect
    digest: str
    arguments: Mapping[str, Any]
    operation_id: str | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """A worker takes the task the first time."""

    incarnation: str


@dataclass(frozen=True, slots=True)
class PlanCalls:
    """The planner decided on several calls, in order."""

    calls: tuple[Decided, ...]


@dataclass(frozen=True, slots=True)
class Begin:
    """The pending call, or the one just decided, is about to go out: write the intent."""

    decided: Decided | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The tool confirmed its result.

    Args:
        decided: The call, when it was never pending: a read whose first attempt succeeded.
        result_digest: Digest of the result's stored form.
        summary: One line of it for people.
        took_ms: How long the call took.
    """

    decided: Decided | None
    result_digest: str
    summary: str
    took_ms: int


@dataclass(frozen=True, slots=True)
class Failed:
    """An attempt ended in a known failure.

    Args:
        decided: The call, when it was never pending.
        failure: What went wrong, classified.
        policy: The retry policy in force for this tool.
        fallback: The call to make instead when this one is given up.
        effect_now: The effect class that holds by now, when the downstream's memory of our key
            may have run out.
        not_before_s: The breaker of the tool lets nobody through earlier than this, in seconds.
        took_ms: How long the attempt took.
    """

    decided: Decided | None
    failure: Failure
    policy: RetryPolicy
    fallback: Decided | None = None
    effect_now: Effect | None = None
    not_before_s: float = 0.0
    took_ms: int = 0


@dataclass(frozen=True, slots=True)
class Parked:
    """The breaker of the pending tool is open: wait without spending an attempt."""

    decided: Decided | None
    wait_s: float


@dataclass(frozen=True, slots=True)
class Doubted:
    """Nobody can tell whether the dispatched call happened, and it must not be sent again."""

    why: str


@dataclass(frozen=True, slots=True)
class Checked:
    """The tool's own check told whether the dispatched call happened.

    ``attempts`` is how many the policy allows: a call that did not happen is made again while some
    are left.
    """

    happened: bool
    attempts: int
    result_digest: str | None = None
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Repeats:
    """The planned write equals one that this task has confirmed already."""

    decided: Decided
    confirmed_call_id: str


@dataclass(frozen=True, slots=True)
class AskHuman:
    """The planner has a question for a person."""

    question: str


@dataclass(frozen=True, slots=True)
class RejectPlan:
    """What the planner returned cannot be run."""

    why: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The planner says that the goal is reached."""

    result_digest: str
    summary: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The task cannot reach its goal."""

    reason: str


@dataclass(frozen=True, slots=True)
class Exhaust:
    """A limit of the manifest is used up."""

    limit: str
    allowed: str


@dataclass(frozen=True, slots=True)
class Drifted:
    """What is deployed differs from what the manifest pinned; the digest names the difference."""

    changes: Mapping[str, Any]
    digest: str


@dataclass(frozen=True, slots=True)
class Escalate:
    """A person must look: the step killed its worker, or the checkpoint is unreadable."""

    kind: str
    why: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """Somebody wants the task to end without reaching its goal."""

    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class Hold:
    """Somebody pauses the task."""

    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class ReleaseHold:
    """Somebody lets a paused task go on."""

    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class RetryNow:
    """Somebody does not want to wait for the back-off."""

    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class Settle:
    """A person's decision on the open review item is carried out.

    Args:
        review_id: The item.
        decision: One of the decisions its kind allows.
        reason: Why, in the person's words.
        by: Who decided.
        answer: The answer to a question.
        result_digest: Digest of the result given by hand.
        summary: One line of that result.
    """

    review_id: str
    decision: str
    reason: str
    by: str
    answer: Any = None
    result_digest: str | None = None
    summary: str = ""


type Command = (
    Start
    | PlanCalls
    | Begin
    | Succeeded
    | Failed
    | Parked
    | Doubted
    | Checked
    | Repeats
    | AskHuman
    | RejectPlan
    | Finish
    | GiveUp
    | Exhaust
    | Drifted
    | Escalate
    | Cancel
    | Hold
    | ReleaseHold
    | RetryNow
    | Settle
)
