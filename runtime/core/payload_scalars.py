"""The storable forms of values that hold no others, and the notes taken while a value is walked.

Each form takes the notes, the value (of that class or a subclass of it) and where it stands.
`runtime.core.payload_walk` looks them up by type; nobody else calls them.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath, PureWindowsPath
from typing import Any, Final
from uuid import UUID

from runtime.core.error_text import UNSTORABLE_CHARACTERS, bounded
from runtime.core.errors import type_name
from runtime.core.payload_values import (
    BODY,
    MAX_SAFE_INT,
    TAG,
    ArtifactRef,
    Mark,
    Unstorable,
    escape,
    stored_artifact,
    stored_text,
    stored_unstorable,
)

type Json = Any
"""None, bool, safe int, finite float, clean str, and lists and str-keyed dicts of these."""
type Path = tuple[Any, str] | None
"""Where we are, as a linked list of steps, so that a path costs nothing until it is marked."""

PREVIEW_CHARS: Final = 200
_MOST_MARKS: Final = 50
_MOST_STEPS: Final = 100
_DECIMAL_INT_BITS: Final = 2048
"""Longer integers are written in hexadecimal: Python refuses decimal ones from 4,300 digits on."""


class Notes:
    """What was changed on the way, and how many characters may still be written."""

    def __init__(self, max_chars: int) -> None:
        self._marks: list[Mark] = []
        self._unmarked = 0
        self._chars_left = max_chars

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The first marks, and one that counts those left out."""
        if not self._unmarked:
            return tuple(self._marks)
        return (*self._marks, Mark("$", "more", f"{self._unmarked} more marks were left out"))

    def mark(self, path: Path, kind: str, note: str) -> None:
        """Remember that something was changed here."""
        if len(self._marks) >= _MOST_MARKS:
            self._unmarked += 1
        else:
            self._marks.append(Mark(_render(path), kind, bounded(note, PREVIEW_CHARS)))

    def narrowed(self, value: object, path: Path, to: str) -> None:
        """Mark that a value comes back as a simpler type."""
        self.mark(path, "narrowed", f"{type_name(value)} comes back as {to}")

    def lost(self, kind: str, value: object, path: Path, preview: str) -> Json:
        """Mark a loss and give what stands for the value."""
        left = Unstorable(kind, type_name(value), bounded(preview, PREVIEW_CHARS))
        self.mark(path, "unstorable", f"{left.type_name}: {kind}")
        return stored_unstorable(left)

    def afford(self, chars: int) -> bool:
        """Spend characters of the budget; False, and nothing spent, when too few are left."""
        if chars > self._chars_left:
            return False
        self._chars_left -= chars
        return True


def _render(path: Path) -> str:
    steps: list[str] = []
    while path is not None and len(steps) < _MOST_STEPS:
        path, step = path
        steps.append(step)
    return "$" + "".join(reversed(steps))


def _text(notes: Notes, value: str, path: Path) -> Json:
    if not notes.afford(len(value)):
        shown = f"{len(value)} characters: {bounded(value, PREVIEW_CHARS)}"
        return notes.lost("too_large", value, path, shown)
    if not UNSTORABLE_CHARACTERS.search(value):
        return value
    notes.mark(path, "escaped", "holds NUL or lone surrogates")
    return {TAG: "str", BODY: escape(value)}


def _integer(notes: Notes, value: int, path: Path) -> Json:
    if not notes.afford(_int_chars(value)):
        return notes.lost("too_large", value, path, f"an integer of {value.bit_length()} bits")
    return _whole(value)


def _int_chars(value: int) -> int:
    return 0 if -MAX_SAFE_INT <= value <= MAX_SAFE_INT else value.bit_length() // 4


def _whole(value: int) -> Json:
    if -MAX_SAFE_INT <= value <= MAX_SAFE_INT:
        return value
    decimal = value.bit_length() <= _DECIMAL_INT_BITS
    return {TAG: "int", BODY: str(value) if decimal else hex(value)}


def _integers(tag: str, notes: Notes, value: object, path: Path, *parts: int) -> Json:
    """Give a value made of several integers, whole or not at all."""
    if not notes.afford(sum(map(_int_chars, parts))):
        return notes.lost("too_large", value, path, f"a {tag} of very large integers")
    return {TAG: tag, BODY: [_whole(part) for part in parts]}


def _number(notes: Notes, value: float, path: Path) -> Json:
    if math.isfinite(value):
        return value
    notes.mark(path, "nonfinite", f"is {value!r}")
    return {TAG: "float", BODY: repr(value)}


