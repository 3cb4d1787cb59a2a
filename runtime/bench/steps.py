"""Steps per second through the path every agent takes, and beside it what PostgreSQL allows."""

import statistics
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from runtime.api import submit
from runtime.bench.limit import measure_limit
from runtime.bench.rig import workers
from runtime.engine.levers import hear
from runtime.engine.ports import Clock, Ports
from runtime.store.session import execute

HEAD_START_S = 1.0

type Tell = Callable[[str], None]


def measure_steps(tasks: int, steps: int, runs: int, threads: int, tell: Tell) -> dict[str, Any]:
    """Measure read and keyed steps per second with two worker processes, and the limit.

    Args:
        tasks: Tasks of one run.
        steps: Steps of one task.
        runs: Runs of each kind, interleaved; the medians are given.
        threads: Threads of each worker.
        tell: Told how it goes.
    """
    found: dict[str, list[float]] = {"read": [], "keyed": [], "limit": []}
    with workers(2, threads):
        _run("bench-read", 50, steps)
        for number in range(runs):
            for kind in ("read", "keyed"):
                found[kind].append(_run(f"bench-{kind}", tasks, steps))
                tell(f"run {number + 1}: {found[kind][-1]:,.0f} {kind} steps/s")
    for number in range(runs):
        found["limit"].append(measure_limit(threads))
        tell(f"run {number + 1}: {found['limit'][-1]:,.0f} statements/s are the limit")
    read, keyed, limit = (round(statistics.median(found[k])) for k in ("read", "keyed", "limit"))
    return {
        "read_steps_s": read,
        "keyed_steps_s": keyed,
        "limit_s": limit,
        "ratio": round(read / limit, 2),
        "spread": {kind: [round(min(each)), round(max(each))] for kind, each in found.items()},
        "settings": {
            "tasks": tasks,
            "steps": steps,
            "runs": runs,
            "workers": 2,
            "threads": threads,
            **_settings(),
        },
    }


def _settings() -> dict[str, str]:
    names = ("server_version", "fsync", "synchronous_commit")
    return {name: execute(f"SHOW {name}")[0][0] for name in names}


def _run(agent: str, tasks: int, steps: int) -> float:
    """Submit tasks that all become due at one moment; gives steps per second until the last end."""
    ports = Ports(clock=Clock())
    hear(ports)
    due = ports.clock.now() + timedelta(seconds=HEAD_START_S + tasks / 1500)
    ids = [submit(agent, {"steps": steps}, not_before=due).id for _ in range(tasks)]
    wait_until_done(ids)
    first, last = execute(
        "SELECT (SELECT min(at) FROM runtime_event WHERE type = 'task_started' "
        "AND task_id = ANY(%s)), (SELECT max(finished_at) FROM runtime_task WHERE id = ANY(%s))",
        (ids, ids),
    )[0]
    return float(tasks * steps / ((last - first) / timedelta(seconds=1)))


def wait_until_done(ids: list[UUID], timeout_s: float = 600.0, *, every_s: float = 0.1) -> None:
    """Wait until all these tasks have ended.

    Raises:
        TimeoutError: They have not, by then.
    """
    text = "SELECT count(*) FROM runtime_task WHERE id = ANY(%s) AND finished_at IS NULL"
    until = time.monotonic() + timeout_s
    while execute(text, (ids,))[0][0]:
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(every_s)
