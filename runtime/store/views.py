"""The rows that people are shown: frozen values, never model instances.

``runtime.store.queries`` and its neighbours fill them, ``runtime.api`` hands them out.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from runtime.core.ledger_words import Word
from runtime.core.states import TERMINAL


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """One task as a list shows it.

    Args:
        steps: Decisions of the planner that led to calls.
        done: Completed calls.
        writes: Confirmed calls with an effect.
        tool: The tool of the pending call.
        attempt: Its attempts that ended in a known failure.
        wait: What it waits for: ``retry`` or the kind of the review item.
        review_id: The open review item.
        owner: The worker that holds it.
        readable: False when its checkpoint is damaged; what stands in it is None or 0 then.
    """

    id: UUID
    namespace: str
    agent: str
    queue: str
    priority: int
    state: str
    version: int
    situation: int
    title: str
    labels: dict[str, str]
    key: str | None
    created_by: str
    held: bool
    owner: UUID | None
    deaths: int
    created_at: datetime
    due_at: datetime | None
    finished_at: datetime | None
    deadline: datetime | None
    outcome: str | None
    outcome_reason: str | None
    steps: int
    done: int
    writes: int
    tool: str | None
    attempt: int
    wait: str | None
    review_id: UUID | None
    readable: bool

    @property
    def ended(self) -> bool:
        """Whether nothing will happen to it any more."""
        return self.state in TERMINAL


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDetail(TaskView):
    """One task with its bulky parts: input, pinned manifest, result."""

    input: Any
    manifest: dict[str, Any]
    result: Any


@dataclass(frozen=True, slots=True)
class Page[T]:
    """Some rows, and where the next page begins; None on the last one."""

    rows: tuple[T, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class EventView:
    """One event of the journal."""

    seq: int
    type: str
    at: datetime
    actor: str
    call_id: str | None
    cause: int | None
    event_id: str | None
    payload: Any


@dataclass(frozen=True, slots=True)
class StepView:
    """One completed call; ``result`` is decoded, a large one is a reference with its beginning."""

    position: int
    call_id: str
    tool: str
    effect: str
    outcome: str
    summary: str
    attempts: int
    took_ms: int
    finished_at: datetime
    operation_id: str | None
    artifact: str | None
    seq: int
    result: Any


@dataclass(frozen=True, slots=True)
class EffectEvent:
    """One event in the life of an effect."""

    seq: int
    type: str
    at: datetime


@dataclass(frozen=True, slots=True)
class EffectView:
    """One effect on the outside: what the ledger says, in one word for people, and its events."""

    operation_id: str
    call_id: str
    tool: str
    effect: str
    word: Word
    status: str
    dispatches: int
    external_id: str | None
    reserved_at: datetime
    first_dispatched_at: datetime | None
    settled_at: datetime | None
    note: str
    events: tuple[EffectEvent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewView:
    """One request for a person's decision."""

    id: UUID
    namespace: str
    task_id: UUID
    agent: str
    kind: str
    status: str
    why: str
    question: str
    allowed: tuple[str, ...]
    call_id: str | None
    operation_id: str | None
    tool: str | None
    situation: int
    seq: int
    opened_at: datetime
    waits_s: float
    decision: str | None
    reason: str | None
    arguments: Any
    decided_by: str | None
    channel: str | None
    decided_at: datetime | None
    closed_at: datetime | None
    snapshot: Any
