"""What `up` prints: each process's lines behind its name, and its own.

On a terminal it is coloured and log lines are made readable; elsewhere they stay the JSON they are.
It never fails: a reader that went away is remembered.
"""

import json
import signal
from typing import Any, TextIO

COLOURS = ("36", "32", "33", "35", "34", "96", "92", "93", "95", "94")
OWN = "up"
#: Of a log line: shown in front, or known to whoever watches a terminal.
_APART = {"event", "level", "logger", "timestamp", "exception"}
_QUIET_LEVELS = {"info", "debug"}


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
        self._is_terminal = stream.isatty()
        #: Whether nobody reads any more.
        self.deserted = False

    def line(self, name: str, text: str) -> None:
        """Print one line of a process."""
        head = f"{name:<{self._width}} |"
        if self._is_terminal:
            head = f"\x1b[{self._colour.get(name, '1')}m{head}\x1b[0m"
            text = readable(text)
        self._write("".join(f"{head} {part}\n" for part in text.split("\n")))

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


def readable(text: str) -> str:
    """Turn a JSON log line into one for people; any other line stays as it is."""
    entry = _entry(text)
    if entry is None:
        return text
    level = str(entry.get("level", "info"))
    front = "" if level in _QUIET_LEVELS else f"{level.upper()}: "
    rest = [f"{name}={value}" for name, value in entry.items() if name not in _APART and value]
    line = " ".join([f"{front}{entry['event']}", *rest])
    return f"{line}\n{entry['exception']}" if entry.get("exception") else line


def _entry(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and "event" in found else None


def ending(status: int) -> str:
    """Say how a process ended."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
