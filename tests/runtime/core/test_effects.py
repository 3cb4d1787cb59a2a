"""The table of effect classes is complete, and a key that may be forgotten protects nothing."""

from __future__ import annotations

import pytest

from runtime.core.effects import MEANINGS, Effect, Touch, Unknown, effect_now


def test_every_effect_has_its_meaning() -> None:
    assert set(MEANINGS) == set(Effect)
    assert all(row.effect is effect for effect, row in MEANINGS.items())


def test_only_what_leaves_us_unprotected_asks_a_person() -> None:
    asking = [effect for effect, row in MEANINGS.items() if row.when_unknown is Unknown.ASK]

    assert asking == [Effect.ONCE]
    assert not MEANINGS[Effect.LOCAL].leaves_us


def test_the_words_of_the_contract_are_the_values() -> None:
    assert [str(effect) for effect in Effect] == ["read", "local", "keyed", "checked", "once"]
    assert {str(touch) for touch in Touch} == {"message", "delete", "money", "rights"}


@pytest.mark.parametrize(
    ("age_s", "key_ttl_s", "has_check", "then"),
    [
        (1e9, None, False, Effect.KEYED),
        (86_399, 86_400, False, Effect.KEYED),
        (86_400, 86_400, False, Effect.ONCE),
        (86_400, 86_400, True, Effect.CHECKED),
    ],
)
def test_a_key_older_than_the_downstream_remembers_is_no_key(
    age_s: float,
    key_ttl_s: float | None,
    has_check: bool,  # noqa: FBT001 - a column of the table above
    then: Effect,
) -> None:
    now = effect_now(Effect.KEYED, age_s=age_s, key_ttl_s=key_ttl_s, has_check=has_check)

    assert now is then


def test_other_effects_do_not_age() -> None:
    others = [effect for effect in Effect if effect is not Effect.KEYED]

    assert [effect_now(one, age_s=1e9, key_ttl_s=1) for one in others] == others
