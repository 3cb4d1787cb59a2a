"""What a list of tasks can be narrowed to, and in which groups and order its rows then come.

Pure: it makes conditions and reads nothing.  Each condition has an index of its own, so that a list
is a union of short walks however many tasks there are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import reduce
from operator import or_
from typing import Final
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from console.queries.base import RECENT
from runtime.core.reviews import Kind
from runtime.core.states import LIVE, RUNNABLE, TERMINAL, State
from runtime.models import Review

#: Ids tell when they were made, by the clock of the process that submitted.
CLOCKS_DIFFER: Final = timedelta(hours=1)
_TIME_BITS, _ID_BITS = 48, 128


class Sort(StrEnum):
    """Orders a reader can ask for; without one, what needs attention comes first."""

    NEWEST = "newest"
    OLDEST = "oldest"
    ENDED = "ended"


class Waits(StrEnum):
    """What a task waits for, beside the kinds of review item."""

    QUEUE = "queue"
    RETRY = "retry"
    TIMER = "timer"
    EVENT = "event"
    CHILDREN = "children"
    PAUSED = "paused"


_STATE_OF_WAIT: Final[dict[str, State]] = {
    Waits.RETRY: State.RETRYING,
    Waits.TIMER: State.WAITING_TIMER,
    Waits.EVENT: State.WAITING_EXTERNAL_EVENT,
    Waits.CHILDREN: State.WAITING_CHILDREN,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What a list shows.

    Args:
        states: Only these; empty for what needs attention and everything that lives.
        is_everything: All states, settled ones too.
        agent: Only this one's.
        q: Only where id, operation, external id, key or words match.
        waits: Only what waits for this: one of `Waits`, or a kind of review item.
        since: Only from then on.
        until: Only before then.
        by_end: `since` and `until` are about the end and not about the beginning.
        sort: In this order.
    """

    states: tuple[State, ...] = ()
    is_everything: bool = False
    agent: str = ""
    q: str = ""
    waits: str = ""
    since: datetime | None = None
    until: datetime | None = None
    by_end: bool = False
    sort: Sort | None = None

    @property
    def has_span(self) -> bool:
        """Whether it is bounded in time."""
        return self.since is not None or self.until is not None

    @property
    def looks_everywhere(self) -> bool:
        """Whether somebody looks for something, so that settled tasks belong to it."""
        return bool(self.q) or self.has_span


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that come one after the other.

    Args:
        conditions: They exclude each other.
        order: ``id``, ``-id`` or ``-finished_at``.
    """

    conditions: tuple[Q, ...]
    order: str

    @property
    def condition(self) -> Q:
        """All of them in one; must hold: there is one."""
        return reduce(or_, self.conditions)


def groups(wanted: Filter, now: datetime) -> tuple[Group, ...]:
    """Give the groups of a list, the first one first; those that can hold nothing are left out."""
    found = _groups(wanted, now)
    if wanted.sort is not None and len(found) > 1:
        found = (Group(tuple(q for group in found for q in group.conditions), "id"),)
    order = {Sort.NEWEST: "-id", Sort.OLDEST: "id"}.get(wanted.sort or Sort.ENDED)
    return tuple(Group(one.conditions, order or one.order) for one in found if one.conditions)


def _groups(wanted: Filter, now: datetime) -> tuple[Group, ...]:
    if wanted.sort is Sort.ENDED or (wanted.by_end and wanted.has_span):
        ended = [state for state in wanted.states or sorted(TERMINAL) if state in TERMINAL]
        return (
            Group(tuple(Q(parked_as=s, finished_at__isnull=False) for s in ended), "-finished_at"),
        )
    if wanted.waits:
        return (Group(_waiting(wanted.waits, wanted.states), "id"),)
    if wanted.states:
        return (Group(standing(wanted.states), _order(wanted.states)),)
    if wanted.is_everything:
        return (Group((Q(),), "-id"),)
    attention = (
        *standing((State.WAITING_HUMAN,)),
        Q(parked_as=State.TERMINATED_FAILED, finished_at__gt=now - RECENT),
    )
    living = [state for state in State if state in LIVE and state != State.WAITING_HUMAN]
    first = (Group(attention, "id"), Group(standing(living), "id"))
    return (*first, Group(_settled(now), "-id")) if wanted.looks_everywhere else first


def _settled(now: datetime) -> tuple[Q, ...]:
    """What has ended, but for those failures that came first already."""
    others = sorted(TERMINAL - {State.TERMINATED_FAILED})
    old = Q(parked_as=State.TERMINATED_FAILED, finished_at__lte=now - RECENT)
    return (*(Q(parked_as=state) for state in others), old)


def _order(states: Iterable[State]) -> str:
    return "-id" if set(states) <= TERMINAL else "id"


def standing(states: Iterable[State]) -> tuple[Q, ...]:
    """Give one condition for each state: parked tasks by index, those in hand by their owner."""
    states = list(states)
    parked = [Q(parked_as=state) for state in states]
    living = [state for state in states if state in LIVE]
    return (*parked, Q(owner__isnull=False, state__in=living)) if living else tuple(parked)


def _waiting(waits: str, states: Sequence[State]) -> tuple[Q, ...]:
    among = set(states) or set(LIVE)
    if waits == Waits.PAUSED:
        return (Q(held=True, state__in=sorted(among & LIVE)),)
    if waits == Waits.QUEUE:
        return tuple(Q(parked_as=state, held=False) for state in sorted(RUNNABLE & among))
    state = _STATE_OF_WAIT.get(waits, State.WAITING_HUMAN)
    if state not in among:
        return ()
    if waits in _STATE_OF_WAIT:
        return standing((state,))
    asked = Review.objects.filter(task_id=OuterRef("pk"), status="open", kind=Kind(waits))
    return tuple(one & Q(Exists(asked)) for one in standing((state,)))


def span(wanted: Filter) -> Q:
    """Give the condition of the time; for the beginning also one of ids, which are in order."""
    field = "finished_at" if wanted.by_end else "created_at"
    found = Q()
    if wanted.since is not None:
        found &= Q(**{f"{field}__gte": wanted.since})
        found &= Q() if wanted.by_end else Q(id__gte=first_id(wanted.since - CLOCKS_DIFFER))
    if wanted.until is not None:
        found &= Q(**{f"{field}__lt": wanted.until})
        found &= Q() if wanted.by_end else Q(id__lt=first_id(wanted.until + CLOCKS_DIFFER))
    return found


def first_id(at: datetime) -> UUID:
    """Give the lowest UUIDv7 of an instant."""
    milliseconds = max(int(at.timestamp() * 1000), 0) % (1 << _TIME_BITS)
    return UUID(int=milliseconds << (_ID_BITS - _TIME_BITS))
