"""Which server processes live in a folder, and how they are started and ended.

A pid file may be stale and its number reused, so a server is known by its name and its working
folder; zombies do not count. `postgres` and `valkey` are its callers.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TypedDict

import psutil

from console.embedded.account import Account

POLL_S = 0.02
LOG_LIMIT_BYTES = 5_000_000
# Everything goes to the log, nothing to us: the server is no child of ours, keeps no terminal of
# ours, and outlives us when we are killed.
_DETACH = '"$@" </dev/null >&2 & echo $!'


def is_alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def is_in(pid: int, name: str, folder: Path) -> bool:
    """Whether the process is a living `name` that works in `folder`."""
    try:
        process = psutil.Process(pid)
        return (
            process.name() == name
            and process.status() != psutil.STATUS_ZOMBIE
            and process.cwd() == str(folder)
        )
    except (psutil.Error, OSError):
        return False


def living_in(folder: Path, name: str) -> list[int]:
    """The process ids of every living `name` that works in `folder`."""
    return [pid for pid in psutil.pids() if is_in(pid, name, folder)]


def launch(command: Sequence[str | Path], account: Account, log: Path) -> int:
    """Start a server in a session of its own.

    Args:
        command: The program and its arguments.
        account: Who runs it.
        log: Where its output goes; started afresh when it has grown large.

    Returns:
        Its process id.
    """
    with open_log(log) as output:
        started = subprocess.run(
            ["/bin/sh", "-c", _DETACH, "sh", *map(str, command)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=output,
            check=True,
            start_new_session=True,
            **run_as(account),
        )
    return int(started.stdout)


class RunAs(TypedDict, total=False):
    """The options of `subprocess.run` that decide who a program is and what it sees."""

    cwd: str
    umask: int
    env: dict[str, str]
    user: int
    group: int
    extra_groups: list[int]


def run_as(account: Account) -> RunAs:
    """Options that run a program as the account, seeing none of our environment."""
    plain = RunAs(cwd="/", umask=0o077, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
    if account.switch:
        plain |= RunAs(user=account.uid, group=account.gid, extra_groups=[])
    return plain


def send(pids: Sequence[int], number: signal.Signals) -> None:
    """Send a signal to each process that still lives."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def wait_until(holds: Callable[[], bool], timeout_s: float) -> bool:
    """Wait until something holds; return whether it did within `timeout_s` seconds."""
    deadline = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def open_log(log: Path) -> IO[bytes]:
    """Open a log to append to, through no link; one that has grown large starts afresh."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_APPEND | os.O_CLOEXEC
    descriptor = os.open(log, flags, 0o600)
    if os.fstat(descriptor).st_size > LOG_LIMIT_BYTES:
        os.ftruncate(descriptor, 0)
    return os.fdopen(descriptor, "ab")


def tail(log: Path, limit_bytes: int = 20_000) -> list[str]:
    """The last lines of a log; none when it cannot be read."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - limit_bytes))
            return file.read().decode(errors="replace").splitlines()
    except OSError:
        return []
