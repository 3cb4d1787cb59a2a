"""The settings of one worker process, built once and passed in."""

from dataclasses import dataclass
from typing import Self

from django.conf import settings


@dataclass(frozen=True, slots=True)
class RuntimeOptions:
    """How a worker behaves.

    Args:
        direct_url: Address of PostgreSQL past any pooler.
        lease_s: Seconds a lease lasts without renewal.
        threads: Threads for planners, ``def`` tools and database work.
        slots: Tasks it holds at most, most of them inside slow ``async`` calls.
        queues: Queues it serves.
        slice_s: Seconds after which a task gives its thread to the next one in line.
        abandoned: Threads given up on after which the worker drains and starts anew.
        grace_s: Seconds that running steps get at a graceful stop.
    """

    direct_url: str
    lease_s: float = 15.0
    threads: int = 8
    slots: int = 2000
    queues: tuple[str, ...] = ("default",)
    slice_s: float = 0.5
    abandoned: int = 4
    grace_s: float = 30.0

    @classmethod
    def from_settings(cls, *, threads: int = 8, queues: tuple[str, ...] = ("default",)) -> Self:
        """Build the options from Django's settings and the command line."""
        return cls(
            direct_url=settings.DATABASE_DIRECT_URL,
            lease_s=settings.SIGNALBOX_LEASE_S,
            threads=threads,
            queues=queues,
        )
