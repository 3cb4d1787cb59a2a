"""The processes of a demo or drill: workers and a sweep as in production, started, killed, ended.

Real `manage.py` processes, each tied to ours so that none outlives us. It knows nothing of tasks;
the shop's process is `shop/launch.py`'s.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from runtime.core.errors import SignalboxError

ROOT = Path(__file__).resolve().parents[3]
MANAGE = ROOT / "manage.py"
LEASH = "runtime.engine.leash"
STOP_GRACE_S = 8.0
#: A killed worker's witness writes the death down before it ends.
WITNESS_GRACE_S = 5.0
MOST_RESTARTS = 3
POLL_S = 0.02
LOG_TAIL = 3


@dataclass(eq=False)
class ChildKeepsDying(SignalboxError):
    """A process of the stage ended again and again by itself."""

    name: str
    status: int
    log: Path
    said: Sequence[str]

    http_status = 500
    code = "child_keeps_dying"

    def __str__(self) -> str:
        last = f" ({' / '.join(self.said)})" if self.said else ""
        return f"{self.name} ended with status {self.status} again and again{last}; see {self.log}."


class Child:
    """One process; started at once, and again after it has ended."""

    def __init__(
        self, name: str, command: Sequence[str], env: Mapping[str, str], log: Path
    ) -> None:
        self.name = name
        self.log = log
        #: How often it was started anew because it had ended by itself.
        self.restarts = 0
        self._command = command
        self._env = dict(env)
        self._descendants: list[psutil.Process] = []
        self._process = self._started()

    @property
    def pid(self) -> int:
        """The id of its present process."""
        return self._process.pid

    @property
    def status(self) -> int | None:
        """The exit status, or None while it runs."""
        return self._process.poll()

    def start(self) -> None:
        """Start it again; must hold: it has ended."""
        self._process = self._started()

    def terminate(self) -> None:
        """Ask it to end in good order."""
        if self.status is None:
            self._process.terminate()

    def kill(self) -> None:
        """End it with SIGKILL, as a crash would, and wait until it is gone."""
        if self.status is None:
            self._descendants += _descendants(self.pid)
            self._process.kill()
        self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send any other signal, such as SIGSTOP."""
        self._process.send_signal(number)

    def end(self, deadline: float) -> None:
        """Wait until it has ended, and whatever it started; past the deadline they are killed."""
        while self.status is None and time.monotonic() < deadline:
            time.sleep(POLL_S)
        self.kill()
        _, left = psutil.wait_procs(self._descendants, WITNESS_GRACE_S)
        for process in left:
            process.kill()

    def _started(self) -> "subprocess.Popen[bytes]":
        leashed = [sys.executable, "-m", LEASH, str(os.getpid()), sys.executable]
        with self.log.open("ab") as output:
            return subprocess.Popen(
                [*leashed, *self._command],
                cwd=ROOT,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Ctrl-C in a terminal is for us, who then end them in good order.
                start_new_session=True,
            )


class Stage:
    """All processes together; leaving its `with` block ends them, whatever happened.

    Args:
        env: The environment of every process.
        logs: A folder for what they say; made if need be.
        program: The Python program that all of them run.
    """

    def __init__(self, env: Mapping[str, str], logs: Path, program: Path = MANAGE) -> None:
        self.children: dict[str, Child] = {}
        self.logs = logs
        self._env = env
        self._program = program
        logs.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def start(self, name: str, *arguments: str) -> Child:
        """Start the program with these arguments under a name of its own."""
        child = Child(name, [str(self._program), *arguments], self._env, self.logs / f"{name}.log")
        self.children[name] = child
        return child

    def by_pid(self, pid: int) -> Child | None:
        """Give the child that runs as this process."""
        return next((child for child in self.children.values() if child.pid == pid), None)

    def tend(self) -> list[Child]:
        """Start again whatever has ended by itself; gives those.

        Raises:
            ChildKeepsDying: One has ended more than three times.
        """
        ended = [child for child in self.children.values() if child.status is not None]
        for child in ended:
            child.restarts += 1
            if child.restarts > MOST_RESTARTS:
                raise ChildKeepsDying(child.name, child.status or 0, child.log, _tail(child.log))
            child.start()
        return ended

    def close(self) -> None:
        """End all, in good order where they can; not to be interrupted."""
        with uninterrupted():
            deadline = time.monotonic() + STOP_GRACE_S
            for child in self.children.values():
                child.terminate()
            for child in self.children.values():
                child.end(deadline)
            self.children.clear()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C and SIGTERM for a short while; must hold: we are on the main thread."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _descendants(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _tail(log: Path) -> list[str]:
    lines = log.read_text(errors="replace").splitlines()
    return [line.strip()[:200] for line in lines[-LOG_TAIL:] if line.strip()]
