"""Review items as data: every kind offers a way on and a way out, and says what each does."""

import pytest

from runtime.core.reviews import ALLOWED, MEANING, Decision, Kind, meaning


def test_every_kind_offers_decisions_and_among_them_to_end_the_task() -> None:
    assert set(ALLOWED) == set(Kind)
    for offered in ALLOWED.values():
        assert Decision.ABORT in offered
        assert len(offered) == len(set(offered)) >= 2


@pytest.mark.parametrize("kind", Kind)
def test_every_decision_that_is_offered_says_what_it_does(kind: Kind) -> None:
    for decision in ALLOWED[kind]:
        said = (kind, decision) in MEANING
        assert said is (decision is not Decision.ABORT)
        assert meaning(kind, decision)


def test_no_meaning_is_given_for_what_is_not_offered() -> None:
    assert all(decision in ALLOWED[kind] for kind, decision in MEANING)


def test_no_two_decisions_on_one_item_read_alike() -> None:
    for kind, offered in ALLOWED.items():
        assert len({meaning(kind, decision) for decision in offered}) == len(offered)
