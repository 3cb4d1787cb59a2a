"""Hostile and merely foreign text: shown as text, what hides is seen, honest names untouched."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from console.pages.payloads import SHOWN_CHARS, shown
from console.pages.text import visible, warnings
from runtime import api
from tests.agents_for_tests.hand import Hand

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "{{7*7}}",
    "{% load static %}",
    "</textarea></pre><b>",
    "refund \u202egnp.exe",
    "bob@\u0430pple.com",
    "a\u200bb",
    "\x1b[31mred\x1b[0m",
    "&lt;b&gt;",
    "\"'><svg/onload=alert(1)>",
    "[click](javascript:alert(1))",
    "w" * 10_000,
)
_HIDDEN = str.maketrans("", "", "\u202e\u200b\x1b")
HONEST = (
    "محمد علي",
    "שלום עולם",
    "नमस्ते क्‍ष",
    "می‌خواهم",
    "日本　語",
    "👩‍👩‍👧 ❤️",
    "Ångström",
    "Ελλάδα",
    "Привет",
)


@pytest.mark.parametrize("text", HONEST)
def test_names_of_every_script_stay_as_they_are(text: str) -> None:
    assert visible(text) == text
    assert warnings(text) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a\u202eb", "U+202E"),
        ("a\u2066b", "U+2066"),
        ("a\u200bb", "U+200B"),
        ("a\u200db", "U+200D"),
        ("a\ufeffb", "U+FEFF"),
        ("a\u00adb", "U+00AD"),
        ("a\u00a0b", "U+00A0"),
        ("a\u2028b", "U+2028"),
        ("a\x00b", "U+0000"),
        ("a\x1b[0m", "U+001B"),
        ("a\x7fb", "U+007F"),
        ("a\u3164b", "U+3164"),
        ("a\U000e0041b", "U+E0041"),
        ("a\ufe0fb", "U+FE0F"),
        ("a\ue000b", "U+E000"),
        ("محمد\u202eعلي", "U+202E"),
    ],
)
def test_what_cannot_be_seen_is_shown_by_its_code_point(text: str, code: str) -> None:
    assert f">{code}</span>" in visible(text)
    assert code in warnings(text)[0]


def test_letters_of_two_alphabets_in_one_word_are_marked_and_named() -> None:
    assert "cyrillic small letter a" in visible("bob@\u0430pple.com")
    assert "\u0430pple" in warnings("bob@\u0430pple.com")[0]


def test_markup_becomes_text() -> None:
    assert visible("<b>&amp;</b>") == "&lt;b&gt;&amp;amp;&lt;/b&gt;"


@given(st.text(max_size=200))
def test_whatever_comes_no_markup_comes_out(text: str) -> None:
    rest = str(visible(text))
    for ours in ('<span class="esc" title="', '<span class="mixed" title="', '">', "</span>"):
        rest = rest.replace(ours, "")

    assert "<" not in rest


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=30,
    )
)
def test_any_payload_has_a_text(value: Any) -> None:
    assert isinstance(shown(value).text, str)


def test_a_large_payload_is_cut_and_says_so_and_whole_where_somebody_decides() -> None:
    value = {"rows": ["x" * 1000] * 500}

    assert len(shown(value).text) < SHOWN_CHARS + 2000
    assert "65.5 kB" in shown(value).note
    assert shown(value, None).note == ""
    assert len(shown(value, None).text) > 500_000


def test_what_json_cannot_say_is_shown_as_what_it_is() -> None:
    text = shown({"n": float("nan"), "b": b"abc", "t": datetime(2026, 1, 1, tzinfo=UTC)}).text

    assert '"n": nan' in text
    assert "<3 bytes>" in text
    assert "2026-01-01" in text


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_every_field_that_others_fill_is_shown_as_text_on_every_page(
    text: str, operator: Client, submitted: Callable[..., UUID]
) -> None:
    asks, fails = (
        submitted(title=text, labels={"l": text[:50]}),
        submitted(title=text, key=text[:50]),
    )
    Hand(asks).start().read(result={text: text}).ask(text)
    Hand(fails).start().begin().fail(text)
    api.pause(fails, reason=text, by="human:ann")
    review_id = api.task(asks).review_id

    pages = [
        operator.get(address).content.decode()
        for address in (
            "/tasks/",
            f"/tasks/{asks}/",
            f"/tasks/{asks}/?lens=events",
            f"/tasks/{fails}/",
            f"/tasks/{asks}/parts/?after=0",
            "/reviews/",
            f"/reviews/{review_id}/",
        )
    ]

    # A search is echoed in its own field as it was typed, so that it can be changed.
    pages.append(operator.get("/tasks/", {"q": text[:20].translate(_HIDDEN)}).content.decode())
    for page in pages:
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "<svg/onload" not in page
        assert "</textarea></pre>" not in page
        assert "\u202e" not in page
        assert "\u200b" not in page
        assert "\x1b" not in page
        assert ">49<" not in page
