"""Whom to tell when a task has ended: stored with the task, delivered by ``runtime.engine``."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from runtime.store.session import execute, run


@dataclass(frozen=True, slots=True)
class Due:
    """News that one receiver must be told now; ``attempt`` counts this delivery."""

    task_id: UUID
    namespace: str
    url: str
    attempt: int
    agent: str
    state: str
    finished_at: datetime
    key: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class CallbackView:
    """Whom a task tells of its end, and how that went.

    Args:
        status: ``waiting`` for the end, ``due``, ``delivered`` or ``given_up``.
        due_at: When the next delivery may start.
        answer: The HTTP status of the last answer; None without one.
        failure: Why the last delivery failed.
    """

    url: str
    status: str
    attempts: int
    due_at: datetime | None
    answer: int | None
    failure: str
    settled_at: datetime | None


def register(task_id: UUID, namespace: str, url: str) -> None:
    """Note whom to tell; in the transaction that creates the task."""
    execute(
        "INSERT INTO runtime_callback (task_id, namespace, url, attempts, failure, created_at) "
        "VALUES (%s, %s, %s, 0, '', runtime_now())",
        (task_id, namespace, url),
    )


def take(limit: int, busy_s: float) -> list[Due]:
    """Take what is due.

    Args:
        limit: At most so many.
        busy_s: Seconds after which another may deliver what was taken and not settled.
    """
    return [Due(*row) for row in run("take_callbacks", {"limit": limit, "busy_s": busy_s})]


def delivered(news: Due, answer: int) -> None:
    """Settle a delivery that the receiver has taken."""
    execute(
        "UPDATE runtime_callback SET due_at = NULL, answer = %s, failure = '', "
        "delivered_at = runtime_now() WHERE task_id = %s AND given_up_at IS NULL",
        (answer, news.task_id),
    )


def failed(news: Due, answer: int | None, failure: str, again_in_s: float | None) -> None:
    """Note a delivery that failed; only the latest attempt counts.

    Args:
        news: What was to be delivered.
        answer: The HTTP status, if there was one.
        failure: Why, for people.
        again_in_s: Seconds until the next attempt; None gives the receiver up.
    """
    execute(
        "UPDATE runtime_callback SET answer = %(answer)s, failure = %(failure)s, "
        "due_at = runtime_now() + make_interval(secs => %(again)s::float8), "
        "given_up_at = CASE WHEN %(again)s::float8 IS NULL THEN runtime_now() END "
        "WHERE task_id = %(task)s AND attempts = %(attempt)s AND delivered_at IS NULL",
        {
            "answer": answer,
            "failure": failure,
            "again": again_in_s,
            "task": news.task_id,
            "attempt": news.attempt,
        },
    )


def of_task(task_id: UUID) -> CallbackView | None:
    """Read whom a task tells; None if nobody."""
    rows = execute(
        "SELECT url, CASE WHEN delivered_at IS NOT NULL THEN 'delivered' "
        "WHEN given_up_at IS NOT NULL THEN 'given_up' WHEN due_at IS NOT NULL THEN 'due' "
        "ELSE 'waiting' END, attempts, due_at, answer, failure, "
        "coalesce(delivered_at, given_up_at) FROM runtime_callback WHERE task_id = %s",
        (task_id,),
    )
    return CallbackView(*rows[0]) if rows else None
