"""Time and chance of a test: a clock that only moves when it is told to, and seeded dice."""

from datetime import UTC, datetime, timedelta
from typing import Final, override

from runtime.engine.ports import Clock

START: Final = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
"""A Monday morning; any instant would do, as long as it is always the same."""


class FakeClock(Clock):
    """A clock that stands still between two jumps."""

    def __init__(self, start: datetime) -> None:
        """Take the first instant; aware."""
        self._start = start
        self._passed_s = 0.0

    @override
    def boottime_s(self) -> float:
        return self._passed_s

    @override
    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._passed_s)

    @override
    def hear(self, database_now: datetime) -> None:
        """Keep our own time: there is no database."""

    def jump(self, seconds: float) -> None:
        """Let time pass; never backwards."""
        self._passed_s += max(seconds, 0.0)
