"""The engine's ports: clock, chance, hints, crash points and the books of a task.

Everything that deciding and writing a step takes from the world comes through one of these, so
that tests can move time, fix the dice, count hints, kill the process at every commit point, and
run a whole task without a database.
"""

import random
import secrets
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from runtime.engine.books import Books, Database


class Clock:
    """Time: the database's clock, carried on between two looks at it by the machine's own.

    A worker whose wall clock is wrong (hazard TZ-01) stamps nothing wrong: only differences of
    CLOCK_BOOTTIME are added to what the database said last.  That clock also counts while the
    machine sleeps, so a lease cannot outlive a suspended laptop.
    """

    def __init__(self) -> None:
        """Start from the wall clock, until the database is heard."""
        self._base = datetime.now(UTC)
        self._heard_s = self.boottime_s()

    def boottime_s(self) -> float:
        """Seconds since the machine started, sleep included."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def now(self) -> datetime:
        """The present by the database's clock."""
        return self._base + timedelta(seconds=self.boottime_s() - self._heard_s)

    def hear(self, database_now: datetime) -> None:
        """Take over what the database's clock just said."""
        self._heard_s = self.boottime_s()
        self._base = database_now


class Chance:
    """Dice and ids."""

    def __init__(self, seed: int | None = None) -> None:
        """Take a seed for tests; without one the operating system gives the entropy."""
        self._random = random.Random(seed if seed is not None else secrets.randbits(128))

    def random(self) -> float:
        """Give a number in [0, 1)."""
        return self._random.random()

    def uuid(self, now: datetime) -> str:
        """Give a fresh UUIDv7 as text."""
        return str(self.uuid7(now))

    def uuid7(self, now: datetime) -> UUID:
        """Give a fresh UUIDv7: 48 bits of milliseconds, then chance (RFC 9562, section 5.7)."""
        millis = int(now.timestamp() * 1000) & ((1 << 48) - 1)
        bits = self._random.getrandbits(74)
        high = (millis << 16) | 0x7000 | (bits >> 62)
        low = (0b10 << 62) | (bits & ((1 << 62) - 1))
        return uuid.UUID(int=(high << 64) | low)


class CrashPoint(StrEnum):
    """Where a worker may die; tests kill it at each of them."""

    BEFORE_CLAIM = "before_claim"
    AFTER_CLAIM = "after_claim"
    BEFORE_COMMIT = "before_commit"
    AFTER_COMMIT = "after_commit"
    AFTER_INTENT = "after_intent"
    IN_CALL = "in_call"
    AFTER_CALL = "after_call"
    IN_LOCAL_TRANSACTION = "in_local_transaction"
    BEFORE_RENEWAL = "before_renewal"
    AFTER_RENEWAL = "after_renewal"
    BEFORE_RELEASE = "before_release"
    AFTER_RELEASE = "after_release"
    BEFORE_SWEEP = "before_sweep"
    IN_SWEEP = "in_sweep"
    AFTER_SWEEP = "after_sweep"


class Hints(Protocol):
    """Doorbells: they may be lost or doubled without harm."""

    def work(self, queue: str, task_id: UUID | None) -> None:
        """Tell workers that a queue has work, perhaps this task."""
        ...

    def moved(self, task_id: UUID, seq: int) -> None:
        """Tell whoever watches that a task has reached this event; called once it is committed."""
        ...


class NoHints:
    """For places where nobody listens; the sweep finds the work."""

    def work(self, queue: str, task_id: UUID | None) -> None:
        """Tell nobody."""

    def moved(self, task_id: UUID, seq: int) -> None:
        """Tell nobody."""


def _lives_on(_point: CrashPoint) -> None:
    """Do nothing: only tests die here."""


@dataclass(frozen=True, slots=True)
class Ports:
    """All ports of one process."""

    clock: Clock = field(default_factory=Clock)
    chance: Chance = field(default_factory=Chance)
    hints: Hints = field(default_factory=NoHints)
    crash: Callable[[CrashPoint], None] = _lives_on
    books: Books = field(default_factory=Database)
