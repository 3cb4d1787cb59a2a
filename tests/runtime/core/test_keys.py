"""Digests and identities: equal calls are equal, different calls differ, whatever they contain."""

from __future__ import annotations

import json
import re
import unicodedata
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from runtime.core.keys import arguments_digest, call_id, canonical, digest, operation_id
from runtime.core.payloads import encode

KEY = b"k" * 32
CALL: dict[str, Any] = {
    "task_id": "0198c0de-0000-7000-8000-000000000001",
    "branch": 1,
    "step": 4,
    "ordinal": 0,
    "tool": "refund_order",
    "arguments_digest": "d" * 64,
}

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def _of(value: object) -> str:
    return arguments_digest(KEY, encode(value).text)


@given(_json)
def test_the_fast_form_is_rfc_8785(value: object) -> None:
    text = encode(value).text

    assert canonical(text) == rfc8785.dumps(json.loads(text))


@pytest.mark.parametrize(
    "value",
    [
        {"\U0001f600": 1, "\ufb33": 2},
        {"é": 1, "z": 2},
        {"a": 1e21, "b": 0.1},
        {"n": "1234567890123456789"},
        ['\x7f\u2028\\"/'],
    ],
)
def test_awkward_keys_and_numbers_are_rfc_8785_too(value: object) -> None:
    text = encode(value).text

    assert canonical(text) == rfc8785.dumps(json.loads(text))


@pytest.mark.parametrize("text", ["NaN", "[9007199254740992]", "{"])
def test_text_that_is_not_of_the_gate_has_no_canonical_form(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the family is the promise
        canonical(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": "b|c"}, {"a|b": "c"}),
        ({"n": 1}, {"n": "1"}),
        ({"n": 1}, {"n": True}),
        ({"n": 0}, {"n": False}),
        ({"n": None}, {}),
        ({"n": 40}, {"n": "40.0"}),
        ({"n": 40}, {"n": 40, "to": "x"}),
        ({"n": Decimal("1.10")}, {"n": Decimal("1.1")}),
        ({"n": Decimal("1.10")}, {"n": "1.10"}),
        ({"n": 2**53}, {"n": 2**53 + 1}),
        ({"n": 2**53}, {"n": str(2**53)}),
        ({"t": datetime(2026, 1, 1, tzinfo=UTC)}, {"t": "2026-01-01T00:00:00+00:00"}),
        ({"t": unicodedata.normalize("NFC", "é")}, {"t": unicodedata.normalize("NFD", "é")}),
        ({"t": "a\x00"}, {"t": "a\\0"}),
        ([1, [2]], [[1], 2]),
        ({}, []),
    ],
)
def test_these_arguments_differ(one: object, other: object) -> None:
    assert _of(one) != _of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}),
        ({"n": 40}, {"n": 40.0}),
        ({"n": 0.0}, {"n": -0.0}),
        ([1, 2], (1, 2)),
    ],
)
def test_these_arguments_are_the_same(one: object, other: object) -> None:
    assert _of(one) == _of(other)


@given(_json, _json)
def test_digests_are_equal_exactly_when_the_canonical_forms_are(one: object, other: object) -> None:
    same = canonical(encode(one).text) == canonical(encode(other).text)

    assert (_of(one) == _of(other)) is same


_fields = st.lists(st.none() | st.booleans() | st.integers() | st.text() | st.binary(), max_size=4)


@given(_fields, _fields)
def test_no_choice_of_fields_makes_two_lists_one(one: list[Any], other: list[Any]) -> None:
    same = [(type(field), field) for field in one] == [(type(field), field) for field in other]

    assert (digest(KEY, "x", *one) == digest(KEY, "x", *other)) is same


def test_a_field_cannot_pretend_to_be_two() -> None:
    assert digest(KEY, "x", "a", "b") != digest(KEY, "x", "as1:b")
    assert digest(KEY, "x", "") != digest(KEY, "x")
    assert digest(KEY, "x", "\ud835") != digest(KEY, "x", "?")


def test_kinds_and_namespaces_never_meet() -> None:
    assert digest(KEY, "payload", "a") != digest(KEY, "chain", "a")
    assert digest(KEY, "payload", "a") != digest(b"other", "payload", "a")


def test_the_digest_of_today_is_the_digest_of_tomorrow() -> None:
    """Stored digests outlive this version; whoever changes a form changes its domain too."""
    assert _of({"order_id": "A1", "amount_cents": 24_000}) == (
        "4e69cc71e2c0978a932013df18fcdc23ef6a9bb9436e0b73a7bc2e1c5b92d947"
    )
    assert operation_id(KEY, **CALL) == "op_3fe61df86049ae44623ce0af157fdd46"


def test_an_operation_id_has_a_form_other_systems_take() -> None:
    assert re.fullmatch(r"op_[0-9a-f]{32}", operation_id(KEY, **CALL))


def test_an_operation_id_is_stable_over_retries() -> None:
    assert operation_id(KEY, **CALL) == operation_id(KEY, **dict(reversed(CALL.items())))


@pytest.mark.parametrize("part", list(CALL))
def test_each_part_of_a_call_alone_makes_another_operation(part: str) -> None:
    value = CALL[part]

    changed = CALL | {part: value + 1 if isinstance(value, int) else f"{value}1"}

    assert operation_id(KEY, **changed) != operation_id(KEY, **CALL)


_calls = st.fixed_dictionaries(
    {
        "task_id": st.uuids(),
        "branch": st.integers(0, 20),
        "step": st.integers(0, 20),
        "ordinal": st.integers(0, 20),
        "tool": st.text("ab1.", min_size=1, max_size=3),
        "arguments_digest": st.text("01", max_size=3),
    }
)


@given(_calls, _calls)
def test_two_calls_share_an_operation_only_when_they_are_one(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert (operation_id(KEY, **one) == operation_id(KEY, **other)) is (one == other)


def test_two_updates_of_one_record_are_two_operations() -> None:
    one, other = (
        operation_id(KEY, **CALL | {"arguments_digest": _of({"invoice": 7, "email": email})})
        for email in ("a", "b")
    )

    assert one != other


def test_a_call_is_named_by_its_place() -> None:
    assert call_id(1, 4, 0) == "1.4.0"
