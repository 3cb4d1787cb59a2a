"""The payload gate: nothing raises, every loss is bounded and marked."""

from __future__ import annotations

import dataclasses
import enum
import json
import pickle
import sys
from collections import namedtuple
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from runtime.core.payloads import (
    ArtifactRef,
    Encoded,
    Unstorable,
    decode,
    encode,
)


class Colour(enum.Enum):
    RED = "red"
    PAIR = (1, 2)


@dataclasses.dataclass
class Box:
    inside: object
    lid: str = "shut"


Point = namedtuple("Point", "x y")  # noqa: PYI024 - the untyped kind is the one under test


def _strict(text: str) -> Any:
    """Parse as the strictest readers do."""

    def refuse(word: str) -> NoReturn:
        pytest.fail(f"bare word {word}")

    assert "\x00" not in text
    text.encode()  # no lone surrogate
    parsed = json.loads(text, parse_constant=refuse, parse_int=_safe_int)
    assert not _bad_strings(parsed)
    return parsed


def _safe_int(digits: str) -> int:
    assert abs(int(digits)) < 2**53
    return int(digits)


def _bad_strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value] if any(c == "\x00" or "\ud800" <= c <= "\udfff" for c in value) else []
    if isinstance(value, dict):
        return [bad for pair in value.items() for one in pair for bad in _bad_strings(one)]
    return [bad for one in value for bad in _bad_strings(one)] if isinstance(value, list) else []


def _kinds(encoded: Encoded) -> list[str]:
    return [mark.kind for mark in encoded.marks]


class Explodes:
    """Raises from everything it is asked."""

    def __repr__(self) -> str:
        raise RuntimeError

    __str__ = __repr__

    def __iter__(self) -> Iterator[int]:
        raise RuntimeError

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)


class HostileDict(dict[str, int]):
    def items(self) -> NoReturn:
        raise RuntimeError

    keys = values = __iter__ = items


class HostileModel(BaseModel):
    a: int = 1

    def model_dump(self, **_: Any) -> NoReturn:
        raise SystemExit


class Liar:
    @property  # type: ignore[misc]
    def __class__(self) -> NoReturn:  # type: ignore[override]
        raise RuntimeError


class Endless(list[int]):
    def __iter__(self) -> Iterator[int]:
        while True:
            yield 1


class BadMessage(Exception):
    def __str__(self) -> str:
        raise ValueError


class NumberLike:
    """The shape of a numpy scalar."""

    dtype = "float64"

    def __init__(self, plain: object) -> None:
        self.plain = plain

    def tolist(self) -> object:
        return self.plain


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (object, "object"),
        (Explodes, "object"),
        (Liar, "failing"),
        (HostileModel, "failing"),
        (BadMessage, "exception"),
        (lambda: ValueError("boom"), "exception"),
        (lambda: (n for n in range(3)), "iterator"),
        (lambda: iter([1]), "iterator"),
        (lambda: open, "object"),
        (lambda: int, "object"),
        (lambda: NumberLike(object()), "object"),
    ],
)
def test_what_cannot_be_stored_leaves_a_preview_and_a_mark(
    make: Callable[[], object], kind: str
) -> None:
    value = make()

    encoded = encode({"a": [value]})

    left = decode(encoded.text)["a"][0]

    _strict(encoded.text)
    assert isinstance(left, Unstorable)
    assert left.kind == kind
    assert (encoded.marks[-1].path, encoded.marks[-1].kind) == ("$.a[0]", "unstorable")
    assert encode(decode(encoded.text)).text == encoded.text
    assert pickle.loads(pickle.dumps(left)) == left  # noqa: S301 - our own bytes


def test_a_failing_part_takes_nothing_else_with_it() -> None:
    back = decode(encode({"before": 1, "bad": Explodes(), "after": Decimal(2)}).text)

    assert (back["before"], back["after"]) == (1, Decimal(2))


def test_hostile_subclasses_are_read_past_their_own_methods() -> None:
    assert decode(encode(HostileDict(a=1)).text) == {"a": 1}
    assert decode(encode(Endless([1, 2])).text) == [1, 2]


def test_a_generator_is_not_consumed() -> None:
    numbers = iter([1, 2])

    encode(numbers)

    assert list(numbers) == [1, 2]


