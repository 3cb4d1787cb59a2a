"""How long it took until work went on after a fault: read from the tables, tick by tick.

What counts is the work in the hands of whoever was struck: each of those tasks must be in other
hands, or further on. After the database was away, any commit counts.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from django.db import Error as DatabaseError
from psycopg import Error as DriverError

from runtime.examples.aftersales.demo.watch import Watch
from runtime.models import Task, Worker
from runtime.store.session import forget_connection

DOUBLED_AT_ONCE = 5


@dataclass(slots=True)
class _Case:
    """One fault whose end is awaited."""

    began_s: float
    is_over: Callable[[], bool]


class Recoveries:
    """Measures recoveries.

    Args:
        watch: The tasks of the run.
        queue: Their queue.
    """

    def __init__(self, watch: Callable[[], Watch | None], queue: str) -> None:
        self._watch = watch
        self._tasks = Task.objects.filter(queue=queue)
        self._held: dict[int, dict[UUID, tuple[int, int]]] = {}
        self._open: list[_Case] = []
        #: Seconds of each recovery so far.
        self.took_s: list[float] = []

    def before(self, pid: int) -> None:
        """Look what a process holds, just before it is struck."""
        self._held[pid] = patiently(lambda: self._in_hands_of(pid)) or {}

    def struck(self, pid: int) -> None:
        """Hear that it was struck now."""
        held = self._held.pop(pid, {})
        if held:
            self._open.append(_Case(time.monotonic(), lambda: self._moved_on(held)))

    def database_is_back(self) -> None:
        """Hear that the database answers again."""
        watch = self._watch()
        if watch is None:
            return
        standing = patiently(watch.standing)
        if standing is not None and standing.terminal < standing.states.total():
            commits = standing.commits
            over = lambda: watch.standing().commits > commits  # noqa: E731
            self._open.append(_Case(time.monotonic(), over))

    def look(self) -> None:
        """See which recoveries are complete.

        Raises:
            django.db.Error: The database is away.
        """
        for case in list(self._open):
            if case.is_over():
                self.took_s.append(round(time.monotonic() - case.began_s, 3))
                self._open.remove(case)

    def some_tasks(self, pick: float) -> list[UUID]:
        """Name a few tasks of the run, in whatever state."""
        ids = patiently(lambda: list(self._tasks.values_list("id", flat=True))) or []
        return random.Random(f"{pick}{len(ids)}").sample(ids, min(DOUBLED_AT_ONCE, len(ids)))

    def _in_hands_of(self, pid: int) -> dict[UUID, tuple[int, int]]:
        workers = Worker.objects.filter(pid=pid, state__in=("running", "draining"))
        held = self._tasks.filter(owner__in=workers.values("id"))
        return {task: (version, epoch) for task, version, epoch in held.values_list(*_STAND)}

    def _moved_on(self, held: dict[UUID, tuple[int, int]]) -> bool:
        now = self._tasks.filter(id__in=held).values_list(*_STAND)
        return all(version > held[task][0] or epoch > held[task][1] for task, version, epoch in now)


_STAND = ("id", "version", "epoch")


def patiently[T](ask: Callable[[], T]) -> T | None:
    """Ask the database; None while it is away."""
    try:
        return ask()
    except (DatabaseError, DriverError):
        forget_connection()
        return None
