"""What the first page and the insights show of the present: items, ages, doubts, recent acts."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from console.models import AuditEntry
from console.queries.base import COUNTED, NAMESPACE, database_now
from runtime.core.reviews import Kind
from runtime.models import Review

#: What operators do to tasks and workers; who signed in when is another page's.
_ACTS = ("task.", "review.", "worker.")


def review_ages(agent: str = "") -> list[float]:
    """Give the seconds that open items have waited, of all agents or of one, capped."""
    rows = Review.objects.filter(namespace=NAMESPACE, status="open")
    if agent:
        rows = rows.filter(task__agent=agent)
    now = database_now()
    opened = rows.order_by("opened_at").values_list("opened_at", flat=True)[:COUNTED]
    return [(now - at).total_seconds() for at in opened]


def in_doubt() -> int:
    """Count the open items about calls of which nobody knows whether they happened, capped."""
    rows = Review.objects.filter(namespace=NAMESPACE, status="open", kind=Kind.IN_DOUBT)
    return rows[:COUNTED].count()


@dataclass(frozen=True, slots=True)
class ActLine:
    """Something somebody did, or was kept from doing.

    Args:
        object: To what, like ``task:0197…``.
        result: ``done``, ``denied``, ``conflict``, ``refused`` or ``failed``.
    """

    id: int
    at: datetime
    actor: str
    action: str
    object: str
    result: str
    reason: str


def recent_acts(limit: int) -> list[ActLine]:
    """List what operators did last, the newest first."""
    wanted = Q()
    for begin in _ACTS:
        wanted |= Q(action__startswith=begin)
    names = ("id", "at", "actor", "action", "object", "result", "reason")
    rows = AuditEntry.objects.filter(wanted).order_by("-id").values(*names)
    return [ActLine(**row) for row in rows[:limit]]
