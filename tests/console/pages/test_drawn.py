"""Pieces that are drawn once: for each of their values, and in each language."""

import pytest
from django.utils.safestring import mark_safe
from django.utils.translation import override

from console.pages.drawn import FinishedMarkup, drawn


def test_a_piece_is_drawn_anew_for_other_values_and_in_another_language() -> None:
    with override("en"):
        english = drawn("components/effect.html", effect="keyed", kind="write")
        read = drawn("components/effect.html", effect="keyed", kind="call")
        again = drawn("components/effect.html", effect="keyed", kind="write")
    with override("zh-hans"):
        chinese = drawn("components/effect.html", effect="keyed", kind="write")

    assert again is english
    assert read != english
    assert chinese != english


def test_what_a_piece_shows_is_escaped_once() -> None:
    shown = drawn("components/effect.html", effect="<b>", kind="call")

    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown


@pytest.mark.parametrize("widths", [(1, 1.0, True), (True, 1.0, 1)])
def test_values_that_are_equal_and_look_different_are_drawn_each(
    widths: tuple[int | float, ...],
) -> None:
    shown = [drawn("components/bar.html", width=width, kind="fact") for width in widths]

    for width, bar in zip(widths, shown, strict=True):
        assert f'width="{width}"' in bar


def test_finished_markup_is_refused_also_where_its_text_was_drawn_before() -> None:
    drawn("components/effect.html", effect="<b>", kind="call")

    with pytest.raises(FinishedMarkup, match="effect"):
        drawn("components/effect.html", effect=mark_safe("<b>"), kind="call")


def test_a_word_of_a_template_is_the_same_word_as_one_of_ours() -> None:
    ours = drawn("components/lamp.html", kind="stop")

    assert drawn("components/lamp.html", kind=mark_safe("stop")) is ours
