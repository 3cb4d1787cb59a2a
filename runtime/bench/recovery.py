"""How soon work goes on after workers were killed: by the other one, and by fresh ones."""

import statistics
import subprocess
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.conf import settings

from runtime.actors.broker import BrokerHints
from runtime.api import set_hints, submit
from runtime.bench.rig import end, start, start_worker
from runtime.bench.steps import wait_until_done
from runtime.store.session import execute

POLL_S = 0.01
LONGEST_S = 120.0
#: Work in hands before the blow falls: enough for both workers, far from its end.
TASKS = 40
STEPS = 60

type Tell = Callable[[str], None]
type Held = dict[UUID, str]


def measure_recovery(runs: int, threads: int, tell: Tell) -> dict[str, Any]:
    """Measure what it takes to go on, from the kill on.

    - ``one_killed_s``: one of two workers is killed and not restarted; until the other has taken
      the last of its tasks a step further.
    - ``all_killed_s``: all workers are killed and started again at once, their start included;
      until the first interrupted task is a step further; ``all_done_s`` until the last one is.

    Args:
        runs: Runs of each kind; medians are given.
        threads: Threads of each worker.
        tell: Told how it goes.
    """
    set_hints(BrokerHints())
    found: dict[str, list[float]] = {"one_killed": [], "all_killed": [], "all_done": []}
    for number in range(runs):
        found["one_killed"].append(_one_killed(threads))
        first_s, last_s = _all_killed(threads)
        found["all_killed"].append(first_s)
        found["all_done"].append(last_s)
        tell(f"run {number + 1}: " + ", ".join(f"{n} {v[-1]:.2f} s" for n, v in found.items()))
    return {
        **{f"{name}_s": round(statistics.median(values), 2) for name, values in found.items()},
        "spread": {n: [round(min(v), 2), round(max(v), 2)] for n, v in found.items()},
        "settings": {"runs": runs, "workers": 2, "threads": threads, "tasks": TASKS}
        | {"lease_s": settings.SIGNALBOX_LEASE_S, "step_s": 0.1},
    }


def _one_killed(threads: int) -> float:
    both = [start_worker(threads) for _ in range(2)]
    running = [*both, start("sweep")]
    try:
        tasks = _under_way(both)
        victim = both[0]
        held = _held_by([victim.pid])
        began_s = _kill([victim])
        took_s = _wait_until_moved(held, len(held)) - began_s
        wait_until_done(tasks)
        return took_s
    finally:
        end(running)


def _all_killed(threads: int) -> tuple[float, float]:
    both = [start_worker(threads) for _ in range(2)]
    running = [start("sweep")]
    try:
        tasks = _under_way(both)
        held = _held_by([worker.pid for worker in both])
        began_s = _kill(both)
        running += [start_worker(threads) for _ in both]
        first_s = _wait_until_moved(held, 1) - began_s
        last_s = _wait_until_moved(held, len(held)) - began_s
        wait_until_done(tasks)
        return first_s, last_s
    finally:
        end(running)


def _under_way(workers: "list[subprocess.Popen[bytes]]") -> list[UUID]:
    """Submit tasks and wait until each worker has some in its hands."""
    _wait_until(lambda: _living(workers) == len(workers))
    tasks = [submit("bench-linger", {"steps": STEPS}).id for _ in range(TASKS)]
    _wait_until(lambda: all(_held_by([worker.pid]) for worker in workers))
    return tasks


def _living(workers: "list[subprocess.Popen[bytes]]") -> int:
    text = "SELECT count(*) FROM runtime_worker WHERE state = 'running' AND pid = ANY(%s)"
    return int(execute(text, ([worker.pid for worker in workers],))[0][0])


def _held_by(pids: list[int]) -> Held:
    """Name the tasks in the hands of processes, each with its holder as its events have it."""
    rows = execute(
        "SELECT t.id, 'worker:' || w.id FROM runtime_task t JOIN runtime_worker w "
        "ON w.id = t.owner WHERE w.state = 'running' AND w.pid = ANY(%s)",
        (pids,),
    )
    return dict(rows)


def _kill(victims: "list[subprocess.Popen[bytes]]") -> float:
    """Kill workers and wait until they are gone; gives the monotonic clock of the blow."""
    began_s = time.monotonic()
    for victim in victims:
        victim.kill()
    for victim in victims:
        victim.wait()
    return began_s


def _wait_until_moved(held: Held, count: int) -> float:
    """Wait until so many tasks have an event of a later holder; gives the monotonic clock."""
    text = (
        "SELECT count(*) FROM unnest(%s::uuid[], %s::text[]) AS held (id, actor) "
        "JOIN runtime_task t USING (id) WHERE EXISTS (SELECT 1 FROM runtime_event e "
        "WHERE e.task_id = held.id AND e.seq = t.version "
        "AND e.actor LIKE 'worker:%%' AND e.actor <> held.actor)"
    )
    _wait_until(lambda: execute(text, (list(held), list(held.values())))[0][0] >= count)
    return time.monotonic()


def _wait_until(holds: Callable[[], bool]) -> None:
    until_s = time.monotonic() + LONGEST_S
    while not holds():
        if time.monotonic() > until_s:
            raise TimeoutError
        time.sleep(POLL_S)
