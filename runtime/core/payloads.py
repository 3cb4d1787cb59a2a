r"""The one gate between Python values and stored text.

`encode` takes anything and never raises, `decode` gives it back; every storing code keeps `CODEC`
beside the text. Text is JSON for the strictest readers: no NaN or Infinity, no NUL, no lone
surrogate, no integer beyond ±(2^53 - 1). What JSON cannot say is a tagged object, written here as
`tag: body` for `{"$": tag, "v": body}`; a user's own object with the key `$` is tagged in turn, so
nobody outside can forge a tag.

==============================  ====================================  ==============================
value                           stored as                             comes back as (mark)
==============================  ====================================  ==============================
None, bool, str, finite float   itself                                the same
int within ±(2^53 - 1)          itself                                the same
int beyond                      int: "9007199254740993", hexadecimal  the same
                                from 2,049 bits on
str with NUL, lone surrogates   str: "a\0b", escaped                  the same (escaped)
NaN, Infinity, -Infinity        float: "nan"                          the same (nonfinite)
list, tuple, named tuple        array                                 list
dict with str keys              object, order kept                    the same
dict with other keys, NUL, `$`  dict: [[key, value], …]               the same
tuple in a key or a set         tuple: […]                            the same
Decimal, also NaN               decimal: "1.10"                       the same
Fraction; complex               fraction: [1, 3]; complex: [1.0, 2.0] the same
bytes                           bytes: base64                         the same
bytearray, memoryview           as bytes                              bytes (narrowed)
datetime, time                  datetime: "2026-01-01T00:00:00"       the same, naive or with offset
… with a named time zone        the same, with its offset             the same instant (narrowed)
date, timedelta, UUID, range    date: "2026-01-01", and so on         the same
Path                            path: "/a/b"                          PurePath, equal
set, frozenset                  set: […] in the order of their text   the same
Enum member                     its value                             the value (narrowed)
pydantic model, dataclass       object of its fields                  dict (narrowed)
subclass of any of the above    as that class                         that class (narrowed)
other Mapping; Sequence, views  object; array                         dict; list (narrowed)
numpy and its like              their `tolist()`                      builtin values (narrowed)
ArtifactRef, Unstorable         artifact, unstorable, by field        the same
exception, generator, all else  unstorable: kind, type, preview       Unstorable (unstorable)
failing, cyclic, too deep or    unstorable: kind, type, preview       Unstorable (unstorable)
too large parts
==============================  ====================================  ==============================

`encode(decode(text)).text == text` for every text the gate wrote.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, Final, Never

from runtime.core.error_text import GUARDED
from runtime.core.errors import PayloadUnreadable, UnknownCodec, type_name
from runtime.core.payload_read import untag
from runtime.core.payload_values import (
    MAX_SAFE_INT,
    TAG,
    ArtifactRef,
    Encoded,
    Mark,
    Unstorable,
    measured,
    stored_artifact,
    stored_unstorable,
    to_json,
)
from runtime.core.payload_views import cut_text, human_size, preview_text, summarise
from runtime.core.payload_walk import Walker

__all__ = [
    "CODEC",
    "CODECS",
    "INLINE_BYTES",
    "ArtifactRef",
    "Encoded",
    "Mark",
    "Unstorable",
    "artifact_marker",
    "cut_text",
    "decode",
    "encode",
    "fits_inline",
    "human_size",
    "preview",
    "summarise",
]

CODEC: Final = "j1"
CODECS: Final = frozenset({CODEC})
INLINE_BYTES: Final = 32 * 1024
MAX_DEPTH: Final = 64
MAX_ITEMS: Final = 2_000_000
MAX_CHARS: Final = 64 * 1024 * 1024
"""Bounds of one payload; what lies beyond is left out and marked. Without them a structure of
shared parts (`a = [b, b]`, `b = [c, c]`, …) would grow without end when it is written out."""

_PLAIN_LEAVES: Final = frozenset({type(None), bool})


def encode(
    value: object,
    *,
    max_depth: int = MAX_DEPTH,
    max_items: int = MAX_ITEMS,
    max_chars: int = MAX_CHARS,
) -> Encoded:
    """Give any value in storable form, as the table above says; never raises.

    A small dict of plain values takes about 4 µs (`json.dumps` alone: 2 µs), 12 MB of them 0.1 s,
    a dict with one Decimal 8 µs.

    Args:
        value: Anything.
        max_depth: Levels of nesting that are kept.
        max_items: Items of all containers together that are kept.
        max_chars: Characters of all texts together that are kept.

    """
    try:
        if _is_plain(value, max_depth, max_items, max_chars):
            text = to_json(value)
            if "\\u0000" not in text:
                return measured(text)
    except GUARDED:
        pass  # NaN, a lone surrogate, a dict changed by another thread: the walk says which
    return _encode_thoroughly(value, max_depth, max_items, max_chars)


def decode(text: str, codec: str = CODEC) -> Any:
    """Give back the value of a stored text.

    Raises:
        UnknownCodec: the text was written by a codec this version does not know.
        PayloadUnreadable: the text is not what the gate writes.

    """
    if codec not in CODECS:
        raise UnknownCodec(codec)
    try:
        return (_TAGGED if '"$"' in text else _UNTAGGED).decode(text)
    except (ValueError, TypeError, RecursionError) as problem:
        raise PayloadUnreadable(type_name(problem)) from problem


def fits_inline(encoded: Encoded, limit: int = INLINE_BYTES) -> bool:
    """Tell whether a payload stays in its row; a larger one goes to the artifact store.

    Args:
        encoded: The payload.
        limit: Largest size in UTF-8 bytes.

    """
    return encoded.size <= limit


def artifact_marker(handle: str, size: int, preview: str, kind: str) -> dict[str, Any]:
    """Give the stored form that stands for a large payload; it decodes to an `ArtifactRef`.

    It is stored form already: write it with `encode(ArtifactRef(...))`, or as JSON by hand, never
    with `encode(marker)`, which would take it for a user's own object.

    Args:
        handle: Where the artifact store keeps the whole.
        size: UTF-8 bytes of the whole.
        preview: Its beginning.
        kind: `payload` for text of this gate, else a media type.

    """
    return stored_artifact(ArtifactRef(handle, size, preview, kind))


def preview(text_or_value: object, limit_chars: int = 400) -> str:
    """Give the beginning of a text, or of any other value's text; a cut one says how large it was.

    Pass an `Encoded` where there is one: other values are encoded for it. Never raises. Control
    and bidi characters stay as they are; showing them safely is the page's work.
    """
    if isinstance(text_or_value, Encoded):
        return preview_text(text_or_value.text, text_or_value.size, limit_chars)
    if type(text_or_value) is not str:
        return preview(encode(text_or_value), limit_chars)
    if len(text_or_value) <= limit_chars:
        return preview_text(text_or_value, 0, limit_chars)
    size = len(text_or_value.encode(errors="surrogatepass"))
    return preview_text(text_or_value, size, limit_chars)


def _is_plain(  # noqa: C901, PLR0911, PLR0912 - one flat loop; calls would double its cost
    value: object, max_depth: int, max_items: int, max_chars: int
) -> bool:
    """Tell whether the C encoder alone gives the right text, but for what its output shows.

    The output shows NaN (it raises), NUL (an escape) and surrogates (they do not encode).

    Level by level instead of recursively: cheaper, and depth and size are known without following a
    cycle.
    """
    level: list[Any] = [[value]]
    items = chars = 0
    for _ in range(max_depth + 1):
        deeper: list[Any] = []
        for container in level:
            items += len(container)
            children = container
            if type(container) is dict:
                if TAG in container:
                    return False
                for key in container:
                    if type(key) is not str:
                        return False
                    chars += len(key)
                children = container.values()
            for child in children:
                kind = type(child)
                if kind is str:
                    chars += len(child)
                elif kind is int:
                    if not -MAX_SAFE_INT <= child <= MAX_SAFE_INT:
                        return False
                elif kind is dict or kind is list:
                    deeper.append(child)
                elif kind is float:
                    if not isfinite(child):
                        return False
                elif kind not in _PLAIN_LEAVES:
                    return False
        if items > max_items or chars > max_chars:
            return False
        if not deeper:
            return True
        level = deeper
    return False


def _encode_thoroughly(value: object, max_depth: int, max_items: int, max_chars: int) -> Encoded:
    try:
        walker = Walker(max_depth, max_items, max_chars)
        return measured(to_json(walker.walk(value)), walker.marks)
    except GUARDED as problem:  # the stack was all but used up before we were called
        left = Unstorable("failing", type_name(value), type_name(problem))
        return measured(to_json(stored_unstorable(left)), (Mark("$", "unstorable", "failing"),))


def _refuse_constant(word: str) -> Never:
    raise ValueError(word)


_UNTAGGED: Final = json.JSONDecoder(parse_constant=_refuse_constant)
_TAGGED: Final = json.JSONDecoder(object_hook=untag, parse_constant=_refuse_constant)
