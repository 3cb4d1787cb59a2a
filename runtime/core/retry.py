"""What to do after a call failed: kinds of failure, pauses, and one table of next moves.

Pure: the time, the dice and the number of attempts are arguments. It moves nothing itself; the
engine's `decide` asks it and writes the answer down, so that a pause survives a restart.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from runtime.core.effects import MEANINGS, Effect
from runtime.core.errors import Ambiguous, Permanent, Retryable, safe_text, type_name

_WEEK_S: Final = 7 * 86_400
_MOST_DOUBLINGS: Final = 60
"""Beyond this every pause has met its cap long ago; keeps the power finite."""
_SECONDS: Final = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?")
_LOST_CONNECTION_NAMES: Final = frozenset({"TransportError", "TimeoutException"})
"""Root classes of httpx, by name: the core imports no HTTP client."""

type Seconds = Annotated[float, Field(strict=True, ge=0, le=_WEEK_S, allow_inf_nan=False)]


class RetryPolicy(BaseModel):
    """How often a call is tried and how long the pauses are. `attempts` counts the first try."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    attempts: Annotated[int, Field(strict=True, ge=1, le=100)] = 3
    first_s: Seconds = 1.0
    factor: Annotated[float, Field(strict=True, ge=1, le=10, allow_inf_nan=False)] = 2.0
    cap_s: Seconds = 60.0


class ErrorKind(StrEnum):
    """What a failure says about trying again."""

    RETRYABLE = "retryable"
    PERMANENT = "permanent"
    RATE_LIMITED = "rate_limited"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed call as data."""

    kind: ErrorKind
    after_s: float | None
    """Seconds the downstream asked us to wait."""
    message: str
    type_name: str
    declared: bool = True
    """Whether the tool itself said what happened; else nobody knows whether a write took effect."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Call again after a pause; a `keyed` call goes out under its old operation id."""

    after_s: float


@dataclass(frozen=True, slots=True)
class Check:
    """Ask the tool's check, after a pause, whether it happened; call again only if it did not."""

    after_s: float


