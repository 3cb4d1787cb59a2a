"""The thorough way through the payload gate: any Python value becomes a tree that JSON can hold.

Used by `runtime.core.payloads.encode` for everything its fast path does not take. Foreign code (`__str__`, `__iter__`,
`model_dump`) is only called under guard, and every walk is bounded in depth, items and characters.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath, PureWindowsPath
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from pydantic import BaseModel

from runtime.core.errors import safe_text, type_name
from runtime.core.payload_read import untag
from runtime.core.payload_values import (
    BODY,
    GUARDED,
    MAX_SAFE_INT,
    TAG,
    UNSAFE_CHARACTERS,
    ArtifactRef,
    Mark,
    Unstorable,
    escape,
    shortened,
    stored_artifact,
    stored_unstorable,
    to_json,
)

if TYPE_CHECKING:
    from collections.abc import Callable

type Json = Any
"""None, bool, safe int, finite float, clean str, and lists and str-keyed dicts of these."""
type Path = tuple[Any, str] | None
"""Where we are, as a linked list of steps, so that a path costs nothing until something is marked."""

_MOST_MARKS: Final = 50
_PREVIEW_CHARS: Final = 200
_DECIMAL_INT_BITS: Final = 2048
"""Longer integers are written in hexadecimal: Python refuses long decimal ones (from 4,300 digits on)."""
_CUT: Final = Unstorable("too_large", "items", "further items were left out")
_SCALARS: Final = frozenset({type(None), bool, int, float, str})
_FOREIGN_PLAIN: Final = _SCALARS | {complex, bytes, list, datetime, date, timedelta}


class Walker:
    """One walk over one value; remembers marks, the containers it stands in, and what is left to spend."""

    def __init__(self, max_depth: int, max_items: int, max_chars: int) -> None:
        """Take the bounds: levels of nesting, items of all containers, characters of all texts."""
        self._marks: list[Mark] = []
        self._unmarked = 0
        self._inside: set[int] = set()
        self._depth_left = max_depth
        self._items_left = max_items
        self._chars_left = max_chars

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The first marks, and one that counts those left out."""
        if not self._unmarked:
            return tuple(self._marks)
        return (*self._marks, Mark("$", "more", f"{self._unmarked} more marks were left out"))

    def walk(self, value: object, path: Path = None) -> Json:
        """Give the storable form of a value; whatever its own code raises leaves an `Unstorable`."""
        try:
            form = _FORMS.get(type(value))
            return form(self, value, path) if form else self._other(value, path)
        except GUARDED as problem:
            return self.lost("failing", value, path, safe_text(problem, _PREVIEW_CHARS))

    # --- what is noted on the way

    def mark(self, path: Path, kind: str, note: str) -> None:
        """Remember that something was changed here."""
        if len(self._marks) >= _MOST_MARKS:
            self._unmarked += 1
        else:
            self._marks.append(Mark(_render(path), kind, shortened(note, _PREVIEW_CHARS)))

    def narrowed(self, value: object, path: Path, to: str) -> None:
        """Mark that a value comes back as a simpler type."""
        self.mark(path, "narrowed", f"{type_name(value)} comes back as {to}")

    def lost(self, kind: str, value: object, path: Path, preview: str) -> Json:
        """Mark a loss and give what stands for the value."""
        left = Unstorable(kind, type_name(value), shortened(preview, _PREVIEW_CHARS))
        self.mark(path, "unstorable", f"{left.type_name}: {kind}")
        return stored_unstorable(left)

    def afford(self, chars: int) -> bool:
        """Spend characters of the budget; False, and nothing spent, when too few are left."""
        if chars > self._chars_left:
            return False
        self._chars_left -= chars
        return True

    # --- containers

    def array(self, items: Iterable[Any], owner: object, path: Path) -> Json:
        """Give the items of any finite sequence as a list."""
        return self._within(owner, path, lambda: self._items(items, path))

    def mapping(self, items: Iterable[tuple[Any, Any]], owner: object, path: Path) -> Json:
        """Give a mapping as an object, or as tagged pairs where an object's keys cannot hold its keys."""
        return self._within(owner, path, lambda: self._entries(items, path))

    def members(self, value: Iterable[Any], path: Path, tag: str) -> Json:
        """Give a set in the order of its members' stored text, so that equal sets have equal text."""
        return self._within(value, path, lambda: {TAG: tag, BODY: self._sorted_members(value, path)})

    def at_same_depth(self, owner: object, path: Path, plain: Callable[[], object]) -> Json:
        """Give the simpler value that stands for an object, guarding against an object inside itself."""

        def build() -> Json:
            self._depth_left += 1
            try:
                return self.walk(plain(), path)
            finally:
                self._depth_left -= 1

        return self._within(owner, path, build)

    def _within(self, owner: object, path: Path, build: Callable[[], Json]) -> Json:
        """Go one level down, unless that is too deep or we already stand inside this very object."""
        if id(owner) in self._inside:
            return self.lost("cycle", owner, path, "refers to something that contains it")
        if self._depth_left == 0:
            return self.lost("too_deep", owner, path, _count_of(owner))
        self._inside.add(id(owner))
        self._depth_left -= 1
        try:
            return build()
        finally:
            self._depth_left += 1
            self._inside.discard(id(owner))

    def _items(self, items: Iterable[Any], path: Path) -> list[Json]:
        out: list[Json] = []
        for position, item in enumerate(items):
            inner = (path, f"[{position}]")
            if not self._may_take(item):
                out.append(self._cut(inner))
                break
            out.append(self.walk(item, inner))
        return out

    def _entries(self, items: Iterable[tuple[Any, Any]], path: Path) -> Json:
        pairs: list[tuple[Json, Json]] = []
        taken: set[Any] = set()
        for key, item in items:
            inner = (path, _step(key))
            if not self._may_take(item):
                pairs.append((_free_name(taken), self._cut(inner)))
                break
            pairs.append((self._key(key, inner, taken), self.walk(item, inner)))
        if all(type(key) is str and key != TAG for key, _ in pairs):
            return dict(pairs)
        return {TAG: "dict", BODY: [list(pair) for pair in pairs]}

    def _sorted_members(self, items: Iterable[Any], path: Path) -> list[Json]:
        taken: set[Any] = set()
        texts: list[str] = []
        for item in items:
            if not self._may_take(item):
                texts.append(to_json(self._cut(path)))
                break
            texts.append(to_json(self._key(item, path, taken)))
        return [json.loads(text) for text in sorted(texts)]

    def _may_take(self, item: object) -> bool:
        """Spend one item; what already stands for something cut is free, so that encoding again changes nothing."""
        if type(item) is Unstorable:
            return True
        self._items_left -= 1
        return self._items_left >= 0

    def _cut(self, path: Path) -> Json:
        self.mark(path, "unstorable", _CUT.preview)
        return stored_unstorable(_CUT)

    # --- keys and members of sets

    def _key(self, key: object, path: Path, taken: set[Any]) -> Json:
        """Give a key in a form that comes back hashable and unlike the keys already taken."""
        form = self._key_form(key, path)
        if _claim(form, taken):
            return form
        shown = to_json(form)
        for number in range(1, len(taken) + 2):
            form = self.lost("key", key, path, shown if number == 1 else f"#{number}: {shown}")
            if _claim(form, taken):
                break
        return form

    def _key_form(self, key: object, path: Path) -> Json:
        try:
            plain = key.value if isinstance(key, Enum) else key
            if not isinstance(plain, tuple):
                return self.walk(key, path)
            parts = tuple.__iter__(plain)
            return self._within(
                key, path, lambda: {TAG: "tuple", BODY: [self._key_form(part, path) for part in parts]}
            )
        except GUARDED as problem:
            return self.lost("failing", key, path, safe_text(problem, _PREVIEW_CHARS))

    # --- values whose exact type has no form of its own

    def _other(self, value: object, path: Path) -> Json:
        if isinstance(value, BaseException):
            return self.lost("exception", value, path, safe_text(value, _PREVIEW_CHARS))
        if isinstance(value, Enum):
            self.narrowed(value, path, "the value of the member")
            return self.walk(value.value, path)
        for base, exact in _SUBCLASSED:
            if isinstance(value, base):
                if base is not tuple and base is not PurePath:
                    self.narrowed(value, path, base.__name__)
                return exact(self, value, path)
        return self._structure(value, path)

    def _structure(self, value: object, path: Path) -> Json:
        if isinstance(value, BaseModel):
            self.narrowed(value, path, "dict")
            return self.at_same_depth(value, path, lambda: value.model_dump(warnings=False))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            self.narrowed(value, path, "dict")
            names = [field.name for field in dataclasses.fields(value)]
            return self.mapping(((name, getattr(value, name)) for name in names), value, path)
        if _has(value, "dtype") and _has(value, "tolist"):
            return self._foreign(value, path)
        return self._collection(value, path)

    def _collection(self, value: object, path: Path) -> Json:
        if isinstance(value, Mapping):
            self.narrowed(value, path, "dict")
            return self.mapping(((key, value[key]) for key in value), value, path)
        if isinstance(value, Iterator):
            return self.lost("iterator", value, path, "was not consumed; return a list instead")
        if isinstance(value, Sequence | AbstractSet | ValuesView):
            self.narrowed(value, path, "list")
            return self.array(value, value, path)
        return self.lost("object", value, path, _repr(value))

    def _foreign(self, value: Any, path: Path) -> Json:
        """Give a scalar or array of a numeric library by its own plain form."""
        plain = value.tolist()
        if type(plain) not in _FOREIGN_PLAIN:
            return self.lost("object", value, path, _repr(value))
        self.narrowed(value, path, type(plain).__name__)
        return self.walk(plain, path)


