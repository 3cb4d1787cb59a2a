"""Counting what happened: buckets of several widths, and totals that only grow.

The sweep fills them, so that no page and no scrape ever reads a growing table.  What happened
within a task (its calls, its wait in the queue) is counted when the task ends, in the bucket of its
end: so a bucket that is past hardly ever changes, and a step pays nothing.
"""

from typing import Final

from runtime.store.session import blocks, execute

BOUNDS_S: Final = (
    *(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 900.0, 1800.0),
    *(3600.0, 10_800.0, 21_600.0, 43_200.0, 86_400.0, 259_200.0),
)
"""Upper bounds of the classes of durations and waits; another one begins a class beside them."""
CALL_BOUNDS_S: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0)
"""The same for single calls of tools."""
KEPT_DAYS: Final = {60: 3, 900: 35, 3600: 400}
"""The widths of buckets in seconds, and for how many days they are kept."""
_KINDS: Final = ("task", "tally", "opening", "closing", "worker", "refusal")
_LOCK: Final = 0x51B0


def count(limit: int = 200) -> int:
    """Enter what happened since the last time; gives how many rows were taken.

    Args:
        limit: At most so many of each kind; while it is reached there is more.
    """
    params = {
        "limit": limit,
        "bounds": list(BOUNDS_S),
        "call_bounds": list(CALL_BOUNDS_S),
        "widths": list(KEPT_DAYS),
        "lock": _LOCK,
    }
    parts = blocks("count")
    return sum(int(execute(parts[kind] + parts["tail"], params)[0][0]) for kind in _KINDS)


def forget_old() -> None:
    """Remove the buckets that nobody looks at any more; totals stay."""
    for width_s, days in KEPT_DAYS.items():
        execute(
            "DELETE FROM runtime_bucket "
            "WHERE width_s = %s AND began_at < runtime_now() - make_interval(days => %s)",
            (width_s, days),
        )
