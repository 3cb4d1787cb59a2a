"""The list of tasks: one frozen row for each, by page, and how many are new."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery

from console.queries.base import COUNTED, NAMESPACE, RECENT, database_now
from runtime.core import checkpoint as cp
from runtime.core.checkpoint import Checkpoint
from runtime.core.errors import SignalboxError
from runtime.core.states import TERMINAL, State
from runtime.models import Event, Review, Task, TaskSpec

_FIRST: Final = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """One task in a list.

    Args:
        seq: Its last event; `moved_at` tells when that was.
        line: What it is doing, in foreign or our own words.
        until: When it goes on by itself, if it waits for a time.
        in_hand: A worker holds it.
    """

    id: UUID
    agent: str
    title: str
    state: State
    seq: int
    situation: int
    held: bool
    in_hand: bool
    step: int
    created_at: datetime
    moved_at: datetime
    finished_at: datetime | None
    line: str
    until: datetime | None
    review_id: UUID | None
    review_kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What a list shows.

    Args:
        states: Only these; empty for what needs attention and everything that lives.
        agent: Only this one's.
        q: Only where id, key or words match.
    """

    states: tuple[State, ...] = ()
    agent: str = ""
    q: str = ""

    @property
    def newest_first(self) -> bool:
        """Whether settled tasks are listed, of which the last ones matter."""
        return bool(self.states) and set(self.states) <= TERMINAL


@dataclass(frozen=True, slots=True)
class TaskPage:
    """Some rows, where the next page begins, and the newest task there is."""

    rows: tuple[TaskRow, ...]
    cursor: str
    newest: str


class BadCursor(ValueError):
    """A page was asked for that no list leads to."""


def task_page(wanted: Filter, cursor: str, limit: int) -> TaskPage:
    """List tasks.

    Without states: first what needs attention, then what lives, each oldest first.

    Raises:
        BadCursor: The cursor is none of ours.
    """
    groups = _ranks(wanted)
    rank, after = _position(cursor, len(groups))
    ids: list[tuple[int, UUID]] = []
    for group in range(rank, len(groups)):
        start = after if group == rank else None
        found = _ids(groups[group], wanted, start, limit + 1 - len(ids))
        ids += [(group, task_id) for task_id in found]
        if len(ids) > limit:
            break
    shown = ids[:limit]
    more = f"{shown[-1][0]}.{shown[-1][1]}" if len(ids) > limit else ""
    return TaskPage(tuple(task_rows([task_id for _, task_id in shown])), more, newest_task())


def _position(cursor: str, groups: int) -> tuple[int, UUID | None]:
    if not cursor:
        return 0, None
    rank, _, task_id = cursor.partition(".")
    try:
        position = int(rank), UUID(task_id)
    except ValueError as error:
        raise BadCursor(cursor) from error
    if not 0 <= position[0] < groups:
        raise BadCursor(cursor)
    return position


def _ranks(wanted: Filter) -> tuple[tuple[Q, ...], ...]:
    """Give the groups of a list; each is a union of conditions with an index of their own."""
    if wanted.states:
        return (_standing(wanted.states),)
    attention = (
        *_standing((State.WAITING_HUMAN,)),
        Q(parked_as=State.TERMINATED_FAILED, finished_at__gt=database_now() - RECENT),
    )
    living = [state for state in State if state not in TERMINAL and state != State.WAITING_HUMAN]
    return attention, _standing(living)


def _standing(states: Iterable[State]) -> tuple[Q, ...]:
    """Give one condition for each state: parked tasks by index, those in hand by their owner."""
    states = list(states)
    parked = [Q(parked_as=state) for state in states]
    return (*parked, Q(owner__isnull=False, state__in=states))


def _ids(conditions: Sequence[Q], wanted: Filter, after: UUID | None, limit: int) -> list[UUID]:
    order = "-id" if wanted.newest_first else "id"
    tasks = _narrowed(wanted)
    if after is not None:
        tasks = tasks.filter(id__lt=after) if wanted.newest_first else tasks.filter(id__gt=after)
    parts = [
        tasks.filter(one).order_by(order).values_list("id", flat=True)[:limit] for one in conditions
    ]
    found = parts[0].union(*parts[1:], all=True) if len(parts) > 1 else parts[0]
    return list(found.order_by(order)[:limit]) if len(parts) > 1 else list(found)


