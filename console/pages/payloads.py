"""Payloads as text for people: indented like JSON, never more than asked for, never markup.

What JSON has no word for (bytes, instants, a value that could not be stored, a reference to
something large) is shown as what it is.  Not an encoding: see `runtime.core.payloads`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext as _

from console.pages.words import size
from runtime.core.payload_views import summarise

SHOWN_CHARS: Final = 64 * 1024
_DEPTH: Final = 40
_INDENT: Final = "  "


@dataclass(frozen=True, slots=True)
class Shown:
    """The text of a payload; `note` says how much is missing, if any is."""

    text: str
    note: str = ""


def shown(value: object, limit_chars: int | None = SHOWN_CHARS) -> Shown:
    """Give the text of a payload.

    Args:
        value: Any decoded payload.
        limit_chars: Show about so much of it; None for all.
    """
    if isinstance(value, str):
        return _cut(value, limit_chars)
    parts: list[str] = []
    room = limit_chars
    for part in _write(value, 0):
        parts.append(part)
        if room is not None:
            room -= len(part)
            if room < 0:
                # One long text alone may be larger than all that is wanted.
                text = "".join(parts)[:limit_chars]
                note = _("the first %(size)s are shown") % {"size": size(limit_chars or 0)}
                return Shown(text, note)
    return Shown("".join(parts))


def _cut(text: str, limit_chars: int | None) -> Shown:
    if limit_chars is None or len(text) <= limit_chars:
        return Shown(text)
    sizes = {"shown": size(limit_chars), "all": size(len(text.encode()))}
    return Shown(text[:limit_chars], _("%(shown)s of %(all)s are shown") % sizes)


def _write(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, Mapping) and value and depth < _DEPTH:
        yield from _lines("{", "}", depth, ((f"{_leaf(str(k))}: ", v) for k, v in value.items()))
    elif isinstance(value, list | tuple) and value and depth < _DEPTH:
        yield from _lines("[", "]", depth, (("", item) for item in value))
    else:
        yield _leaf(value)


def _lines(opens: str, closes: str, depth: int, items: Iterator[tuple[str, Any]]) -> Iterator[str]:
    pad, comma = "\n" + _INDENT * (depth + 1), opens
    for head, item in items:
        yield f"{comma}{pad}{head}"
        yield from _write(item, depth + 1)
        comma = ","
    yield f"\n{_INDENT * depth}{closes}"


def _leaf(value: Any) -> str:
    if value is None or isinstance(value, str | bool):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping) and not value:
        return "{}"
    if isinstance(value, list | tuple) and not value:
        return "[]"
    return summarise(value, 2000)
