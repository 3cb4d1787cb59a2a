"""A circuit breaker for one tool: when its downstream is down, tasks park and keep their attempts.

A frozen value and two pure functions; where it is kept and how parked tasks are woken is the
engine's business.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, Self


class BreakerState(StrEnum):
    """Closed lets all calls pass, open none, half open one probe at a time."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """When a breaker opens and how its tasks come back."""

    threshold: int = 5
    """Consecutive downstream failures that open it."""
    open_s: float = 5.0
    factor: float = 2.0
    """Each failed probe makes the next pause longer by this factor …"""
    cap_s: float = 60.0
    """… up to this many seconds."""
    probe_s: float = 30.0
    """After this long without an answer a probe counts as lost, and another task may probe."""
    return_per_s: float = 10.0
    """Parked tasks come back at about this rate."""
    spread_s: float = 5.0
    """Shortest time over which they are spread."""


DEFAULT_POLICY: Final = BreakerPolicy()


@dataclass(frozen=True, slots=True)
class Breaker:
    """The state of one breaker."""

    state: BreakerState = BreakerState.CLOSED
    failures: int = 0
    """Consecutive failures while closed."""
    openings: int = 0
    """Consecutive times it opened without a success between."""
    until: datetime | None = None
    """Open: when a probe may go. Half open: when the running probe counts as lost."""

    def as_dict(self) -> dict[str, Any]:
        """Give the state as plain JSON values."""
        until = self.until.isoformat() if self.until else None
        return asdict(self) | {"state": self.state.value, "until": until}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read what `as_dict` gave."""
        until = datetime.fromisoformat(data["until"]) if data["until"] else None
        return cls(BreakerState(data["state"]), int(data["failures"]), int(data["openings"]), until)


@dataclass(frozen=True, slots=True)
class Admit:
    """The call may go."""

    breaker: Breaker
    """What to keep before calling; unchanged unless the call is a probe."""
    is_probe: bool = False


@dataclass(frozen=True, slots=True)
class ParkUntil:
    """The call must wait; its attempt is not counted."""

    at: datetime


def admit(
    breaker: Breaker,
    now: datetime,
    dice: float,
    policy: BreakerPolicy = DEFAULT_POLICY,
    parked: int = 0,
) -> Admit | ParkUntil:
    """Say whether a call may go now.

    Args:
        breaker: As last kept.
        now: Aware.
        dice: In [0, 1); spreads the return of parked tasks.
        policy: When it opens and how tasks come back.
        parked: How many tasks are parked already; the more, the longer their return is spread.

    """
    if breaker.state is BreakerState.CLOSED:
        return Admit(breaker)
    if breaker.until is None or now >= breaker.until:
        probing = replace(
            breaker, state=BreakerState.HALF_OPEN, until=now + timedelta(seconds=policy.probe_s)
        )
        return Admit(probing, is_probe=True)
    spread_s = max(policy.spread_s, parked / policy.return_per_s)
    return ParkUntil(breaker.until + timedelta(seconds=dice * spread_s))


def record(
    breaker: Breaker, *, ok: bool, now: datetime, policy: BreakerPolicy = DEFAULT_POLICY
) -> Breaker:
    """Give the breaker after a call ended.

    Only failures of the downstream count: time-outs, lost connections, rate limits, 5xx. A
    permanent refusal is an answer, so it is recorded as `ok`: the downstream is up. An answer that
    arrives while the breaker is open (the call began before) closes nothing: one late success
    proves less than the failures that opened it.

    Args:
        breaker: As last kept.
        ok: Whether the downstream answered.
        now: Aware.
        policy: When it opens.

    """
    if breaker.state is BreakerState.OPEN:
        return breaker
    if ok:
        return breaker if breaker == _FRESH else _FRESH
    if breaker.state is BreakerState.HALF_OPEN:
        return _opened(breaker, now, policy)
    counted = replace(breaker, failures=breaker.failures + 1)
    return _opened(counted, now, policy) if counted.failures >= policy.threshold else counted


def _opened(breaker: Breaker, now: datetime, policy: BreakerPolicy) -> Breaker:
    pause_s = min(policy.open_s * policy.factor ** min(breaker.openings, 60), policy.cap_s)
    return Breaker(
        state=BreakerState.OPEN,
        openings=breaker.openings + 1,
        until=now + timedelta(seconds=pause_s),
    )


_FRESH: Final = Breaker()