def test_scalars_and_arrays_of_a_numeric_library_come_back_plain() -> None:
    values = [NumberLike(1.5), NumberLike([1, [2]]), NumberLike(True)]  # noqa: FBT003 - the value itself

    assert decode(encode(values).text) == [1.5, [1, [2]], True]


def test_a_cycle_is_cut_where_it_closes() -> None:
    ring: dict[str, Any] = {"a": 1}
    ring["self"] = [ring] * 10

    encoded = encode(ring)

    assert decode(encoded.text)["self"][9].kind == "cycle"


def test_a_hundred_thousand_nested_lists_are_cut_at_the_depth_limit() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]

    encoded = encode(nested)

    assert encoded.size < 1000
    assert _kinds(encoded) == ["unstorable"]
    assert encode(decode(encoded.text)).text == encoded.text


def test_the_deepest_allowed_level_is_the_same_on_both_ways() -> None:
    plain: Any = 1
    for _ in range(64):
        plain = [plain]

    assert encode(plain).marks == ()
    assert _kinds(encode([plain])) == ["unstorable"]


def test_a_structure_of_shared_parts_cannot_grow_without_end() -> None:
    shared: list[Any] = ["leaf"]
    for _ in range(50):
        shared = [shared, shared]

    encoded = encode(shared, max_items=1000)

    assert encoded.size < 20_000
    assert "unstorable" in _kinds(encoded)


def test_a_text_repeated_by_reference_counts_each_time() -> None:
    page = "x" * 1000

    encoded = encode([page] * 100, max_chars=10_500)

    back = decode(encoded.text)
    assert back[:10] == [page] * 10
    assert all(isinstance(left, Unstorable) for left in back[10:])


def test_encoding_works_with_the_stack_all_but_used_up() -> None:
    def dive(depth: int) -> Encoded:
        return encode([Decimal(1)]) if depth == 0 else dive(depth - 1)

    here = len(__import__("inspect").stack(0))
    for spare in range(5, 60):
        assert decode(dive(sys.getrecursionlimit() - here - spare).text) is not None


def test_marks_are_bounded_and_say_how_many_were_left_out() -> None:
    encoded = encode([float("nan")] * 1000)

    assert len(encoded.marks) == 51
    assert encoded.marks[-1].note == "950 more marks were left out"


def test_keys_that_would_collide_after_storing_are_kept_apart() -> None:
    value = {Colour.RED: 1, "red": 2, Box: 3}

    back = decode(encode(value).text)

    assert len(back) == 3
    assert encode(back).text == encode(value).text


_any_text = st.text(st.characters(exclude_categories=[]), max_size=6)
_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(2**53 - 2, 2**53 + 2),
    st.floats(),
    _any_text,
    st.sampled_from(["$", "\x00", "\ud835", "\\0", "\\", "…"]),
    st.decimals().filter(lambda number: not number.is_snan()),
    st.fractions(),
    st.complex_numbers(),
    st.binary(max_size=5),
    st.datetimes(timezones=st.none() | st.timezones()),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.uuids(),
    st.sampled_from([Colour.RED, Colour.PAIR, Path("a"), range(3), object, ValueError("x")]),
    st.sampled_from([Unstorable("a\x00", "b", "\ud835"), ArtifactRef("h", 3, "p", "k")]),
)
_keys = st.recursive(
    _scalars, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=3
)
_values = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(_any_text, inner, max_size=3),
        st.dictionaries(_keys, inner, max_size=3),
        st.sets(_keys, max_size=3),
        st.builds(Box, inner),
    ),
    max_leaves=10,
)
_thorough = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))


@_thorough
@given(_values)
def test_any_value_is_storable_and_stable(value: object) -> None:
    encoded = encode(value)

    _strict(encoded.text)
    back = decode(encoded.text)
    assert encoded.size == len(encoded.text.encode())
    assert encode(back).text == encoded.text
    assert pickle.dumps(back)


@_thorough
@given(_values, st.integers(0, 4), st.integers(0, 6), st.integers(0, 40))
def test_a_cut_value_is_stable_too(value: object, depth: int, items: int, chars: int) -> None:
    bounds = {"max_depth": depth, "max_items": items, "max_chars": chars}

    text = encode(value, **bounds).text

    _strict(text)
    assert encode(decode(text), **bounds).text == text