# --- the forms of scalars ---------------------------------------------------------------------------------------------


def _text(walker: Walker, value: str, path: Path) -> Json:
    if not walker.afford(len(value)):
        shown = f"{len(value)} characters: {shortened(value, _PREVIEW_CHARS)}"
        return walker.lost("too_large", value, path, shown)
    if not UNSAFE_CHARACTERS.search(value):
        return value
    walker.mark(path, "escaped", "holds NUL or lone surrogates")
    return {TAG: "str", BODY: escape(value)}


def _integer(walker: Walker, value: int, path: Path) -> Json:
    if -MAX_SAFE_INT <= value <= MAX_SAFE_INT:
        return value
    bits = value.bit_length()
    if not walker.afford(bits // 4):
        return walker.lost("too_large", value, path, f"an integer of {bits} bits")
    return {TAG: "int", BODY: str(value) if bits <= _DECIMAL_INT_BITS else hex(value)}


def _number(walker: Walker, value: float, path: Path) -> Json:
    if math.isfinite(value):
        return value
    walker.mark(path, "nonfinite", f"is {value!r}")
    return {TAG: "float", BODY: repr(value)}


def _complex(walker: Walker, value: complex, path: Path) -> Json:
    return {TAG: "complex", BODY: [_number(walker, value.real, path), _number(walker, value.imag, path)]}


def _decimal(walker: Walker, value: Decimal, path: Path) -> Json:
    digits = Decimal.__str__(value)
    if not walker.afford(len(digits)):
        return walker.lost("too_large", value, path, f"a Decimal of {len(digits)} characters")
    return {TAG: "decimal", BODY: digits}


def _fraction(walker: Walker, value: Fraction, path: Path) -> Json:
    parts = (value.numerator, value.denominator)
    return {TAG: "fraction", BODY: [walker.walk(part, path) for part in parts]}


def _binary(walker: Walker, value: bytes | bytearray | memoryview, path: Path) -> Json:
    view = memoryview(value)
    if not walker.afford(view.nbytes * 4 // 3):
        return walker.lost("too_large", value, path, f"{view.nbytes} bytes")
    return {TAG: "bytes", BODY: base64.b64encode(view.tobytes()).decode("ascii")}


def _mutable_binary(walker: Walker, value: bytearray | memoryview, path: Path) -> Json:
    walker.narrowed(value, path, "bytes")
    return _binary(walker, value, path)


def _datetime(walker: Walker, value: datetime, path: Path) -> Json:
    return _with_zone("datetime", datetime.isoformat(value), walker, value, path)


def _time(walker: Walker, value: time, path: Path) -> Json:
    return _with_zone("time", time.isoformat(value), walker, value, path)


def _with_zone(tag: str, iso: str, walker: Walker, value: datetime | time, path: Path) -> Json:
    if value.tzinfo is not None and type(value.tzinfo) is not timezone:
        walker.mark(path, "narrowed", "keeps its offset and loses the name of its time zone")
    fold = {"fold": 1} if value.fold and value.utcoffset() is None else {}
    return {TAG: tag, BODY: iso, **fold}


def _date(_walker: Walker, value: date, _path: Path) -> Json:
    return {TAG: "date", BODY: date.isoformat(value)}


def _timedelta(_walker: Walker, value: timedelta, _path: Path) -> Json:
    return {TAG: "timedelta", BODY: [value.days, value.seconds, value.microseconds]}


def _uuid(_walker: Walker, value: UUID, _path: Path) -> Json:
    return {TAG: "uuid", BODY: f"{value.int:032x}"}


def _file_path(walker: Walker, value: PurePath, path: Path) -> Json:
    system = {"os": "windows"} if isinstance(value, PureWindowsPath) else {}
    return {TAG: "path", BODY: walker.walk(str.__str__(str(value)), path), **system}


def _range(walker: Walker, value: range, path: Path) -> Json:
    parts = (value.start, value.stop, value.step)
    return {TAG: "range", BODY: [walker.walk(part, path) for part in parts]}


def _as_is(_walker: Walker, value: Json, _path: Path) -> Json:
    return value


def _dict_items(value: dict[Any, Any]) -> Iterable[tuple[Any, Any]]:
    """Give the items of a subclass of dict without asking the subclass; OrderedDict has an order of its own."""
    return OrderedDict.items(value) if isinstance(value, OrderedDict) else dict.items(value)


type _Form = Callable[[Walker, Any, Path], Json]

_FORMS: Final[Mapping[type, _Form]] = {
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
    list: lambda walker, value, path: walker.array(value, value, path),
    tuple: lambda walker, value, path: walker.array(value, value, path),
    dict: lambda walker, value, path: walker.mapping(value.items(), value, path),
    set: lambda walker, value, path: walker.members(value, path, "set"),
    frozenset: lambda walker, value, path: walker.members(value, path, "frozenset"),
    Unstorable: lambda _walker, value, _path: stored_unstorable(value),
    ArtifactRef: lambda _walker, value, _path: stored_artifact(value),
}

_SUBCLASSED: Final[Sequence[tuple[type, _Form]]] = (
    (str, lambda walker, value, path: _text(walker, str.__str__(value), path)),
    (int, lambda walker, value, path: _integer(walker, int.__int__(value), path)),
    (float, lambda walker, value, path: _number(walker, float.__float__(value), path)),
    (complex, lambda walker, value, path: _complex(walker, complex.__complex__(value), path)),
    (bytes, _binary),
    (bytearray, _binary),
    (tuple, lambda walker, value, path: walker.array(tuple.__iter__(value), value, path)),
    (list, lambda walker, value, path: walker.array(list.__iter__(value), value, path)),
    (dict, lambda walker, value, path: walker.mapping(_dict_items(value), value, path)),
    (set, lambda walker, value, path: walker.members(set(set.__iter__(value)), path, "set")),
    (
        frozenset,
        lambda walker, value, path: walker.members(
            frozenset(frozenset.__iter__(value)), path, "frozenset"
        ),
    ),
    (Decimal, _decimal),
    (Fraction, _fraction),
    (datetime, _datetime),
    (date, _date),
    (time, _time),
    (timedelta, _timedelta),
    (UUID, _uuid),
    (PurePath, _file_path),
)


# --- small helpers ----------------------------------------------------------------------------------------------------


def _claim(form: Json, taken: set[Any]) -> bool:
    """Take a key's form unless it would come back unhashable or equal to another key."""
    try:
        back = form if type(form) in _SCALARS else json.loads(to_json(form), object_hook=untag)
        if back in taken:
            return False
        taken.add(back)
    except GUARDED:
        return False
    return True


def _free_name(taken: set[Any]) -> str:
    name = "…"
    while name in taken:
        name += "…"
    return name


def _render(path: Path) -> str:
    steps: list[str] = []
    while path is not None and len(steps) < 100:
        path, step = path
        steps.append(step)
    return "$" + "".join(reversed(steps))


def _step(key: object) -> str:
    if type(key) is not str:
        return f"[{shortened(_repr(key), 60)}]"
    short = shortened(key, 60)
    return f".{short}" if short.isidentifier() else f"[{to_json(short)}]"


def _repr(value: object) -> str:
    try:
        return str.__str__(repr(value))
    except GUARDED as problem:
        return f"(repr() raised {type_name(problem)})"


def _has(value: object, name: str) -> bool:
    return hasattr(type(value), name)


def _count_of(value: object) -> str:
    """Count the items of a container; never shows them, because a shared structure can be exponentially long."""
    kinds = (list, tuple, dict, set, frozenset)
    return f"{len(value)} items" if type(value) in kinds else "a nested object"  # type: ignore[arg-type]
