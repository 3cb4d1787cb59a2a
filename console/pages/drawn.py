"""Pieces of pages that depend on a few small values and nothing else: drawn once for each of them.

A lamp, a station of the track or a piece of rail is the same for everybody who reads a language;
open pages ask for them hundreds of times a second.
"""

from collections.abc import Hashable
from functools import lru_cache
from typing import Any, Final

from django.template.loader import get_template
from django.utils.safestring import SafeString
from django.utils.translation import get_language

_KEPT: Final = 4096


def drawn(name: str, /, **values: Hashable) -> SafeString:
    """Give a piece as it is drawn for these values in the present language.

    Must hold: the template shows nothing but them: no time, no zone, no request, no person.

    Args:
        name: Of the template.
        values: What it shows, by the names it calls them.
    """
    return _drawn(name, get_language(), tuple(values.items()))


@lru_cache(maxsize=_KEPT)
def _drawn(
    name: str,
    language: str | None,  # noqa: ARG001 (the template speaks it)
    values: tuple[tuple[str, Any], ...],
) -> SafeString:
    return SafeString(get_template(name).render(dict(values)))
