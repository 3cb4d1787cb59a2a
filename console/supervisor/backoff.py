"""How long to wait before a process that ended is started again: pure counting."""

from dataclasses import dataclass

FIRST_S = 0.5
FACTOR = 2.0
CAP_S = 30.0
#: Having lived so long, the next end counts as the first.
HEALTHY_S = 30.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """The record of one process.

    Args:
        ends: How often it has ended with no healthy life in between.
    """

    ends: int = 0

    def after_end(self, lived_s: float) -> "Backoff":
        """Count an end after a life of so many seconds."""
        return Backoff(1 if lived_s >= HEALTHY_S else self.ends + 1)

    @property
    def wait_s(self) -> float:
        """Seconds to wait before the next start."""
        return min(CAP_S, FIRST_S * FACTOR ** min(self.ends - 1, 30)) if self.ends else 0.0
