"""A diary on disk: what tools did, and gates at which they wait; seen by every process of a test.

Lines survive the SIGKILL of their writer, and a gate holds a tool exactly where a test wants it.
"""

import asyncio
import json
import os
import threading
from pathlib import Path
from typing import Any

GATE_TIMEOUT_S = 60.0
_LOOK_S = 0.005


class Diary:
    """One test's diary.

    Args:
        folder: Where it is kept; goes to tools as text in their arguments.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._file = self.folder / "diary"

    def __str__(self) -> str:
        return str(self.folder)

    def note(self, what: str, **facts: Any) -> None:
        """Add a line; one write, so that lines of many processes never mix."""
        line = json.dumps({"what": what, "pid": os.getpid(), **facts}) + "\n"
        handle = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(handle, line.encode())
        finally:
            os.close(handle)

    def lines(self, what: str | None = None) -> list[dict[str, Any]]:
        """Read the lines, all or those of one kind."""
        if not self._file.exists():
            return []
        lines = [json.loads(line) for line in self._file.read_text().splitlines()]
        return [line for line in lines if what in (None, line["what"])]

    def count(self, what: str) -> int:
        """Count the lines of one kind."""
        return len(self.lines(what))

    def open(self, gate: str) -> None:
        """Open a gate; it stays open."""
        (self.folder / f"gate-{gate}").touch()

    def is_open(self, gate: str) -> bool:
        """Tell whether a gate is open."""
        return (self.folder / f"gate-{gate}").exists()

    def pass_gate(self, gate: str) -> None:
        """Wait on the calling thread until a gate is open.

        Raises:
            TimeoutError: It stayed shut for a minute: the test has forgotten it.
        """
        never = threading.Event()
        for _ in range(int(GATE_TIMEOUT_S / _LOOK_S)):
            if self.is_open(gate):
                return
            never.wait(_LOOK_S)
        raise TimeoutError(gate)

    async def pass_gate_async(self, gate: str) -> None:
        """Wait on the event loop until a gate is open."""
        async with asyncio.timeout(GATE_TIMEOUT_S):
            while not self.is_open(gate):  # noqa: ASYNC110 - other processes open it
                await asyncio.sleep(_LOOK_S)
