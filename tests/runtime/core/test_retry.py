"""Retries: kinds of failure, pauses, and the table of next moves, row by row."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from runtime.core.effects import Effect
from runtime.core.errors import Ambiguous, Permanent, Retryable
from runtime.core.retry import (
    Check,
    ErrorKind,
    Failure,
    GiveUp,
    InDoubt,
    Move,
    Retry,
    RetryPolicy,
    classify,
    delay_s,
    next_move,
    retry_after_s,
)

POLICY = RetryPolicy()
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


# --- pauses ---------------------------------------------------------------------------------------


def test_pauses_double_up_to_the_cap() -> None:
    longest = [delay_s(POLICY, attempt, 1.0) for attempt in range(1, 9)]

    assert longest == [1, 2, 4, 8, 16, 32, 60, 60]


@given(st.integers(0, 10**9), st.floats(0, 1, exclude_max=True), st.floats(1, 10))
def test_a_pause_lies_between_nothing_and_the_cap(attempt: int, dice: float, factor: float) -> None:
    policy = RetryPolicy(factor=factor, first_s=0.5, cap_s=30)

    assert 0 <= delay_s(policy, attempt, dice) <= 30


def test_full_jitter_uses_the_whole_pause() -> None:
    assert [delay_s(POLICY, 3, dice) for dice in (0.0, 0.25, 0.5)] == [0, 1, 2]


@pytest.mark.parametrize(
    "wrong",
    [
        {"attempts": 0},
        {"attempts": "3"},
        {"attempts": True},
        {"first_s": -1},
        {"first_s": float("nan")},
        {"factor": 0.5},
        {"cap_s": float("inf")},
        {"wait": 1},
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        RetryPolicy.model_validate(wrong)


# --- Retry-After ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "pause_s"),
    [
        ("120", 120),
        (" 7 ", 7),
        ("0", 0),
        ("1.5", 1.5),
        (3, 3),
        (2.5, 2.5),
        ("86400", 3600),
        (86_400, 3600),
        ("9" * 18, 3600),
        (10.0**300, 3600),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90),
        (format_datetime(NOW - timedelta(seconds=90), usegmt=True), 0),
        (format_datetime(NOW + timedelta(days=9), usegmt=True), 3600),
        ("Thursday, 01-Jan-26 12:01:30 GMT", 90),
        ("Thu Jan  1 12:01:30 2026", 90),
        ("soon", None),
        ("-1", None),
        (-1, None),
        ("", None),
        (None, None),
        ("1_000", None),
        ("١٢", None),
        ("nan", None),
        ("inf", None),
        (float("nan"), None),
        (float("inf"), None),
        ("9" * 5000, None),
        ("Thu, 99 Jan 2026 12:00:00 GMT", None),
        ("\x00", None),
    ],
)
def test_retry_after_is_kept_capped_or_ignored(
    header: str | float | None, pause_s: float | None
) -> None:
    assert retry_after_s(header, NOW, cap_s=3600) == pause_s


@given(st.text() | st.floats() | st.integers())
def test_no_header_breaks_it(header: str | float) -> None:
    pause_s = retry_after_s(header, NOW, cap_s=60)

    assert pause_s is None or 0 <= pause_s <= 60


# --- kinds ----------------------------------------------------------------------------------------


class TransportError(Exception):
    """Named like the root class of httpx."""


class ReadError(TransportError):
    pass


class Unsayable(Exception):
    def __str__(self) -> str:
        raise ValueError


R, P, L, A = (
    ErrorKind.RETRYABLE,
    ErrorKind.PERMANENT,
    ErrorKind.RATE_LIMITED,
    ErrorKind.AMBIGUOUS,
)


@pytest.mark.parametrize(
    ("exc", "kinds"),  # for read, local, keyed, checked, once
    [
        (Retryable("busy"), [R, R, R, R, R]),
        (Retryable("slow down", after_s=5), [L, L, L, L, L]),
        (Retryable("junk", after_s=float("nan")), [R, R, R, R, R]),
        (Retryable("junk", after_s=-1), [R, R, R, R, R]),
        (Permanent("no such order"), [P, P, P, P, P]),
        (Ambiguous("no answer"), [A, A, A, A, A]),
        (ValueError("bug"), [R, R, R, A, A]),
        (Unsayable(), [R, R, R, A, A]),
        (TimeoutError(), [R, R, A, A, A]),
        (ConnectionResetError(), [R, R, A, A, A]),
        (ReadError(), [R, R, A, A, A]),
        (asyncio.CancelledError(), [R, R, R, A, A]),
    ],
)
def test_what_an_exception_means_depends_on_the_effect(
    exc: BaseException, kinds: list[ErrorKind]
) -> None:
    assert [classify(exc, effect).kind for effect in Effect] == kinds


def test_only_what_the_tool_said_itself_is_declared() -> None:
    assert classify(Retryable("busy"), Effect.KEYED).declared
    assert not classify(ValueError("bug"), Effect.KEYED).declared


def test_a_failure_is_plain_data() -> None:
    failure = classify(Retryable("slow down", after_s=5), Effect.READ)

    assert failure == Failure(L, 5.0, "slow down", "runtime.core.error_base.Retryable")


# --- the table ------------------------------------------------------------------------------------

AGAIN, CHECK, DOUBT, UP = "retry", "check", "in doubt", "give up"
TABLE = [
    # effect          kind  first attempts  the last one
    (Effect.READ, R, AGAIN, UP),
    (Effect.READ, L, AGAIN, UP),
    (Effect.READ, A, AGAIN, UP),
    (Effect.READ, P, UP, UP),
    (Effect.LOCAL, R, AGAIN, UP),
    (Effect.LOCAL, L, AGAIN, UP),
    (Effect.LOCAL, A, AGAIN, UP),
    (Effect.LOCAL, P, UP, UP),
    (Effect.KEYED, R, AGAIN, UP),
    (Effect.KEYED, L, AGAIN, UP),
    (Effect.KEYED, A, AGAIN, DOUBT),
    (Effect.KEYED, P, UP, UP),
    (Effect.CHECKED, R, CHECK, CHECK),
    (Effect.CHECKED, L, AGAIN, UP),
    (Effect.CHECKED, A, CHECK, CHECK),
    (Effect.CHECKED, P, UP, UP),
    (Effect.ONCE, R, AGAIN, UP),
    (Effect.ONCE, L, AGAIN, UP),
    (Effect.ONCE, A, DOUBT, DOUBT),
    (Effect.ONCE, P, UP, UP),
]


def _named(move: Move) -> str:
    return {Retry: AGAIN, Check: CHECK, InDoubt: DOUBT, GiveUp: UP}[type(move)]


def test_the_table_covers_every_effect_and_kind() -> None:
    assert {(effect, kind) for effect, kind, *_ in TABLE} == {
        (effect, kind) for effect in Effect for kind in ErrorKind
    }


@pytest.mark.parametrize(("effect", "kind", "first", "last"), TABLE)
def test_the_next_move(effect: Effect, kind: ErrorKind, first: str, last: str) -> None:
    failure = Failure(kind, None, "why", "T")

    moves = [
        next_move(POLICY, failure, effect=effect, attempt=attempt, dice=0.5)
        for attempt in (1, 2, 3, 4)
    ]

    assert [_named(move) for move in moves] == [first, first, last, last]


def test_a_keyed_write_that_never_said_what_happened_ends_in_doubt() -> None:
    failure = classify(ValueError("bug after the request"), Effect.KEYED)

    move = next_move(POLICY, failure, effect=Effect.KEYED, attempt=3, dice=0.5)

    assert isinstance(move, InDoubt)
    assert move.reason == "after 3 attempts nobody knows whether it happened: bug after the request"


@given(st.sampled_from(Effect), st.integers(1, 5), st.floats(0, 1, exclude_max=True))
def test_a_once_write_is_never_repeated_unless_the_tool_says_nothing_was_sent(
    effect: Effect, attempt: int, dice: float
) -> None:
    for exc in (TimeoutError(), ValueError(), Ambiguous("?"), asyncio.CancelledError()):
        failure = classify(exc, Effect.ONCE)
        move = next_move(POLICY, failure, effect=Effect.ONCE, attempt=attempt, dice=dice)
        assert isinstance(move, InDoubt), effect


def test_a_rate_limit_is_never_left_early_and_not_by_all_at_once() -> None:
    failure = Failure(L, 30.0, "429", "T")

    pauses = [
        next_move(POLICY, failure, effect=Effect.READ, attempt=1, dice=dice) for dice in (0.0, 0.5)
    ]

    assert pauses == [Retry(30.0), Retry(30.5)]


def test_a_rate_limit_of_a_day_is_capped_by_the_policy() -> None:
    failure = Failure(L, 86_400.0, "429", "T")

    assert next_move(POLICY, failure, effect=Effect.READ, attempt=1, dice=0.0) == Retry(60.0)


def test_one_attempt_means_no_retry() -> None:
    move = next_move(
        RetryPolicy(attempts=1), Failure(R, None, "no", "T"), effect=Effect.READ, attempt=1, dice=0
    )

    assert move == GiveUp("1 attempt failed: no")