def _narrowed(wanted: Filter) -> QuerySet[Task]:
    tasks = Task.objects.filter(namespace=NAMESPACE)
    if wanted.agent:
        tasks = tasks.filter(agent=wanted.agent)
    if wanted.q:
        words = TaskSpec.objects.filter(task_id=OuterRef("pk")).filter(_matches(wanted.q))
        tasks = tasks.filter(Exists(words))
    return tasks


def _matches(q: str) -> Q:
    text = q.strip()
    found = Q(search_text__icontains=text) | Q(title__icontains=text) | Q(key=text)
    try:
        return found | Q(task_id=UUID(text))
    except ValueError:
        return found


def newest_task() -> str:
    """Give the id of the newest task; anything after it is new to a page that knows it."""
    found = Task.objects.filter(namespace=NAMESPACE).order_by("-id").values_list("id", flat=True)
    return str(found.first() or _FIRST)


def news(wanted: Filter, newest: UUID) -> int:
    """Count the tasks that are newer than a page knows and that its filter lets through, capped."""
    conditions = [one for group in _ranks(wanted) for one in group]
    tasks = _narrowed(wanted).filter(id__gt=newest)
    parts = [tasks.filter(one).values_list("id", flat=True)[:COUNTED] for one in conditions]
    found = parts[0].union(*parts[1:]) if len(parts) > 1 else parts[0]
    return len(found[:COUNTED])


def task_rows(ids: Sequence[UUID]) -> list[TaskRow]:
    """Read the rows of these tasks, in this order; those that are gone are left out."""
    last = Event.objects.filter(task_id=OuterRef("pk"), seq=OuterRef("version")).values("at")[:1]
    found = (
        Task.objects.filter(namespace=NAMESPACE, id__in=list(ids))
        .annotate(
            moved_at=Subquery(last),
            title=F("spec__title"),
            said=F("spec__search_text"),
            ended=F("spec__outcome_reason"),
        )
        .values()
    )
    asked = _asked([row["id"] for row in found if row["state"] == State.WAITING_HUMAN])
    rows = {row["id"]: _task_row(row, asked.get(row["id"])) for row in found}
    return [rows[task_id] for task_id in ids if task_id in rows]


def _asked(ids: Sequence[UUID]) -> dict[UUID, dict[str, Any]]:
    if not ids:
        return {}
    items = Review.objects.filter(task_id__in=ids, status__in=["open", "decided"])
    rows = items.values("task_id", "id", "kind", "question", "why")
    return {row["task_id"]: dict(row) for row in rows}


def _task_row(row: Mapping[str, Any], asked: Mapping[str, Any] | None) -> TaskRow:
    at = _checkpoint(row["id"], row["checkpoint"], row["checkpoint_sum"])
    state = State(row["state"])
    until = at.wait.until if at and at.wait and state not in TERMINAL else None
    return TaskRow(
        id=row["id"],
        agent=row["agent"],
        title=row["title"] or row["said"] or row["agent"],
        state=state,
        seq=row["version"],
        situation=row["situation"],
        held=row["held"],
        in_hand=row["owner"] is not None,
        step=at.step if at else 0,
        created_at=row["created_at"],
        moved_at=row["moved_at"] or row["created_at"],
        finished_at=row["finished_at"],
        line=_line(row, state, at, asked),
        until=datetime.fromisoformat(until) if until else None,
        review_id=asked["id"] if asked else None,
        review_kind=asked["kind"] if asked else "",
    )


def _line(
    row: Mapping[str, Any],
    state: State,
    at: Checkpoint | None,
    asked: Mapping[str, Any] | None,
) -> str:
    if at is None:
        return "its checkpoint cannot be read"
    if state in TERMINAL:
        return str(row["ended"] or "")
    if asked is not None:
        return str(asked["question"] or asked["why"])
    if at.pending is None:
        return ""
    if state is State.RETRYING:
        return f"attempt {at.pending.attempt + 1} of {at.pending.tool}"
    again = f", attempt {at.pending.attempt + 1}" if at.pending.attempt else ""
    return f"{at.pending.tool}{again}"


def _checkpoint(task_id: UUID, text: str, checksum: str) -> Checkpoint | None:
    try:
        return cp.decode(task_id, text, checksum)
    except SignalboxError:
        return None
