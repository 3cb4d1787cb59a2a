"""Short texts about values of any size are valid, bounded and readable."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.core.payloads import (
    ArtifactRef,
    Encoded,
    Unstorable,
    encode,
    fits_inline,
    preview,
    summarise,
)


class Hostile(dict[str, int]):
    """Raises from whatever a summary may ask of it."""

    def items(self) -> NoReturn:
        raise RuntimeError

    def __repr__(self) -> str:
        raise RuntimeError


_values = st.recursive(
    st.one_of(
        st.none(),
        st.integers(),
        st.floats(),
        st.text(st.characters(exclude_categories=[])),
        st.binary(),
        st.decimals(),
        st.datetimes(),
        st.sampled_from([Unstorable("a\x00", "b", "\ud835"), ArtifactRef("\ud835", 3, "p", "k")]),
        st.builds(object),
    ),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def _bad_strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value] if any(c == "\x00" or "\ud800" <= c <= "\udfff" for c in value) else []
    if isinstance(value, dict):
        return [bad for pair in value.items() for one in pair for bad in _bad_strings(one)]
    return [bad for one in value for bad in _bad_strings(one)] if isinstance(value, list) else []


def _kinds(encoded: Encoded) -> list[str]:
    return [mark.kind for mark in encoded.marks]


def test_a_preview_states_the_whole_size() -> None:
    assert preview("a" * 12_000_000, 5) == "aaaaa… 12.0 MB in all"
    assert preview("é" * 10, 5) == "ééééé… 20 bytes in all"
    assert preview("short", 5) == "short"


@pytest.mark.parametrize("cluster", ["é", "👩\u200d👩\u200d👧", "👍🏽", "❤\ufe0f"])
def test_a_preview_never_ends_inside_one_visible_character(cluster: str) -> None:
    for limit in range(1, len(cluster)):
        assert preview(cluster + "tail", limit).startswith("… ")


def test_a_preview_of_text_that_cannot_be_stored_can_be_stored() -> None:
    assert preview("a\x00\ud835b") == "a\ufffd\ufffdb"
    preview("\ud835" * 1000, 10).encode()


def test_a_preview_of_an_encoded_value_takes_its_text() -> None:
    assert preview(encode({"a": Decimal(1)}), 5) == '{"a":… 29 bytes in all'


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ({"order_id": "A1", "total": "240.00 EUR"}, "{order_id: A1, total: 240.00 EUR}"),
        (None, "null"),
        ([True, 1.5, Decimal("1.10")], "[true, 1.5, 1.10]"),
        ("two\nlines", "two lines"),
        (b"123", "<3 bytes>"),
        (10**200, "<integer of 665 bits>"),
        (ArtifactRef("h", 2_000_000, "{rows", "payload"), "<2.0 MB payload: {rows>"),
        (Unstorable("object", "x.Y", "<Y>"), "<x.Y: <Y>>"),
        ({"a": {"b": {"c": {"d": {"e": 1}}}}}, "{a: {b: {c: {d: {…}}}}}"),
        (datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T00:00:00+00:00"),
        ({}, "{}"),
    ],
)
def test_a_summary_reads_like_a_note(value: object, line: str) -> None:
    assert summarise(value) == line


def test_a_summary_counts_what_it_does_not_show() -> None:
    assert summarise(list(range(1000)), 40).endswith(", … 993 more]")


def test_a_summary_never_shows_what_it_cannot_trust() -> None:
    assert summarise(Hostile(a=1)).endswith("Hostile>")
    assert summarise([1, object()]) == "[1, <object>]"


def test_small_payloads_stay_in_their_row() -> None:
    assert fits_inline(Encoded("", 32 * 1024))
    assert not fits_inline(Encoded("", 32 * 1024 + 1))


@given(_values, st.integers(1, 60))
def test_short_texts_about_any_value_are_valid_and_bounded(value: object, limit: int) -> None:
    line = summarise(value, limit)
    beginning = preview(value, limit)

    assert len(line) <= limit
    assert "\n" not in line
    assert not _bad_strings([line, beginning])
