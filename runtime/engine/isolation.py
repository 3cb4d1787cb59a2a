"""Runs one suspect at a time in a process of its own.

A task that has killed two workers would kill a third with everything beside it.  Its process is a
worker that holds this one task; if it dies too, its own witness says so and a person must look.
"""

import subprocess
import sys
import threading
from collections.abc import Callable
from uuid import UUID


class Isolation:
    """The isolated lane of a worker."""

    def __init__(self) -> None:
        """Start with an empty lane."""
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    @property
    def busy(self) -> bool:
        """Whether a suspect is under way."""
        return self._process is not None

    def run(self, task_id: UUID, then: Callable[[], None]) -> None:
        """Start the process for a suspect.

        Args:
            task_id: The suspect.
            then: Called when the lane is free again.
        """
        with self._lock:
            if self._process is not None:
                return
            command = [sys.executable, "-m", "runtime.engine.isolated", str(task_id)]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        threading.Thread(target=self._wait, args=(then,), name="isolation", daemon=True).start()

    def stop(self) -> None:
        """Have the process end at its next commit."""
        process = self._process
        if process is not None:
            process.terminate()

    def _wait(self, then: Callable[[], None]) -> None:
        process = self._process
        if process is not None:
            process.wait()
        self._process = None
        then()
