"""Decisions that people cause: questions, review items, pause, cancel.

Called by ``decide`` only.
"""

from datetime import datetime
from typing import Any

from runtime.core import commands as c
from runtime.core.deciding_calls import drop_pending, request
from runtime.core.errors import DecisionRefused
from runtime.core.events import EventType as E
from runtime.core.reviews import ALLOWED, Decision, Kind
from runtime.core.states import State
from runtime.core.story import Story


def tell(story: Story, command: c.Command) -> bool:
    """Tell what a command of or for a person leads to; False if it is none of those."""
    match command:
        case c.AskHuman(question):
            request(story, Kind.QUESTION, question, question=question)
        case c.RejectPlan(why):
            story.tell(E.PLAN_REJECTED, why=why)
            request(story, Kind.PLAN_INVALID, why)
        case c.Escalate(kind, why):
            if kind == Kind.CHECKPOINT_UNREADABLE:
                story.tell(E.CHECKPOINT_UNREADABLE, why=why)
            request(story, Kind(kind), why)
        case c.Cancel(reason, by):
            _cancel(story, reason, by)
        case c.Hold(reason, by):
            story.tell(E.HOLD_PLACED, reason=reason, by=by)
        case c.ReleaseHold(reason, by):
            story.tell(E.HOLD_RELEASED, reason=reason, by=by)
        case c.RetryNow(reason, by):
            _retry_now(story, reason, by)
        case c.Settle():
            _settle(story, command)
        case _:
            return False
    return True


def _cancel(story: Story, reason: str, by: str) -> None:
    story.tell(E.CANCEL_REQUESTED, reason=reason, by=by)
    if story.at.state is State.WAITING_HUMAN:
        _close(story, "cancelled", State.WAITING_HUMAN, reason=reason, by=by)
    drop_pending(story)
    story.tell(E.TASK_ABORTED, outcome="cancelled", reason=reason, by=by)


def _retry_now(story: Story, reason: str, by: str) -> None:
    if story.at.state is not State.RETRYING:
        raise story.refuse("retry")
    since = story.now_text
    story.tell(E.RETRY_SCHEDULED, until=since, since=since, reason=reason, by=by)


def _settle(story: Story, command: c.Settle) -> None:
    wait = story.at.wait
    if wait is None or wait.review_id != command.review_id:
        why = "it is not the item this task waits for"
        raise DecisionRefused(command.review_id, command.decision, why)
    kind, decision = Kind(wait.kind), Decision(command.decision)
    if decision not in ALLOWED[kind]:
        why = f"an item of kind {kind} offers {', '.join(ALLOWED[kind])}"
        raise DecisionRefused(command.review_id, decision, why)
    match decision:
        case Decision.ABORT:
            _close(story, decision, State.WAITING_HUMAN, reason=command.reason, by=command.by)
            drop_pending(story)
            story.tell(
                E.TASK_ABORTED,
                outcome="aborted",
                reason=command.reason,
                by=command.by,
            )
        case Decision.RESULT:
            _give_result(story, command)
        case Decision.ANSWER:
            story.tell(
                E.HUMAN_ANSWERED,
                review_id=command.review_id,
                answer=command.answer,
                by=command.by,
            )
            _close(story, decision, wait.back_to, reason=command.reason, by=command.by)
        case Decision.RETRY | Decision.REBUILD:
            _go_on(story, command, kind)


def _go_on(story: Story, command: c.Settle, kind: Kind) -> None:
    """Let the task go on where it stood; a person's word gives a call fresh attempts."""
    pending, wait = story.at.pending, story.at.wait
    assert wait is not None  # noqa: S101 (checked by the caller)
    more: dict[str, Any] = {"fresh": True}
    if kind is Kind.REPEATED_WRITE:
        more["again"] = True
    _close(story, command.decision, wait.back_to, reason=command.reason, by=command.by, **more)
    if kind is Kind.IN_DOUBT and pending is not None:
        story.tell(
            E.TOOL_CALL_RECONCILED,
            pending.call_id,
            tool=pending.tool,
            effect=pending.effect,
            operation_id=pending.operation_id,
            happened=False,
            by=command.by,
            to=State.WAITING_TOOL_CALL,
        )


def _give_result(story: Story, command: c.Settle) -> None:
    pending = story.at.pending
    if pending is None:
        why = "there is no call to give a result for"
        raise DecisionRefused(command.review_id, command.decision, why)
    _close(
        story,
        command.decision,
        State.WAITING_TOOL_CALL,
        reason=command.reason,
        by=command.by,
    )
    story.tell(
        E.TOOL_CALL_RECONCILED,
        pending.call_id,
        tool=pending.tool,
        effect=pending.effect,
        operation_id=pending.operation_id,
        happened=True,
        by=command.by,
        result_digest=command.result_digest,
        summary=command.summary,
        to=State.WAITING_TOOL_CALL if story.at.queue else State.PLANNING,
        **story.following(),
    )


def _close(story: Story, decision: str, to: State, **more: Any) -> None:  # noqa: ANN401
    """Close the open item; the time a person took is given back to the task's deadline."""
    wait = story.at.wait
    assert wait is not None  # noqa: S101 (only called while an item is open)
    if story.at.deadline is not None:
        waited = story.now - datetime.fromisoformat(wait.since)
        more["deadline"] = (datetime.fromisoformat(story.at.deadline) + waited).isoformat()
    story.tell(
        E.REVIEW_CLOSED,
        review_id=wait.review_id,
        kind=wait.kind,
        decision=decision,
        to=to,
        **more,
    )
