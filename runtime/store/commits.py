"""What one step commit is: who writes, what was decided, and the facts that rows hold beside it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from runtime.core.story import Decision


@dataclass(frozen=True, slots=True)
class Holder:
    """Who writes: the task, and the lease under which it is held."""

    task_id: UUID
    owner: UUID
    epoch: int


@dataclass(frozen=True, slots=True)
class Consumed:
    """An inbox row that a commit settles; ``refused`` says why it could not be obeyed."""

    inbox_id: int
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Attached:
    """The bulky or outside facts that rows hold and events only refer to.

    Args:
        result: Stored text of the result of a completed call.
        artifact: Handle of the artifact that holds the result.
        arguments: Stored text of the arguments of a call that was never pending.
        same_digest: Digest of the arguments that make two writes the same.
        external_id: The downstream's id of the effect.
        snapshot: Stored text of what a review item shows.
        end_result: Stored text of the task's result.
        end_reason: Why the task ended as it did.
        end_search: Words of the ending that a search should find.
    """

    result: str | None = None
    artifact: str | None = None
    arguments: str | None = None
    same_digest: str | None = None
    external_id: str | None = None
    snapshot: str = "{}"
    end_result: str | None = None
    end_reason: str | None = None
    end_search: str = ""

    def behind(self, earlier: "Attached") -> "Attached":
        """Add the facts of a completed call that is written with the same commit.

        Must hold: these are of an ending, so that no fact is in both.
        """
        return replace(
            earlier,
            end_result=self.end_result,
            end_reason=self.end_reason,
            end_search=self.end_search,
        )


NOTHING = Attached()


@dataclass(frozen=True, slots=True)
class Commit:
    """One step commit.

    Args:
        holder: Who writes.
        version: The version the decision was made on.
        decision: What was decided.
        attended: The attention that was raised when the inbox was last read.
        parks: The lease is given back with it, unless somebody raised the attention since.
        due_at: When a parked task wakes; None for never.
        due_now: A parked task wakes at once.
        dispatches: A call goes out behind it: the lease must not have run out.
        deaths: What the suspicion counter becomes.
        attached: Bulky facts for the rows.
        consumed: Inbox rows that it settles.
    """

    holder: Holder
    version: int
    decision: Decision
    attended: int
    parks: bool = False
    due_at: datetime | None = None
    due_now: bool = False
    dispatches: bool = False
    deaths: int = 0
    attached: Attached = NOTHING
    consumed: Sequence[Consumed] = field(default=())


class Refused(Exception):
    """A guard failed and nothing was written; ``reason`` says which.

    Internal to the store and its callers: it is an ordinary outcome, not an error of anybody.
    """

    def __init__(self, reason: str, epoch_now: int) -> None:
        """Take the guard that failed and the epoch that is in force."""
        super().__init__(reason)
        self.reason = reason
        self.epoch_now = epoch_now
