"""The breaker: it opens on the downstream's failures, probes one at a time, spreads the return."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from runtime.core.breaker import (
    Admit,
    Breaker,
    BreakerPolicy,
    BreakerState,
    ParkUntil,
    admit,
    record,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POLICY = BreakerPolicy(threshold=3, open_s=30, factor=2, cap_s=100, probe_s=60, spread_s=5)


def _after(outcomes: str) -> Breaker:
    """Give the breaker after these calls: `x` failed, `.` answered."""
    breaker = Breaker()
    for outcome in outcomes:
        breaker = record(breaker, ok=outcome == ".", now=NOW, policy=POLICY)
    return breaker


def _later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def _probing(breaker: Breaker, now: datetime) -> Breaker:
    answer = admit(breaker, now, 0.0, POLICY)
    assert isinstance(answer, Admit)
    assert answer.is_probe
    return answer.breaker


def test_it_opens_after_consecutive_failures_only() -> None:
    assert _after("xx.xx").state is BreakerState.CLOSED
    assert _after("xxx").state is BreakerState.OPEN


def test_a_closed_breaker_lets_calls_pass_and_changes_nothing() -> None:
    breaker = _after("x")

    assert admit(breaker, NOW, 0.9, POLICY) == Admit(breaker)


def test_an_open_breaker_parks_tasks_spread_over_its_end() -> None:
    breaker = _after("xxx")

    answers = [admit(breaker, _later(10), dice, POLICY) for dice in (0.0, 0.5)]

    assert answers == [ParkUntil(_later(30)), ParkUntil(_later(32.5))]


def test_the_more_are_parked_the_longer_their_return_is_spread() -> None:
    breaker = _after("xxx")

    answer = admit(breaker, NOW, 0.5, POLICY, parked=1000)

    assert answer == ParkUntil(_later(30 + 50))


def test_one_probe_goes_and_the_others_wait_for_it() -> None:
    breaker = _after("xxx")

    probing = _probing(breaker, _later(30))

    assert admit(probing, _later(31), 0.0, POLICY) == ParkUntil(_later(90))


def test_a_probe_that_answers_closes_the_breaker() -> None:
    probing = _probing(_after("xxx"), _later(30))

    assert record(probing, ok=True, now=_later(31), policy=POLICY) == Breaker()


def test_a_probe_that_fails_opens_it_for_longer_up_to_the_cap() -> None:
    breaker, now, pauses = _after("xxx"), NOW, []
    for _ in range(4):
        assert breaker.until
        pauses.append((breaker.until - now).total_seconds())
        now = breaker.until
        breaker = record(_probing(breaker, now), ok=False, now=now, policy=POLICY)

    assert pauses == [30, 60, 100, 100]


def test_a_probe_that_never_answers_lets_another_go() -> None:
    probing = _probing(_after("xxx"), _later(30))

    assert _probing(probing, _later(90)).until == _later(150)


def test_a_late_answer_to_an_older_call_closes_nothing() -> None:
    breaker = _after("xxx")

    assert record(breaker, ok=True, now=_later(1), policy=POLICY) == breaker


def test_a_long_outage_overflows_nothing() -> None:
    breaker = replace(_after("xxx"), state=BreakerState.HALF_OPEN, openings=10**6)

    assert record(breaker, ok=False, now=NOW, policy=POLICY).until == _later(100)


_moves = st.lists(st.tuples(st.booleans(), st.floats(0, 100)), max_size=30)


@given(_moves)
def test_any_history_reads_back_and_never_locks_out_for_good(
    moves: list[tuple[bool, float]],
) -> None:
    breaker, now = Breaker(), NOW
    for ok, pause_s in moves:
        now += timedelta(seconds=pause_s)
        answer = admit(breaker, now, 0.5, POLICY)
        if isinstance(answer, Admit):
            breaker = record(answer.breaker, ok=ok, now=now, policy=POLICY)
        assert Breaker.from_dict(json.loads(json.dumps(breaker.as_dict()))) == breaker

    assert isinstance(admit(breaker, now + timedelta(seconds=1000), 0.5, POLICY), Admit)
