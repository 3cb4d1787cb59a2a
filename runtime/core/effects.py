"""What a tool does to the world, as declared by its author.

Two small vocabularies and the one table that says what each effect class allows after an unknown
outcome. It decides nothing itself: `runtime.core.retry` turns a row of the table into a move, tools
and pages quote it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


class Effect(StrEnum):
    """How far a call of a tool reaches, and so what a retry of it would do."""

    READ = "read"
    LOCAL = "local"
    KEYED = "keyed"
    CHECKED = "checked"
    ONCE = "once"


class Touch(StrEnum):
    """What a write touches; each of these asks a person unless the manifest waives it."""

    MESSAGE = "message"
    DELETE = "delete"
    MONEY = "money"
    RIGHTS = "rights"


class Unknown(StrEnum):
    """What may be done when nobody knows whether a call took effect."""

    CALL_AGAIN = "call_again"
    SAME_ID = "same_id"
    CHECK_FIRST = "check_first"
    ASK = "ask"


@dataclass(frozen=True, slots=True)
class Meaning:
    """One row of the table of effects."""

    effect: Effect
    is_write: bool
    leaves_us: bool
    """Whether the effect lives outside our database, so that a rollback does not undo it."""
    summary: str
    when_unknown: Unknown


MEANINGS: Final[Mapping[Effect, Meaning]] = MappingProxyType(
    {
        row.effect: row
        for row in (
            Meaning(
                Effect.READ,
                is_write=False,
                leaves_us=False,
                summary="has no side effect",
                when_unknown=Unknown.CALL_AGAIN,
            ),
            Meaning(
                Effect.LOCAL,
                is_write=True,
                leaves_us=False,
                summary="writes only in our database, in the commit of its own step",
                when_unknown=Unknown.CALL_AGAIN,
            ),
            Meaning(
                Effect.KEYED,
                is_write=True,
                leaves_us=True,
                summary="the downstream de-duplicates by our operation id",
                when_unknown=Unknown.SAME_ID,
            ),
            Meaning(
                Effect.CHECKED,
                is_write=True,
                leaves_us=True,
                summary="a check tells whether an operation id took effect",
                when_unknown=Unknown.CHECK_FIRST,
            ),
            Meaning(
                Effect.ONCE,
                is_write=True,
                leaves_us=True,
                summary="can neither be de-duplicated nor checked",
                when_unknown=Unknown.ASK,
            ),
        )
    }
)


def effect_now(
    effect: Effect, *, age_s: float, key_ttl_s: float | None, has_check: bool = False
) -> Effect:
    """Give the class that holds for an operation of this age.

    A downstream that forgets keys after `key_ttl_s` would treat a later call as a new one,
    so a `keyed` operation older than that is `checked` when the tool has a check, else
    `once`.

    Args:
        effect: The declared class.
        age_s: Seconds since the operation was first dispatched.
        key_ttl_s: Seconds the downstream remembers a key; None means for ever.
        has_check: Whether the tool names a check.

    """
    if effect is not Effect.KEYED or key_ttl_s is None or age_s < key_ttl_s:
        return effect
    return Effect.CHECKED if has_check else Effect.ONCE
