"""Starts the processes that are measured: real workers, as in production."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MANAGE = Path(__file__).resolve().parent.parent.parent / "manage.py"
APP = "runtime.bench"


def start(*command: str) -> "subprocess.Popen[bytes]":
    """Start a command of ours that knows the bench's agents."""
    environ = dict(os.environ)
    apps = [name for name in environ.get("SIGNALBOX_APPS", "").split(",") if name]
    environ["SIGNALBOX_APPS"] = ",".join([*apps, APP])
    return subprocess.Popen(
        [sys.executable, str(MANAGE), *command],
        env=environ,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def start_worker(threads: int) -> "subprocess.Popen[bytes]":
    """Start a worker of the bench's queue."""
    return start("worker", "--queues", "bench", "--threads", str(threads))


def end(processes: "list[subprocess.Popen[bytes]]") -> None:
    """End processes in good order and wait for them."""
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait(30)


@contextmanager
def workers(count: int, threads: int, *, sweep: bool = True) -> Iterator[list[int]]:
    """Run worker processes, and a sweep, for the time of a measurement; gives their process ids."""
    running = [start_worker(threads) for _ in range(count)]
    if sweep:
        running.append(start("sweep"))
    try:
        yield [process.pid for process in running[:count]]
    finally:
        end(running)
