"""Pieces of pages that depend on a few small values and nothing else: drawn once for each of them.

A lamp, a station of the track or a piece of rail is the same for everybody who reads a language;
open pages ask for them hundreds of times a second.
"""

import html
from collections.abc import Hashable
from functools import lru_cache
from typing import Final

from django.template.loader import get_template
from django.utils.safestring import SafeString
from django.utils.translation import get_language

_KEPT: Final = 4096


class FinishedMarkup(TypeError):
    """A piece was given markup instead of text.

    Args:
        called: The name of the value.
    """

    def __init__(self, called: str) -> None:
        super().__init__(f"{called} is finished markup: give its text, the piece escapes it")


def drawn(name: str, /, **values: Hashable) -> SafeString:
    """Give a piece as it is drawn for these values in the present language.

    Values are told apart by their type as well: `True`, `1` and `1.0` are equal and look different.
    Must hold: the template shows nothing but them: no time, no zone, no request, no person; and
    what a value holds itself has always the same types, as the fields of a dataclass have.

    Args:
        name: Of the template.
        values: What it shows, by the names it calls them; text, not markup.

    Raises:
        FinishedMarkup: A value is finished markup; a word is none, also where a template holds it.
    """
    told = [(called, _text(called, value)) for called, value in values.items()]
    return _drawn(name, get_language(), tuple((called, type(one), one) for called, one in told))


def _text(called: str, value: Hashable) -> Hashable:
    """Give a value as it is escaped where it is shown; Django calls a template's own words safe."""
    if not isinstance(value, SafeString):
        return value
    if html.escape(value) != value:
        raise FinishedMarkup(called)
    return "".join(value)


@lru_cache(maxsize=_KEPT)
def _drawn(
    name: str,
    language: str | None,  # noqa: ARG001 (the template speaks it)
    values: tuple[tuple[str, type, Hashable], ...],
) -> SafeString:
    return SafeString(get_template(name).render({called: one for called, _type, one in values}))
