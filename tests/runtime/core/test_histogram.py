"""Quantiles from classes: within the right class, never finer, and nothing from nothing."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.core.histogram import BEYOND, quantile

BOUNDS = (1.0, 5.0, 15.0, 60.0)


def test_nothing_observed_has_no_quantile() -> None:
    assert quantile({}, 0.5, BOUNDS) is None
    assert quantile({5.0: 0}, 0.95, BOUNDS) is None


def test_a_quantile_lies_in_the_class_of_its_observation_even_when_others_are_empty() -> None:
    found = quantile({60.0: 10}, 0.5, BOUNDS)

    assert found is not None
    assert 15.0 < found < 60.0


def test_what_lies_beyond_all_bounds_is_told_as_at_least_the_highest() -> None:
    assert quantile({1.0: 1, BEYOND: 9}, 0.95, BOUNDS) == 60.0


def test_a_class_of_former_bounds_still_counts() -> None:
    found = quantile({30.0: 4}, 0.5, BOUNDS)

    assert found is not None
    assert 15.0 < found < 30.0


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.floats(min_value=0.001, max_value=59.0), min_size=1, max_size=200),
    st.floats(min_value=0.01, max_value=1.0),
)
def test_a_quantile_is_never_outside_the_class_of_the_true_one(
    values: list[float], share: float
) -> None:
    counts: dict[float, int] = {}
    for value in values:
        bound = min(bound for bound in BOUNDS if value <= bound)
        counts[bound] = counts.get(bound, 0) + 1
    ordered = sorted(values)
    rank = next(n for n in range(1, len(values) + 1) if n >= share * len(values))
    true = ordered[rank - 1]

    found = quantile(counts, share, BOUNDS)

    bound = min(bound for bound in BOUNDS if true <= bound)
    lower = max([0.0, *(one for one in BOUNDS if one < bound)])
    assert found is not None
    assert lower <= found <= bound * (1 + 1e-9)
