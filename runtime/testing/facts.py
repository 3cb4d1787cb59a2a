"""Rows of the books on paper that a test may look at."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Operation:
    """One effect in the ledger.

    Args:
        id: The operation id a downstream knows it by.
        status: `dispatched`, `confirmed`, `failed`, `in_doubt` or `reconciled`.
        dispatches: How often its intent was written.
    """

    id: str
    tool: str
    call_id: str
    status: str
    dispatches: int
    same: str
    first_at: datetime
    note: str


@dataclass(frozen=True, slots=True)
class Item:
    """A review item as a person would find it.

    Args:
        kind: Why a person is asked: `question`, `in_doubt`, `retries_exhausted` and so on.
        why: The same in a sentence.
        question: What the agent asks, if it does.
        tool: The tool of the call it is about.
        allowed: What may be decided.
        decision: What was decided; None while it is open.
    """

    id: str
    kind: str
    why: str
    question: str
    tool: str | None
    allowed: tuple[str, ...]
    decision: str | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """What the ending of a task leaves beside its checkpoint."""

    result: Any = None
    reason: str | None = None
