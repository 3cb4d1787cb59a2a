"""Decisions that people cause: questions, review items, pause, cancel.

Called by ``decide`` only.
"""

from datetime import datetime, timedelta
from typing import Any

from runtime.core import commands as c
from runtime.core.deciding_calls import drop_pending, request
from runtime.core.effects import MEANINGS
from runtime.core.errors import DecisionRefused
from runtime.core.events import EventType as E
from runtime.core.reviews import ALLOWED, Decision, Kind
from runtime.core.states import State
from runtime.core.story import Story

_CANCELLED = "cancelled"
# The other kinds have a command of their own, which tells more than that a person is asked.
_ESCALATES = frozenset(Kind) - {Kind.QUESTION, Kind.IN_DOUBT}
_FOUND_AT_A_CLAIM = frozenset({Kind.KILLED_WORKER, Kind.CHECKPOINT_UNREADABLE})


def tell(story: Story, command: c.Command) -> bool:
    """Tell what a command of or for a person leads to; False if it is none of those."""
    match command:
        case c.AskHuman(question):
            if story.at.state is not State.PLANNING:
                story.refuse("ask a question")
            request(story, Kind.QUESTION, question, question=question)
        case c.RejectPlan(why):
            story.tell(E.PLAN_REJECTED, why=why)
            request(story, Kind.PLAN_INVALID, why)
        case c.Escalate(kind, why):
            _escalate(story, kind, why)
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


def drop_open(story: Story, reason: str, by: str | None = None) -> None:
    """Close what an ending leaves open: the review item, and the calls that will not be made."""
    if story.at.state is State.WAITING_HUMAN:
        by = by or story.actor
        _close(story, _CANCELLED, State.WAITING_HUMAN, reason=reason, by=by)
    drop_pending(story)


def _escalate(story: Story, kind: str, why: str) -> None:
    """Ask a person about something no planner and no tool said.

    What is found at a claim may be found while a person is asked already: that item is closed, and
    the task asks again by itself once it goes on.
    """
    if kind not in _ESCALATES or (kind == Kind.REPEATED_WRITE and not _may_repeat(story)):
        story.refuse(f"ask a person about {kind}")
    if kind == Kind.CHECKPOINT_UNREADABLE:
        story.tell(E.CHECKPOINT_UNREADABLE, why=why)
    wait = story.at.wait
    if story.at.state is State.WAITING_HUMAN and wait is not None and kind in _FOUND_AT_A_CLAIM:
        _close(story, _CANCELLED, wait.back_to, reason=why, by=story.actor)
    request(story, Kind(kind), why)


def _may_repeat(story: Story) -> bool:
    """Tell whether the pending call is a write of which nothing has gone out yet."""
    pending = story.at.pending
    return pending is not None and MEANINGS[pending.effect].is_write and not pending.dispatched


def _cancel(story: Story, reason: str, by: str) -> None:
    story.tell(E.CANCEL_REQUESTED, reason=reason, by=by)
    drop_open(story, reason, by)
    story.tell(E.TASK_ABORTED, outcome="cancelled", reason=reason, by=by)


def _retry_now(story: Story, reason: str, by: str) -> None:
    if story.at.state is not State.RETRYING:
        story.refuse("retry")
    since = story.now_text
    story.tell(E.RETRY_SCHEDULED, until=since, since=since, reason=reason, by=by)


def _settle(story: Story, command: c.Settle) -> None:
    wait = story.at.wait
    if story.at.state is not State.WAITING_HUMAN or wait is None:
        story.refuse("be decided upon")
    if wait.review_id != command.review_id:
        why = "it is not the item this task waits for"
        raise DecisionRefused(command.review_id, command.decision, why)
    if wait.kind not in Kind:
        why = f"this version does not know items of kind {wait.kind}"
        raise DecisionRefused(command.review_id, command.decision, why)
    kind = Kind(wait.kind)
    if command.decision not in ALLOWED[kind]:
        why = f"an item of kind {kind} offers {', '.join(ALLOWED[kind])}"
        raise DecisionRefused(command.review_id, command.decision, why)
    match decision := Decision(command.decision):
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
            _give_result(story, command, kind)
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
    back_to = wait.back_to
    if kind is Kind.PLAN_INVALID and pending is not None and not pending.dispatched:
        # The planner decides again: what it had decided and nobody sent is not made any more.
        drop_pending(story)
        back_to = State.PLANNING
    more: dict[str, Any] = {"fresh": True}
    if kind is Kind.REPEATED_WRITE:
        more["again"] = True
    _close(story, command.decision, back_to, reason=command.reason, by=command.by, **more)
    if kind is Kind.IN_DOUBT and pending is not None:
        story.tell(
            E.TOOL_CALL_RECONCILED,
            pending.call_id,
            tool=pending.tool,
            effect=pending.effect.value,
            operation_id=pending.operation_id,
            happened=False,
            by=command.by,
            to=State.WAITING_TOOL_CALL.value,
        )
    elif pending is not None and pending.doubted:
        # Another item came between, and whether it happened is still for a person to say.
        request(story, Kind.IN_DOUBT, f"nobody has said yet whether {pending.tool} happened")


def _give_result(story: Story, command: c.Settle, kind: Kind) -> None:
    """Take the result a person gives; a repeated write is skipped, so no second effect counts."""
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
    told: dict[str, Any] = {"operation_id": pending.operation_id, "happened": True}
    skipped = kind is Kind.REPEATED_WRITE
    story.tell(
        E.STEP_SKIPPED if skipped else E.TOOL_CALL_RECONCILED,
        pending.call_id,
        tool=pending.tool,
        effect=pending.effect.value,
        **({} if skipped else told),
        by=command.by,
        result_digest=command.result_digest,
        summary=command.summary,
        to=(State.WAITING_TOOL_CALL if story.at.queue else State.PLANNING).value,
        **story.following(),
    )


def _close(story: Story, decision: str, to: State, **more: Any) -> None:
    """Close the open item; the time a person took is given back to the task's deadline."""
    wait = story.at.wait
    assert wait is not None  # noqa: S101 (only called while an item is open)
    if story.at.deadline is not None:
        waited = max(story.now - datetime.fromisoformat(wait.since), timedelta())
        more["deadline"] = (datetime.fromisoformat(story.at.deadline) + waited).isoformat()
    story.tell(
        E.REVIEW_CLOSED,
        review_id=wait.review_id,
        kind=wait.kind,
        decision=str(decision),
        to=to.value,
        **more,
    )
