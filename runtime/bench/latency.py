"""How soon an idle system starts a task, and how soon one of ten steps is done."""

import statistics
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from runtime.actors.broker import BrokerHints
from runtime.api import set_hints, submit
from runtime.bench.rig import workers
from runtime.bench.steps import wait_until_done
from runtime.store.session import execute

#: Between two tasks, so that each meets an idle system.
IDLE_S = 0.05
WARM_UP = 20

type Spread = dict[str, list[float]]


def measure_latency(
    tasks: int, steps: int, runs: int, threads: int, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Measure the time from submit to start and to end, one task after the other.

    Args:
        tasks: Tasks of one run.
        steps: Steps of one task.
        runs: Runs; medians of their quantiles are given.
        threads: Threads of each of the two workers.
        tell: Told how it goes.
    """
    set_hints(BrokerHints())
    found: dict[str, Spread] = {name: {"p50": [], "p95": []} for name in ("total", "start")}
    with workers(2, threads):
        _run(WARM_UP, steps)
        for number in range(runs):
            for name, times_ms in zip(found, _run(tasks, steps), strict=True):
                found[name]["p50"].append(statistics.median(times_ms))
                found[name]["p95"].append(statistics.quantiles(times_ms, n=20)[-1])
            total, start = (found[name]["p50"][-1] for name in ("total", "start"))
            tell(f"run {number + 1}: done after {total:.1f} ms, started after {start:.1f} ms")
    return {
        "total_ms": _medians(found["total"]),
        "start_ms": _medians(found["start"]),
        "spread": {f"{name}_{q}": _ends(v) for name in found for q, v in found[name].items()},
        "settings": {"tasks": tasks, "steps": steps, "runs": runs, "workers": 2}
        | {"threads": threads, "server_version": execute("SHOW server_version")[0][0]},
    }


def _run(tasks: int, steps: int) -> tuple[list[float], list[float]]:
    """Give milliseconds to the end and to the start of each task."""
    total, start = [], []
    for _ in range(tasks):
        task_id = submit("bench-read", {"steps": steps}).id
        wait_until_done([task_id], every_s=IDLE_S)
        created, started, finished = _times(task_id)
        total.append((finished - created) / timedelta(milliseconds=1))
        start.append((started - created) / timedelta(milliseconds=1))
        time.sleep(IDLE_S)
    return total, start


def _times(task_id: UUID) -> tuple[Any, Any, Any]:
    text = (
        "SELECT t.created_at, (SELECT e.at FROM runtime_event e WHERE e.task_id = t.id "
        "AND e.type = 'task_started'), t.finished_at FROM runtime_task t WHERE t.id = %s"
    )
    created, started, finished = execute(text, (task_id,))[0]
    return created, started, finished


def _medians(found: Spread) -> dict[str, float]:
    return {name: round(statistics.median(values), 2) for name, values in found.items()}


def _ends(values: list[float]) -> list[float]:
    return [round(min(values), 2), round(max(values), 2)]