def _complex(notes: Notes, value: complex, path: Path) -> Json:
    return {
        TAG: "complex",
        BODY: [_number(notes, value.real, path), _number(notes, value.imag, path)],
    }


def _decimal(notes: Notes, value: Decimal, path: Path) -> Json:
    digits = Decimal.__str__(value)
    if not notes.afford(len(digits)):
        return notes.lost("too_large", value, path, f"a Decimal of {len(digits)} characters")
    return {TAG: "decimal", BODY: digits}


def _fraction(notes: Notes, value: Fraction, path: Path) -> Json:
    return _integers("fraction", notes, value, path, value.numerator, value.denominator)


def _binary(notes: Notes, value: bytes | bytearray | memoryview, path: Path) -> Json:
    view = memoryview(value)
    if not notes.afford(view.nbytes * 4 // 3):
        return notes.lost("too_large", value, path, f"{view.nbytes} bytes")
    return {TAG: "bytes", BODY: base64.b64encode(view.tobytes()).decode("ascii")}


def _mutable_binary(notes: Notes, value: bytearray | memoryview, path: Path) -> Json:
    notes.narrowed(value, path, "bytes")
    return _binary(notes, value, path)


def _datetime(notes: Notes, value: datetime, path: Path) -> Json:
    return _with_zone("datetime", datetime.isoformat(value), notes, value, path)


def _time(notes: Notes, value: time, path: Path) -> Json:
    return _with_zone("time", time.isoformat(value), notes, value, path)


def _with_zone(tag: str, iso: str, notes: Notes, value: datetime | time, path: Path) -> Json:
    if value.tzinfo is not None and type(value.tzinfo) is not timezone:
        notes.mark(path, "narrowed", "keeps its offset and loses the name of its time zone")
    fold = {"fold": 1} if value.fold and value.utcoffset() is None else {}
    return {TAG: tag, BODY: iso, **fold}


def _date(_notes: Notes, value: date, _path: Path) -> Json:
    return {TAG: "date", BODY: date.isoformat(value)}


def _timedelta(_notes: Notes, value: timedelta, _path: Path) -> Json:
    return {TAG: "timedelta", BODY: [value.days, value.seconds, value.microseconds]}


def _uuid(_notes: Notes, value: UUID, _path: Path) -> Json:
    return {TAG: "uuid", BODY: f"{value.int:032x}"}


def _file_path(notes: Notes, value: PurePath, path: Path) -> Json:
    text = str.__str__(str(value))
    if not notes.afford(len(text)):
        return notes.lost("too_large", value, path, f"a path of {len(text)} characters")
    system = {"os": "windows"} if isinstance(value, PureWindowsPath) else {}
    return {TAG: "path", BODY: stored_text(text), **system}


def _range(notes: Notes, value: range, path: Path) -> Json:
    return _integers("range", notes, value, path, value.start, value.stop, value.step)


def _as_is(_notes: Notes, value: Json, _path: Path) -> Json:
    return value


type _Form = Callable[[Any, Any, Path], Json]

SCALAR_FORMS: Final[Mapping[type, _Form]] = {
    type(None): _as_is,
    bool: _as_is,
    int: _integer,
    float: _number,
    str: _text,
    complex: _complex,
    Decimal: _decimal,
    Fraction: _fraction,
    bytes: _binary,
    bytearray: _mutable_binary,
    memoryview: _mutable_binary,
    datetime: _datetime,
    date: _date,
    time: _time,
    timedelta: _timedelta,
    UUID: _uuid,
    range: _range,
    Unstorable: lambda _notes, value, _path: stored_unstorable(value),
    ArtifactRef: lambda _notes, value, _path: stored_artifact(value),
}
"""By exact type."""

SCALAR_BASES: Final[Sequence[tuple[type, _Form]]] = (
    (str, lambda notes, value, path: _text(notes, str.__str__(value), path)),
    (int, lambda notes, value, path: _integer(notes, int.__int__(value), path)),
    (float, lambda notes, value, path: _number(notes, float.__float__(value), path)),
    (complex, lambda notes, value, path: _complex(notes, complex.__complex__(value), path)),
    (bytes, _binary),
    (bytearray, _binary),
    (Decimal, _decimal),
    (Fraction, _fraction),
    (datetime, _datetime),
    (date, _date),
    (time, _time),
    (timedelta, _timedelta),
    (UUID, _uuid),
    (PurePath, _file_path),
)
"""For subclasses, in this order (a datetime is a date); read past what the subclass overrides."""
