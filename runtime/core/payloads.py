"""The one gate between Python values and stored text: `encode` takes anything and never raises, `decode` gives it back.

Text is JSON for the strictest readers: no NaN or Infinity, no NUL, no lone surrogate, no integer beyond ±(2^53 - 1).
What JSON cannot say is a tagged object `{"$": tag, ...}`; a user's own object with the key `$` is tagged in turn, so
nobody outside can forge a tag. Every storing code keeps `CODEC` beside the text.

================================  ==============================================  =========================  ==========
value                             stored as                                       comes back as              mark
================================  ==============================================  =========================  ==========
None, bool, str, finite float     itself                                          the same
int within ±(2^53 - 1)            itself                                          the same
int beyond                        ``{"$":"int","v":"9007199254740993"}``          the same
                                  (hexadecimal ``0x…`` from 2,049 bits on)
str with NUL, lone surrogates     ``{"$":"str","v":"a\\\\0b"}``, escaped          the same                   escaped
NaN, Infinity, -Infinity          ``{"$":"float","v":"nan"}``                     the same                   nonfinite
list; tuple, named tuple          array                                           list
dict with str keys                object, order kept                              the same
dict with other keys, NUL, ``$``  ``{"$":"dict","v":[[key, value], …]}``          the same
tuple inside a key or set         ``{"$":"tuple","v":[…]}``                       the same
Decimal (also NaN)                ``{"$":"decimal","v":"1.10"}``                  the same
Fraction                          ``{"$":"fraction","v":[1,3]}``                  the same
complex                           ``{"$":"complex","v":[1.0,-2.0]}``              the same
bytes                             ``{"$":"bytes","v":"<base64>"}``                the same
bytearray, memoryview             as bytes                                        bytes                      narrowed
datetime, time, naive or offset   ``{"$":"datetime","v":"2026-01-01T00:00:00"}``  the same
datetime, time, named zone        as above, with its offset                       the same instant           narrowed
date; timedelta; UUID; range      ``{"$":"date","v":"2026-01-01"}`` and so on     the same
Path                              ``{"$":"path","v":"/a/b"}``                     PurePath (equal)
set, frozenset                    ``{"$":"set","v":[…]}`` in order of its text    the same
Enum member                       its value                                       the value                  narrowed
pydantic model, dataclass         object of its fields                            dict                       narrowed
subclass of any of the above      as the class above                              that class                 narrowed
other Mapping; Sequence, views    object; array                                   dict; list                 narrowed
scalar or array with ``tolist``   its plain form (numpy, torch, pandas)           builtin                    narrowed
`ArtifactRef`, `Unstorable`       ``{"$":"artifact",…}``                          the same
exception, generator, anything    ``{"$":"unstorable","kind":…,"type":…,          `Unstorable`               unstorable
else; failing, cyclic, too deep     "preview":…}``
or too large parts
================================  ==============================================  =========================  ==========

`encode(decode(text)).text == text` for every text the gate wrote.
"""

from __future__ import annotations

import json
from typing import Any, Final, Never

from runtime.core.errors import PayloadUnreadable, UnknownCodec, type_name
from runtime.core.payload_read import untag
from runtime.core.payload_values import (
    GUARDED,
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
"""Bounds of one payload: what lies beyond is left out and marked, so that a structure that shares its parts
(`a = [b, b]`, `b = [c, c]`, …) cannot grow without end when it is written out."""

_PLAIN_LEAVES: Final = frozenset({type(None), bool, float})


def encode(
    value: object,
    *,
    max_depth: int = MAX_DEPTH,
    max_items: int = MAX_ITEMS,
    max_chars: int = MAX_CHARS,
) -> Encoded:
    """Give any value in storable form; never raises, see the table above for what becomes of what.

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
        pass  # a NaN, a lone surrogate, a dict changed by another thread: the thorough way says what it was
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

    It is stored form already: write it with `encode(ArtifactRef(...))`, or as JSON by hand, never with `encode(marker)`,
    which would take it for a user's own object.

    Args:
        handle: Where the artifact store keeps the whole.
        size: UTF-8 bytes of the whole.
        preview: Its beginning.
        kind: `payload` for text of this gate, else a media type.

    """
    return stored_artifact(ArtifactRef(handle, size, preview, kind))


def preview(text_or_value: object, limit_chars: int = 400) -> str:
    """Give the beginning of a text, an `Encoded`, or the text of any other value; a cut one says how large the whole is.

    Control and bidi characters stay as they are, showing them safely is the page's work. Never raises.
    """
    if isinstance(text_or_value, Encoded):
        return preview_text(text_or_value.text, text_or_value.size, limit_chars)
    if type(text_or_value) is not str:
        return preview(encode(text_or_value), limit_chars)
    if len(text_or_value) <= limit_chars:
        return preview_text(text_or_value, 0, limit_chars)
    size = len(text_or_value.encode(errors="surrogatepass"))
    return preview_text(text_or_value, size, limit_chars)


def _is_plain(value: object, max_depth: int, max_items: int, max_chars: int) -> bool:
    """Tell whether the C encoder alone gives the right text, but for what its output shows (NaN, NUL, surrogates).

    Level by level instead of recursively: cheaper, and depth and size are known without following a cycle.
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
