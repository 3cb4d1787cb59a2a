"""Counting what has ended: buckets by the minute, and totals that only grow.

The sweep fills them, so that no page and no scrape ever reads a growing table.
"""

from typing import Final

from runtime.store.session import blocks, execute

BOUNDS_S: Final = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 21_600.0, 86_400.0)
"""Upper bounds of the classes of a task's duration; changing one begins a new class beside it."""
_KINDS: Final = ("task", "worker", "refusal")
_LOCK: Final = 0x51B0
_KEPT_DAYS: Final = 92


def count(limit: int = 200) -> int:
    """Enter what has ended since the last time; gives how many rows were taken.

    Args:
        limit: At most so many of each kind; while it is reached there is more.
    """
    params = {"limit": limit, "bounds": list(BOUNDS_S), "lock": _LOCK}
    parts = blocks("count")
    return sum(int(execute(parts[kind] + parts["tail"], params)[0][0]) for kind in _KINDS)


def forget_old() -> None:
    """Remove the buckets of minutes long past; totals stay."""
    execute(
        "DELETE FROM runtime_bucket WHERE minute < runtime_now() - make_interval(days => %s)",
        (_KEPT_DAYS,),
    )
