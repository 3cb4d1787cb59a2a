"""How soon open pages show what was committed, while many are open and much happens.

Workers and commits are made here; the pages are the console's, named in the settings.
"""

import statistics
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string

from runtime.api import cancel, submit
from runtime.bench.rig import workers
from runtime.store.session import execute

#: One such task makes so many events a second.
EVENTS_S_OF_A_TASK = 9.5
SPARE_S = 30


class Seen(NamedTuple):
    """A page showed that a task had reached an event.

    Args:
        page: Which page.
        task_id: Which task.
        seq: The newest event that it showed.
        at_s: When, in seconds since 1970.
    """

    page: int
    task_id: UUID
    seq: int
    at_s: float


class KeepOpen(Protocol):
    """Keeps pages open that do what a page's script does."""

    def __call__(
        self, tasks: Sequence[UUID], pages: int, seconds: float, tell: Callable[[str], None]
    ) -> tuple[list[Seen], dict[str, Any]]:
        """Give what the pages showed, and figures of their own."""
        ...


def measure_live(
    pages: int, events_s: int, seconds: float, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Measure from commit to picture.

    Args:
        pages: Pages open at once, half of them lists and half of them tasks.
        events_s: Events a second, of all tasks together.
        seconds: For how long.
        tell: Told how it goes.
    """
    count = max(1, round(events_s / EVENTS_S_OF_A_TASK))
    keep_open: KeepOpen = import_string(settings.SIGNALBOX_LIVE_PAGES)
    with workers(1, min(count + 2, 48)):
        steps = int((seconds + SPARE_S) * 10)
        tasks = [submit("bench-linger", {"steps": steps}).id for _ in range(count)]
        seen, figures = keep_open(tasks, pages, seconds, tell)
        for task_id in tasks:
            cancel(task_id, reason="the measurement is over", by="system")
    late_ms = _late_ms(seen)
    return {
        "picture_ms": _spread(late_ms),
        "events_s": round(_rate(tasks)),
        "seen": len(late_ms),
        **figures,
        "settings": {"pages": pages, "seconds": seconds, "tasks": count},
    }


def _late_ms(seen: Sequence[Seen]) -> list[float]:
    """Give, for each event that a page came to show, how long that took since its commit."""
    newest: dict[tuple[int, UUID], int] = {}
    asked: list[tuple[UUID, int, float]] = []
    for one in sorted(seen, key=lambda one: one.at_s):
        known = newest.get((one.page, one.task_id), one.seq)
        asked += [(one.task_id, seq, one.at_s) for seq in range(known + 1, one.seq + 1)]
        newest[one.page, one.task_id] = max(known, one.seq)
    ids = list({task_id for task_id, _, _ in asked})
    at_s = {
        (task_id, seq): float(at)
        for task_id, seq, at in execute(
            "SELECT task_id, seq, extract(epoch FROM at) FROM runtime_event "
            "WHERE task_id = ANY(%s)",
            (ids,),
        )
    }
    return [(shown_s - at_s[task_id, seq]) * 1000 for task_id, seq, shown_s in asked]


def _spread(values: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(values, n=100)
    return {"p50": round(cuts[49]), "p95": round(cuts[94]), "max": round(max(values))}


def _rate(tasks: Sequence[UUID]) -> float:
    rows = execute(
        "SELECT count(*) / extract(epoch FROM max(at) - min(at)) FROM runtime_event "
        "WHERE task_id = ANY(%s) AND seq > 2",
        (list(tasks),),
    )
    return float(rows[0][0])
