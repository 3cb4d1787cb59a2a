"""What happened over time, from buckets that the sweep filled; see ``runtime.api``.

A bucket that is past hardly ever changes; the last one is still open.  Within a task, calls and the
wait in the queue are counted when the task ends.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final

from runtime.core.histogram import quantile
from runtime.store import buckets, stuck
from runtime.store.counting import BOUNDS_S, CALL_BOUNDS_S, KEPT_DAYS
from runtime.store.stuck import StuckView
from runtime.store.tasks import database_now

WIDTHS_S: Final = tuple(KEPT_DAYS)
"""The widths of buckets there are, in seconds."""
_COUNTS: Final = ("task_submitted", "task_ended", "tool_call", "review_opened", "review_closed")
_HISTOGRAMS: Final = {
    "task_duration": BOUNDS_S,
    "queue_wait": BOUNDS_S,
    "review_wait": BOUNDS_S,
    "tool_duration": CALL_BOUNDS_S,
}
_ORIGIN: Final = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Counts:
    """Some counts by kind and word: of one bucket, of one agent or tool, or of all."""

    by: Mapping[tuple[str, str], int]

    @classmethod
    def together(cls, parts: "Iterable[Counts]") -> "Counts":
        """Add up some counts, as of several buckets."""
        total: dict[tuple[str, str], int] = defaultdict(int)
        for part in parts:
            for key, count in part.by.items():
                total[key] += count
        return _frozen(total)

    def of(self, kind: str, *words: str) -> int:
        """Count what is of a kind; of these outcomes only, if any are named.

        Args:
            kind: ``task_submitted``, ``task_ended``, ``tool_call``, ``review_opened``,
                ``review_closed``; or a histogram, whose observations are counted.
            words: States, outcomes, kinds of review item or decisions.
        """
        if words:
            return sum(self.by.get((kind, word), 0) for word in words)
        return sum(count for (found, _), count in self.by.items() if found == kind)

    def quantile(self, kind: str, share: float) -> float | None:
        """Tell a quantile in seconds, within its class; None when nothing was observed.

        Args:
            kind: ``task_duration``, ``queue_wait``, ``review_wait`` or ``tool_duration``.
            share: Between 0 and 1.
        """
        counts = {float(word): n for (found, word), n in self.by.items() if found == kind}
        return quantile(counts, share, _HISTOGRAMS[kind])


NOTHING: Final = Counts(MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Series:
    """What happened in a time.

    Args:
        since: The beginning of the first bucket.
        computed_at: When this was read; the bucket around it is still open.
        width_s: Seconds that a bucket spans.
        slots: By the beginning of their buckets; those in which nothing happened are left out.
        names: By the kind's family (``task``, ``tool``, ``review``, ``queue``) and the name.
        total: All of it.
    """

    since: datetime
    computed_at: datetime
    width_s: int
    slots: Mapping[datetime, Counts]
    names: Mapping[tuple[str, str], Counts]
    total: Counts

    def begins(self) -> list[datetime]:
        """List the beginnings of all buckets, also of the empty ones, the open one last."""
        width = timedelta(seconds=self.width_s)
        number = (self.computed_at - self.since) // width + 1
        return [self.since + width * n for n in range(number)]

    def at(self, began_at: datetime) -> Counts:
        """Give the counts of one bucket."""
        return self.slots.get(began_at, NOTHING)


def series(span_s: int, width_s: int, *, agent: str = "", namespace: str = "default") -> Series:
    """Read what happened in the last while, up to now.

    Args:
        span_s: How far back, in seconds; the first bucket begins at a whole multiple of the width.
        width_s: One of `WIDTHS_S`.
        agent: Only this one's tasks, waits and items; calls of tools are those of all agents.
        namespace: Whose.

    Raises:
        ValueError: There are no buckets of this width.
    """
    if width_s not in WIDTHS_S:
        raise ValueError(width_s)
    now = database_now()
    width = timedelta(seconds=width_s)
    since = now - timedelta(seconds=span_s)
    since = _ORIGIN + (since - _ORIGIN) // width * width + width
    over_time, by_name = buckets.sums(
        namespace=namespace,
        width_s=width_s,
        since=since,
        until=now,
        kinds=[*_COUNTS, *_HISTOGRAMS],
        agent=agent,
    )
    slots: dict[datetime, dict[tuple[str, str], int]] = defaultdict(dict)
    for began_at, kind, word, count, _ in over_time:
        slots[began_at.astimezone(UTC)][kind, word] = count
    names: dict[tuple[str, str], dict[tuple[str, str], int]] = defaultdict(dict)
    total: dict[tuple[str, str], int] = defaultdict(int)
    for kind, name, word, count, _ in by_name:
        names[kind.partition("_")[0], name][kind, word] = count
        total[kind, word] += count
    return Series(
        since=since,
        computed_at=now,
        width_s=width_s,
        slots=MappingProxyType({at: _frozen(counts) for at, counts in slots.items()}),
        names=MappingProxyType({key: _frozen(counts) for key, counts in names.items()}),
        total=_frozen(total),
    )


def _frozen(counts: Mapping[tuple[str, str], int]) -> Counts:
    return Counts(MappingProxyType(dict(counts)))


def stuck_tasks(*, limit: int = 200, namespace: str = "default") -> list[StuckView]:
    """List the tasks that should be moving by themselves and are not, the longest first.

    What “stuck” means stands in ``runtime.core.stuck``; everything that says the word asks this.
    """
    return stuck.stuck(namespace, limit)
