"""What a drill decides by itself: the order of its faults, and its verdict."""

from collections import Counter
from itertools import islice
from typing import Any

import pytest

from runtime.examples.aftersales.drill.faults import VARIANTS, Kind, sequence
from runtime.examples.aftersales.drill.verdict import Verdict, quantiles
from runtime.examples.aftersales.shop.books import Comparison, Effect


def test_the_same_seed_gives_the_same_faults() -> None:
    one, two, other = (list(islice(sequence(Kind, seed), 50)) for seed in (7, 7, 8))

    assert one == two
    assert one != other


def test_every_kind_comes_before_one_comes_again() -> None:
    faults = list(islice(sequence(Kind, 3), 4 * len(Kind)))

    for start in range(0, len(faults), len(Kind)):
        assert {fault.kind for fault in faults[start : start + len(Kind)]} == set(Kind)


def test_every_variant_of_a_kind_comes_before_one_comes_again() -> None:
    number = len(VARIANTS[Kind.DOWNSTREAM])
    faults = islice(sequence({Kind.DOWNSTREAM}, 3), 2 * number)

    assert Counter(fault.variant for fault in faults) == dict.fromkeys(VARIANTS[Kind.DOWNSTREAM], 2)


def test_without_kinds_nothing_strikes() -> None:
    assert list(sequence(set(), 1)) == []


@pytest.mark.parametrize(
    ("seconds", "p50", "p95", "longest"),
    [
        ([], None, None, None),
        ([2.0], 2.0, 2.0, 2.0),
        ([float(n) for n in range(1, 21)], 10, 19, 20),
    ],
)
def test_quantiles_are_values_that_were_measured(
    seconds: list[float], p50: float | None, p95: float | None, longest: float | None
) -> None:
    assert quantiles(seconds) == {"p50": p50, "p95": p95, "max": longest}


def _verdict(**changed: Any) -> Verdict:
    effect = Effect("mail", "A-1")
    books = Comparison(
        expected=2,
        seen=2,
        duplicates=(effect,) * changed.pop("duplicates", 0),
        lost=(effect,) * changed.pop("lost", 0),
        unexpected=(effect,) * changed.pop("unexpected", 0),
    )
    fields: dict[str, Any] = {
        "seed": 1,
        "wanted": 2,
        "tasks": 2,
        "states": {"terminated_success": 2},
        "terminal": 2,
        "steps": 9,
        "stuck": 0,
        "books": books,
        "answered": {"question": 1},
        "faults": {"worker": 1},
        "recovery_s": [0.5],
        "fence_refusals": 0,
        "problems": [],
        "restarts": 0,
        "seconds": 1.0,
    }
    return Verdict(**(fields | changed))


@pytest.mark.parametrize(
    ("changed", "failure"),
    [
        ({"tasks": 1}, "1 requests could not be sent in time"),
        ({"stuck": 1}, "1 tasks are stuck"),
        ({"duplicates": 1}, "1 effects happened twice"),
        ({"lost": 2}, "2 effects are missing from the books"),
        ({"unexpected": 1}, "1 effects nobody asked for"),
        ({"problems": ["seq 3 is missing"]}, "1 contradictions between events and state"),
    ],
)
def test_each_broken_invariant_alone_fails_the_drill(changed: dict[str, Any], failure: str) -> None:
    verdict = _verdict(**changed)

    assert not verdict.held
    assert verdict.failures == [failure]


def test_a_drill_that_held_says_so_in_the_words_of_the_contract() -> None:
    verdict = _verdict()

    assert verdict.held
    shown = verdict.as_json()
    assert list(shown)[:13] == [
        *("tasks", "terminal", "steps", "effects_expected", "effects_seen", "duplicates", "lost"),
        *("stuck", "fold_mismatches", "answered", "faults", "recovery_s", "fence_refusals"),
    ]
    assert shown["recovery_s"] == {"p50": 0.5, "p95": 0.5, "max": 0.5}
