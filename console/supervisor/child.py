"""One process under supervision: started tied to us, read, asked to end, killed.

It decides nothing: when to start it again and in which order to stop is `supervise.py`'s.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from console.embedded.services import PROJECT

CHUNK_BYTES = 65_536
#: A line longer than this is printed in pieces.
LINE_LIMIT_BYTES = 65_536
#: Ends it when we are killed; a program of the runtime: started, not imported.
LEASH = "runtime.engine.leash"


@dataclass(frozen=True, slots=True)
class Spec:
    """What to run.

    Args:
        name: Stands before each line that it prints.
        arguments: Of the program.
        stage: Processes of a lower stage are stopped first.
        grace_s: Seconds it gets to end in good order.
        reloads: Whether it holds agents' modules, so that it starts anew when they change.
        delay_s: Seconds that its first start waits, so that more urgent ones have the machine.
    """

    name: str
    arguments: Sequence[str]
    stage: int
    grace_s: float = 10.0
    reloads: bool = False
    delay_s: float = 0.0


class Child:
    """One process, again and again; not started before `start`."""

    def __init__(self, spec: Spec, environ: Mapping[str, str], program: Path) -> None:
        self.spec = spec
        self._program = program
        self._environ = dict(environ)
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""

    @property
    def name(self) -> str:
        """Its name."""
        return self.spec.name

    @property
    def pid(self) -> int | None:
        """The id of its present process, if it has had one."""
        return None if self._process is None else self._process.pid

    @property
    def running(self) -> bool:
        """Whether its process lives."""
        return self._process is not None and self._process.poll() is None

    @property
    def status(self) -> int | None:
        """The exit status of a process that has ended, negative for a signal."""
        return None if self._process is None else self._process.poll()

    @property
    def output(self) -> int:
        """The descriptor of its output, to be waited on; must hold: it was started."""
        assert self._process is not None  # noqa: S101 (see above)
        assert self._process.stdout is not None  # noqa: S101 (asked for at the start)
        return self._process.stdout.fileno()

    def start(self) -> None:
        """Start it.

        Must hold: it does not run, its output was closed, and we are on the main thread (the kernel
        ends it with the thread that started it).
        """
        leash = [sys.executable, "-m", LEASH, str(os.getpid())]
        self._process = subprocess.Popen(
            [*leash, sys.executable, str(self._program), *self.spec.arguments],
            cwd=PROJECT,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # Ctrl-C in the terminal is for us, who then end them in order.
            start_new_session=True,
        )
        os.set_blocking(self.output, False)

    def read(self) -> list[str] | None:
        """Give the lines that came since the last time, without waiting; None at the end of all."""
        try:
            chunk = os.read(self.output, CHUNK_BYTES)
        except BlockingIOError:
            return []
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        if self._rest and (len(self._rest) > LINE_LIMIT_BYTES or not chunk):
            whole, self._rest = [*whole, self._rest], b""
        if not chunk and not whole:
            return None
        return [line.decode(errors="replace") for line in whole if line.strip()]

    def close(self) -> None:
        """Close our end of its output."""
        self._rest = b""
        if self._process is not None and self._process.stdout is not None:
            self._process.stdout.close()

    def terminate(self) -> None:
        """Ask it to end in good order."""
        if self.running and self._process is not None:
            self._process.terminate()

    def kill(self) -> None:
        """End it at once."""
        if self.running and self._process is not None:
            self._process.kill()
            self._process.wait()
