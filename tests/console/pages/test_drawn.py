"""Pieces that are drawn once: for each of their values, and in each language."""

from django.utils.translation import override

from console.pages.drawn import drawn


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