@dataclass(frozen=True, slots=True)
class InDoubt:
    """Never call again by ourselves: a person says what happened."""

    reason: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The call did not happen and is not tried again: the fallback tool, or a person."""

    reason: str


type Move = Retry | Check | InDoubt | GiveUp


def delay_s(policy: RetryPolicy, attempt: int, dice: float) -> float:
    """Give the pause after a failed attempt, with full jitter.

    `delay = dice * min(cap_s, first_s * factor ** (attempt - 1))`

    With the defaults and dice near 1: 1, 2, 4, 8, 16, 32, 60, 60 … seconds; with dice 0.5 half of
    each. Full jitter spreads tasks that failed together over the whole pause instead of bringing
    them back in one wave.

    Args:
        policy: The manifest's.
        attempt: Attempts made so far, 1 after the first.
        dice: In [0, 1).

    Returns:
        Seconds.

    """
    doublings = min(max(attempt, 1) - 1, _MOST_DOUBLINGS)
    return dice * min(policy.cap_s, policy.first_s * policy.factor**doublings)


def retry_after_s(header: str | float | None, now: datetime, cap_s: float) -> float | None:
    """Give the pause a `Retry-After` asks for; None for junk, so that the default pause holds.

    Args:
        header: Seconds or an HTTP date.
        now: Aware.
        cap_s: Longest pause in seconds; more is cut to it.

    Returns:
        Seconds; 0 for a date that has passed.

    """
    wanted = _number_of_seconds(header)
    if wanted is None and isinstance(header, str):
        wanted = _seconds_until(header.strip(), now)
    return None if wanted is None else min(wanted, cap_s)


def classify(exc: BaseException, effect: Effect) -> Failure:
    """Give a failure as data, by the contract with the authors of tools.

    `Retryable`, `Permanent` and `Ambiguous` are taken at their word (a `Retryable` with `after_s`
    is a rate limit). Anything else is retryable for `read`, `local` and `keyed`, and ambiguous for
    `checked` and `once`; time-outs and lost connections are ambiguous for every write that leaves
    our database.
    """
    if isinstance(exc, Retryable):
        after_s = _number_of_seconds(exc.after_s)
        kind = ErrorKind.RETRYABLE if after_s is None else ErrorKind.RATE_LIMITED
        return _failure(exc, kind, after_s)
    if isinstance(exc, Permanent):
        return _failure(exc, ErrorKind.PERMANENT)
    if isinstance(exc, Ambiguous):
        return _failure(exc, ErrorKind.AMBIGUOUS)
    unclear = effect in (Effect.CHECKED, Effect.ONCE) or (
        MEANINGS[effect].leaves_us and _lost_connection(exc)
    )
    kind = ErrorKind.AMBIGUOUS if unclear else ErrorKind.RETRYABLE
    return _failure(exc, kind, declared=False)


def next_move(
    policy: RetryPolicy, failure: Failure, *, effect: Effect, attempt: int, dice: float
) -> Move:
    """Say what follows a failed call.

    =============  ===========  ============  =========================  ========================
    effect         permanent    rate limited  retryable                  ambiguous
    =============  ===========  ============  =========================  ========================
    read, local    give up      retry         retry                      retry
    keyed          give up      retry         retry                      retry, same id
    checked        give up      retry         check                      check
    once           give up      retry         retry (nothing was sent)   in doubt
    =============  ===========  ============  =========================  ========================

    After the last attempt a retry becomes giving up, except where nobody knows whether a `keyed`
    write took effect (ambiguous, or the tool did not say): a person must not be told that it
    failed. A check is always made, because it alone tells the outcome; whether to call again after
    it is `next_move` of its own answer.

    Args:
        policy: The manifest's, with the tool's own `attempts`.
        failure: From `classify`.
        effect: The class that holds now, see `effects.effect_now`.
        attempt: Attempts made so far, 1 after the first.
        dice: In [0, 1).

    """
    if failure.kind is ErrorKind.PERMANENT:
        return GiveUp(f"it failed for good: {failure.message}")
    if failure.kind is ErrorKind.AMBIGUOUS and effect is Effect.ONCE:
        return InDoubt(f"it may have happened, and it must not happen twice: {failure.message}")
    pause_s = _pause_s(policy, failure, attempt, dice)
    if effect is Effect.CHECKED and failure.kind is not ErrorKind.RATE_LIMITED:
        return Check(pause_s)
    if attempt < policy.attempts:
        return Retry(pause_s)
    attempts = "1 attempt" if attempt == 1 else f"{attempt} attempts"
    if effect is Effect.KEYED and (failure.kind is ErrorKind.AMBIGUOUS or not failure.declared):
        return InDoubt(f"after {attempts} nobody knows whether it happened: {failure.message}")
    return GiveUp(f"{attempts} failed: {failure.message}")


def _pause_s(policy: RetryPolicy, failure: Failure, attempt: int, dice: float) -> float:
    """Give the pause: never before the time the downstream named, nor all at that instant."""
    if failure.after_s is None:
        return delay_s(policy, attempt, dice)
    return min(failure.after_s, policy.cap_s) + dice * policy.first_s


def _failure(
    exc: BaseException, kind: ErrorKind, after_s: float | None = None, *, declared: bool = True
) -> Failure:
    return Failure(kind, after_s, safe_text(exc), type_name(exc), declared)


def _lost_connection(exc: BaseException) -> bool:
    if isinstance(exc, TimeoutError | ConnectionError | EOFError):
        return True
    return any(base.__name__ in _LOST_CONNECTION_NAMES for base in type(exc).__mro__)


def _number_of_seconds(value: object) -> float | None:
    if isinstance(value, str) and _SECONDS.fullmatch(value.strip()):
        return float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if 0 <= value <= _WEEK_S else _beyond(value)
    return None


def _beyond(value: float) -> float | None:
    """Give the longest pause for a number beyond it, None for negative ones, NaN and infinity."""
    return float(_WEEK_S) if value > _WEEK_S and value != math.inf else None


def _seconds_until(text: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    if moment.tzinfo is None:  # the oldest form of an HTTP date names no zone and means GMT
        moment = moment.replace(tzinfo=UTC)
    return max((moment - now).total_seconds(), 0.0)
