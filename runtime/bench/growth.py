"""Whether a step costs the same at the end of a long task as at its beginning."""

import statistics
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from runtime.api import submit
from runtime.bench.rig import workers
from runtime.bench.steps import wait_until_done
from runtime.store.session import execute

WINDOW = 100


def measure_growth(steps: int, runs: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Measure one task's milliseconds per step over its first and last hundred steps."""
    first: list[float] = []
    last: list[float] = []
    largest = 0
    with workers(1, 2):
        wait_until_done([submit("bench-read", {"steps": 200}).id])
        for number in range(runs):
            task_id = submit("bench-read", {"steps": steps}).id
            wait_until_done([task_id])
            times = _times(task_id)
            first.append(_per_step_ms(times[1 : WINDOW + 2]))
            last.append(_per_step_ms(times[-WINDOW - 2 : -1]))
            size = execute("SELECT length(checkpoint) FROM runtime_task WHERE id = %s", (task_id,))
            largest = max(largest, size[0][0])
            tell(f"run {number + 1}: {first[-1]:.2f} ms/step at first, {last[-1]:.2f} at last")
    return {
        "first_ms": round(statistics.median(first), 3),
        "last_ms": round(statistics.median(last), 3),
        "steps": steps,
        "checkpoint_bytes": largest,
        "spread": {"first": _ends(first), "last": _ends(last)},
        "settings": {"runs": runs, "window": WINDOW},
    }


def _times(task_id: object) -> list[Any]:
    text = "SELECT at FROM runtime_event WHERE task_id = %s ORDER BY seq"
    return [row[0] for row in execute(text, (task_id,))]


def _per_step_ms(times: list[Any]) -> float:
    return float((times[-1] - times[0]) / timedelta(milliseconds=1) / (len(times) - 1))


def _ends(values: list[float]) -> list[float]:
    return [round(min(values), 3), round(max(values), 3)]
