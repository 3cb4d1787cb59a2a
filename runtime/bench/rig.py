"""Starts the workers that are measured: real processes, as in production."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MANAGE = Path(__file__).resolve().parent.parent.parent / "manage.py"
APP = "runtime.bench"


@contextmanager
def workers(count: int, threads: int, *, sweep: bool = True) -> Iterator[list[int]]:
    """Run worker processes, and a sweep, for the time of a measurement; gives their process ids."""
    environ = dict(os.environ)
    apps = [name for name in environ.get("SIGNALBOX_APPS", "").split(",") if name]
    environ["SIGNALBOX_APPS"] = ",".join([*apps, APP])
    commands = [["worker", "--queues", "bench", "--threads", str(threads)]] * count
    if sweep:
        commands.append(["sweep"])
    running = [
        subprocess.Popen(
            [sys.executable, str(MANAGE), *command],
            env=environ,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for command in commands
    ]
    try:
        yield [process.pid for process in running[:count]]
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(30)
