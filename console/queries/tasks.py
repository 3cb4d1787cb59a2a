"""The list of tasks: by page, how many there are, how many are new, which still belong to it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Final
from uuid import UUID

from django.db import OperationalError, connection, transaction
from django.db.models import Q, QuerySet
from psycopg.errors import QueryCanceled

from console.queries import task_search
from console.queries.base import COUNTED, NAMESPACE, database_now
from console.queries.task_filters import Filter, Group, groups, span
from console.queries.task_rows import TaskRow, task_rows
from runtime.models import Task

type _Place = tuple[int, UUID]
"""A row of a list: the number of its group, and its task."""
type _Start = tuple[int, UUID | None]

_FIRST: Final = UUID(int=0)
#: A page that takes longer is given up: its reader narrows it sooner than it comes.
PATIENCE_MS: Final = 4000


@dataclass(frozen=True, slots=True)
class TaskPage:
    """Some rows, and the newest task there is.

    Args:
        cursor: Where the next page begins; empty on the last one.
        before: Where the page before ends; empty on the first one.
    """

    rows: tuple[TaskRow, ...]
    cursor: str
    newest: str
    before: str = ""


class BadCursor(ValueError):
    """A page was asked for that no list leads to."""


class TooSlow(RuntimeError):
    """The database would have to look at too much for this filter."""


class TaskList:
    """One filter, looked at once: what a search found is found for the page and its count alike.

    Args:
        wanted: The filter.
        now: The present by the database's clock.
    """

    def __init__(self, wanted: Filter, now: datetime) -> None:
        self._wanted = wanted
        self._groups = groups(wanted, now)
        self._hits = task_search.look_up(wanted.q) if wanted.q else None

    def page(self, cursor: str, limit: int) -> TaskPage:
        """Give some rows.

        Args:
            cursor: Where the page before ended; empty for the first one.
            limit: Rows at most.

        Raises:
            BadCursor: The cursor is none of ours.
        """
        start = _position(cursor, len(self._groups))
        # First: what comes while the rows are read is news, and not lost between the two.
        newest = newest_task()
        found = self._walk(start, limit + 1)
        more = _cursor(found[limit - 1]) if len(found) > limit else ""
        # What came before a place is before its rows, also where there is none of them any more.
        before = cursor and (_cursor(found[0]) if found else cursor)
        return self._page(found[:limit], newest, more, before)

    def page_before(self, cursor: str, limit: int) -> TaskPage:
        """Give the rows that end where a page begins; the first page if there are fewer.

        Args:
            cursor: Where the page after begins.
            limit: Rows at most.

        Raises:
            BadCursor: The cursor is none of ours.
        """
        start = _position(cursor, len(self._groups))
        newest = newest_task()
        found = self._walk(start, limit + 1, back=True)
        if len(found) <= limit:
            return self.page("", limit)
        shown = found[:limit][::-1]
        return self._page(shown, newest, _cursor(shown[-1]), _cursor(shown[0]))

    def _page(self, shown: Sequence[_Place], newest: str, more: str, before: str) -> TaskPage:
        rows = task_rows([task_id for _, task_id in shown])
        return TaskPage(tuple(rows), more, newest, before)

    def _walk(self, start: _Start, most: int, *, back: bool = False) -> list[_Place]:
        """Go through the groups from a place on, or back from it."""
        rank, after = start
        found: list[_Place] = []
        for number in range(rank, -1, -1) if back else range(rank, len(self._groups)):
            beyond = after if number == rank else None
            ids = self._ids(self._groups[number], beyond, most - len(found), back=back)
            found += [(number, task_id) for task_id in ids]
            if len(found) >= most:
                break
        return found

    def count(self) -> int | None:
        """Count what it lets through, up to one above the cap; None where that takes too long."""
        if self._hits is not None and self._hits.is_common:
            only_words = self._wanted == Filter(q=self._wanted.q, sort=self._wanted.sort)
            return COUNTED + 1 if only_words else None
        return self._count(self._narrowed(), COUNTED + 1)

    def news(self, newest: UUID) -> int:
        """Count what is newer than a page knows, capped."""
        if UUID(newest_task()) <= newest:
            return 0
        return self._count(self._narrowed().filter(id__gt=newest), COUNTED)

    def fitting(self, ids: Sequence[UUID]) -> set[UUID]:
        """Tell which of these tasks it lets through now."""
        conditions = [group.condition for group in self._groups]
        if not conditions:
            return set()
        # One that asks for nothing lets everything through, and would get lost among others.
        belongs = reduce(or_, conditions) if all(conditions) else Q()
        shown = self._narrowed().filter(belongs, id__in=list(ids))
        return set(shown.values_list("id", flat=True))

    def _count(self, tasks: QuerySet[Task], most: int) -> int:
        conditions = [one for group in self._groups for one in group.conditions]
        if not conditions:
            return 0
        parts = [tasks.filter(one).values_list("id", flat=True)[:most] for one in conditions]
        found = parts[0].union(*parts[1:], all=True) if len(parts) > 1 else parts[0]
        return min(found.count(), most)

    def _ids(self, group: Group, after: UUID | None, limit: int, *, back: bool) -> list[UUID]:
        tasks = self._narrowed()
        is_by_end = group.order == "-finished_at"
        order: tuple[str, ...] = ("-finished_at", "-id") if is_by_end else (group.order,)
        if back:
            order = tuple(_turned(field) for field in order)
        if after is not None:
            tasks = tasks.filter(_beyond(order[0], after))
        # Few hits of a search are sorted at once; else each condition is a walk of its own index.
        is_short = self._hits is not None and not self._hits.is_common
        conditions = (group.condition,) if is_short else group.conditions
        names = ("id", "finished_at") if len(order) > 1 else ("id",)
        parts = [
            tasks.filter(one).order_by(*order).values_list(*names)[:limit] for one in conditions
        ]
        found = parts[0]
        if len(parts) > 1:
            found = parts[0].union(*parts[1:], all=True).order_by(*order)[:limit]
        return [row[0] for row in found]

    def _narrowed(self) -> QuerySet[Task]:
        tasks = Task.objects.filter(namespace=NAMESPACE)
        if self._wanted.agent:
            tasks = tasks.filter(agent=self._wanted.agent)
        if self._wanted.has_span:
            tasks = tasks.filter(span(self._wanted))
        if self._hits is not None:
            tasks = tasks.filter(task_search.condition(self._hits, self._wanted.q))
        return tasks


@contextmanager
def patiently(patience_ms: int | None = None) -> Iterator[None]:
    """Bound the time of the reads inside.

    Args:
        patience_ms: How long each may take; without it, as long as a reader waits for a page.

    Raises:
        TooSlow: They took longer.
    """
    try:
        with transaction.atomic():
            _set_patience(f"{PATIENCE_MS if patience_ms is None else patience_ms}ms")
            yield
            _set_patience("0")
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            raise TooSlow from error
        raise


def _set_patience(value: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [value])


def task_page(wanted: Filter, cursor: str, limit: int) -> TaskPage:
    """Give one page of a list; see `TaskList.page`."""
    return TaskList(wanted, database_now()).page(cursor, limit)


def _cursor(place: _Place) -> str:
    return f"{place[0]}.{place[1]}"


def _position(cursor: str, ranks: int) -> _Start:
    if not cursor:
        return 0, None
    rank, _, task_id = cursor.partition(".")
    try:
        position = int(rank), UUID(task_id)
    except ValueError as error:
        raise BadCursor(cursor) from error
    if not 0 <= position[0] < ranks:
        raise BadCursor(cursor)
    return position


def _turned(order: str) -> str:
    return order.removeprefix("-") if order.startswith("-") else f"-{order}"


def _beyond(order: str, after: UUID) -> Q:
    """Give what comes after a task in an order of ids or of ends."""
    side = "lt" if order.startswith("-") else "gt"
    by_id = Q(**{f"id__{side}": after})
    if order.endswith("id"):
        return by_id
    # What has ended keeps the time of its end, so its id names a place in the list.
    end = Task.objects.filter(pk=after).values("finished_at")[:1]
    return Q(**{f"finished_at__{side}e": end}) & (Q(**{f"finished_at__{side}": end}) | by_id)


def newest_task() -> str:
    """Give the id of the newest task; anything after it is new to a page that knows it."""
    found = Task.objects.filter(namespace=NAMESPACE).order_by("-id").values_list("id", flat=True)
    return str(found.first() or _FIRST)
