"""Review items: the vote of a person, guarded so that exactly one decision wins."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from runtime.core.errors import DecisionRefused, ReviewClosed, SituationMoved, UnknownReview
from runtime.core.payloads import encode
from runtime.store.session import execute


@dataclass(frozen=True, slots=True)
class Vote:
    """One person's decision on one item."""

    decision: str
    reason: str
    arguments: object
    by: str
    channel: str


def vote(namespace: str, review_id: UUID, ballot: Vote, situation: int | None) -> UUID:
    """Record a decision on an open item; gives the task.  Nothing is executed here.

    Must hold: an open transaction, in which the caller also tells the task.

    Raises:
        UnknownReview: No such item in this namespace.
        ReviewClosed: Somebody decided first, or the item was closed.
        DecisionRefused: The item does not offer this decision.
        SituationMoved: The task moved on since the item was read.
    """
    found = execute(
        "SELECT r.task_id FROM runtime_review r WHERE r.id = %s AND r.namespace = %s",
        (review_id, namespace),
    )
    if not found:
        raise UnknownReview(review_id)
    # The task first, then its item: the order in which every other writer takes the two.
    task = execute(
        "SELECT t.id, t.situation FROM runtime_task t WHERE t.id = %s FOR NO KEY UPDATE",
        (found[0][0],),
    )[0]
    status, allowed, decided_by, decision, at = execute(
        "SELECT status, allowed, decided_by, decision, coalesce(decided_at, closed_at) "
        "FROM runtime_review WHERE id = %s FOR NO KEY UPDATE",
        (review_id,),
    )[0]
    if status != "open":
        by = decided_by or "the system"
        raise ReviewClosed(review_id, ballot.decision, by, decision or status, _shown(at))
    if ballot.decision not in allowed:
        why = f"it offers {', '.join(allowed)}"
        raise DecisionRefused(review_id, ballot.decision, why)
    if situation is not None and situation != task[1]:
        raise SituationMoved(situation, task[1])
    execute(
        "UPDATE runtime_review SET status = 'decided', decision = %s, reason = %s, arguments = %s,"
        " decided_by = %s, channel = %s, decided_at = runtime_now() WHERE id = %s",
        (
            ballot.decision,
            ballot.reason,
            encode(ballot.arguments).text,
            ballot.by,
            ballot.channel,
            review_id,
        ),
    )
    task_id: UUID = task[0]
    return task_id


def reopen(review_id: UUID) -> None:
    """Take back a decision that could not be carried out, so that somebody can decide anew."""
    execute(
        "UPDATE runtime_review SET status = 'open', decision = NULL, reason = NULL, "
        "arguments = NULL, decided_by = NULL, channel = NULL, decided_at = NULL "
        "WHERE id = %s AND status = 'decided'",
        (review_id,),
    )


def _shown(at: datetime | None) -> str:
    return at.isoformat(timespec="seconds") if at else "an unknown time"
