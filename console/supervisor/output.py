"""What `up` prints: each process's lines behind its name, and its own.

Coloured on a terminal only. It never fails: a reader that went away is remembered.
"""

import signal
from typing import TextIO

COLOURS = ("36", "32", "33", "35", "34", "96", "92", "93", "95", "94")
OWN = "up"


class Printer:
    """Prints lines with their origin.

    Args:
        stream: Where to.
        names: Of all processes; their colours follow from the order.
    """

    def __init__(self, stream: TextIO, names: list[str]) -> None:
        self._stream = stream
        self._width = max(len(name) for name in [*names, OWN])
        self._colour = dict(zip(names, COLOURS * (len(names) // len(COLOURS) + 1), strict=False))
        self._coloured = stream.isatty()
        #: Whether nobody reads any more.
        self.deserted = False

    def line(self, name: str, text: str) -> None:
        """Print one line of a process."""
        head = f"{name:<{self._width}} |"
        if self._coloured:
            head = f"\x1b[{self._colour.get(name, '1')}m{head}\x1b[0m"
        self._write(f"{head} {text}\n")

    def say(self, text: str) -> None:
        """Print a line of our own."""
        self.line(OWN, text)

    def _write(self, text: str) -> None:
        if self.deserted:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self.deserted = True


def ending(status: int) -> str:
    """Say how a process ended."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
