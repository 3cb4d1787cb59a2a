"""What can happen to a task: the event types and the event itself.

Events are append-only, numbered without gaps per task, and carry every instant, choice and number
that ``apply`` needs, so that folding them gives the checkpoint for ever.  Payload text is made by
``runtime.core.payloads``; storing them is the journal's business.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class EventType(StrEnum):
    """Every event the machine knows; the legal transitions stand in ``runtime.core.table``."""

    TASK_CREATED = "task_created"
    TASK_STARTED = "task_started"
    MODEL_CALLED = "model_called"
    PLAN_GENERATED = "plan_generated"
    PLAN_REJECTED = "plan_rejected"
    TOOL_CALL_STARTED = "tool_call_started"
    TOOL_CALL_SUCCEEDED = "tool_call_succeeded"
    TOOL_CALL_FAILED = "tool_call_failed"
    TOOL_CALL_CANCELLED = "tool_call_cancelled"
    TOOL_CALL_IN_DOUBT = "tool_call_in_doubt"
    TOOL_CALL_RECONCILED = "tool_call_reconciled"
    RETRY_SCHEDULED = "retry_scheduled"
    EXTERNAL_EVENT_RECEIVED = "external_event_received"
    WAIT_STARTED = "wait_started"
    WAIT_TIMED_OUT = "wait_timed_out"
    TIMER_FIRED = "timer_fired"
    CHILD_SPAWNED = "child_spawned"
    CHILD_FINISHED = "child_finished"
    REVIEW_REQUESTED = "review_requested"
    REVIEW_CLOSED = "review_closed"
    HUMAN_APPROVED = "human_approved"
    HUMAN_REJECTED = "human_rejected"
    HUMAN_ANSWERED = "human_answered"
    TOKEN_ISSUED = "token_issued"  # noqa: S105 (an event name, not a secret)
    TOKEN_CONSUMED = "token_consumed"  # noqa: S105 (an event name, not a secret)
    TOKEN_REFUSED = "token_refused"  # noqa: S105 (an event name, not a secret)
    MEMORY_RECALLED = "memory_recalled"
    LOOP_WARNED = "loop_warned"
    LOOP_DETECTED = "loop_detected"
    BUDGET_EXHAUSTED = "budget_exhausted"
    LIMIT_RAISED = "limit_raised"
    CONFIG_DRIFT_DETECTED = "config_drift_detected"
    CHECKPOINT_UNREADABLE = "checkpoint_unreadable"
    STEP_SKIPPED = "step_skipped"
    BRANCH_OPENED = "branch_opened"
    COMPENSATION_STARTED = "compensation_started"
    COMPENSATION_SUCCEEDED = "compensation_succeeded"
    COMPENSATION_FAILED = "compensation_failed"
    MEMORY_PROPOSED = "memory_proposed"
    MEMORY_WRITTEN = "memory_written"
    HOLD_PLACED = "hold_placed"
    HOLD_RELEASED = "hold_released"
    CANCEL_REQUESTED = "cancel_requested"
    ACCEPTANCE_FAILED = "acceptance_failed"
    TASK_COMPLETED = "task_completed"
    TASK_FAILED = "task_failed"
    TASK_ABORTED = "task_aborted"


SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to one task.

    Args:
        seq: Position in the task's journal, from 1, without gaps.
        type: What happened.
        payload: Facts as plain JSON values; bulky ones are referenced, not repeated.
        at: When, by the database's clock.
        actor: Who: ``worker:<incarnation>``, ``human:<account>``, ``policy`` or ``system``.
        call_id: The tool call it belongs to, if any.
        cause: Sequence number of the event that led to this one, if that is not the one before.
        event_id: The outside's id for it (an inbox event); ours is the sequence number itself.
        v: Version of the payload's schema.
    """

    seq: int
    type: EventType
    payload: Mapping[str, Any]
    at: datetime
    actor: str
    call_id: str | None = None
    cause: int | None = None
    event_id: str | None = None
    v: int = field(default=SCHEMA_VERSION)
