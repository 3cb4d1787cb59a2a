"""Short, always valid texts about values of any size, for logs, tables, prompts and review pages.

Nothing here raises, and nothing walks more of a value than it shows. Not an encoding: see
`runtime.core.payloads`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from pathlib import PosixPath, PurePath
from typing import Any, Final
from uuid import UUID

from runtime.core.error_text import GUARDED
from runtime.core.errors import clean_text, type_name
from runtime.core.payload_values import ArtifactRef, Encoded, Unstorable

_DEPTH: Final = 4
_KEY_CHARS: Final = 40
_ROOM_FOR_COUNT: Final = 20
"""Kept free at the end for `… 997 more`."""
_WORDS: Final[Mapping[bool | None, str]] = {None: "null", True: "true", False: "false"}
_LONGEST_INT_BITS: Final = 512
_JOINERS: Final = frozenset("\u200d\ufe0e\ufe0f")
_WIDEST_CHARACTER: Final = 16
"""Code points looked back at to avoid ending inside one visible character."""


def cut_text(text: str, limit_chars: int) -> str:
    """Give at most `limit_chars` of a text, storable, never ending inside one visible character."""
    if len(text) <= limit_chars:
        return clean_text(text)
    end = limit_chars
    while end > max(limit_chars - _WIDEST_CHARACTER, 0) and _continues(text, end):
        end -= 1
    return clean_text(text[:end])


def preview_text(text: str, size: int, limit_chars: int) -> str:
    """Give the beginning of a text, and how large the whole is when it was cut.

    Args:
        text: The whole text.
        size: UTF-8 bytes of the whole.
        limit_chars: Characters of the beginning to keep.

    """
    if len(text) <= limit_chars:
        return clean_text(text)
    return f"{cut_text(text, limit_chars)}… {human_size(size)} in all"


def human_size(size: int) -> str:
    """Write a number of bytes for people: `812 bytes`, `12.0 MB`."""
    for factor, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"


def summarise(value: object, limit: int = 200) -> str:
    """Give one line about a value, like `{order_id: A1, total: 240.00 EUR}`.

    Args:
        value: Anything, also 12 MB of it: only what is shown is looked at.
        limit: Longest result in characters.

    """
    try:
        return _one_line(_short(value, limit, _DEPTH), limit)
    except GUARDED:
        return f"<{type_name(value)}>"


def _continues(text: str, end: int) -> bool:
    """Tell whether cutting before `end` would split one visible character."""
    after, before = text[end], text[end - 1]
    return (
        after in _JOINERS
        or before == "\u200d"
        or bool(unicodedata.combining(after))
        or "\U0001f3fb" <= after <= "\U0001f3ff"
    )


def _one_line(text: str, limit: int) -> str:
    flat = clean_text(" ".join(text.split()))
    return flat if len(flat) <= limit else f"{cut_text(flat, max(limit - 1, 0))}…"


def _short(value: Any, room: int, depth: int) -> str:
    """Give a value in a little more than `room` characters at most; the commonest kinds first."""
    kind = type(value)
    if kind is str:
        text: str = value[: room + 1]
        return text
    if value is None or kind is bool:
        return _WORDS[value]
    if kind is dict or isinstance(value, Mapping):
        return _short_mapping(value, room, depth)
    if kind is list or isinstance(value, list | tuple | AbstractSet):
        return _short_items(value, room, depth)
    if isinstance(value, str):
        return str.__str__(value)[: room + 1]
    return value.text[: room + 1] if kind is Encoded else _short_scalar(value)


def _short_mapping(value: Mapping[Any, Any], room: int, depth: int) -> str:
    if depth == 0 and value:
        return "{…}"
    parts: list[str] = []
    for key, item in islice(value.items(), room):
        if room < _ROOM_FOR_COUNT and parts:
            break
        parts.append(f"{_short(key, _KEY_CHARS, 1)}: {_short(item, room, depth - 1)}")
        room -= len(parts[-1]) + 2
    return f"{{{', '.join(parts)}{_more(len(value) - len(parts))}}}"


def _short_items(value: Any, room: int, depth: int) -> str:
    if depth == 0 and value:
        return "[…]"
    parts: list[str] = []
    for item in islice(value, room):
        if room < _ROOM_FOR_COUNT and parts:
            break
        parts.append(_short(item, room, depth - 1))
        room -= len(parts[-1]) + 2
    return f"[{', '.join(parts)}{_more(len(value) - len(parts))}]"


def _more(count: int) -> str:
    return f", … {count} more" if count > 0 else ""


def _short_scalar(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > _LONGEST_INT_BITS:
        return f"<integer of {value.bit_length()} bits>"
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{human_size(memoryview(value).nbytes)}>"
    if isinstance(value, Unstorable):
        return f"<{value.type_name[:100]}: {value.preview[:200]}>"
    if isinstance(value, ArtifactRef):
        return f"<{human_size(value.size)} {value.kind[:40]}: {value.preview[:200]}>"
    printable = isinstance(value, _PRINTABLE) and type(value).__module__ in _PRINTABLE_MODULES
    return str(value)[:400] if printable else f"<{type_name(value)}>"


_PRINTABLE: Final = (int, float, complex, Decimal, Fraction, UUID, PurePath, timedelta, range)
_PRINTABLE_MODULES: Final = frozenset(kind.__module__ for kind in (*_PRINTABLE, PosixPath))
"""Only Python's own classes: the text of a foreign subclass may be anything."""
