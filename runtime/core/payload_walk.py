"""The thorough way through the payload gate: any Python value becomes a tree that JSON can hold.

Used by `runtime.core.payloads.encode` for everything its fast path does not take. Foreign code
(`__str__`, `__iter__`, `model_dump`) is only called under guard, and every walk is bounded in
depth, items and characters.
"""

from __future__ import annotations

import dataclasses
import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from datetime import date, datetime, timedelta
from enum import Enum
from pathlib import PurePath
from typing import Any, Final

from pydantic import BaseModel

from runtime.core.error_text import GUARDED, bounded
from runtime.core.errors import safe_text, type_name
from runtime.core.payload_read import untag
from runtime.core.payload_scalars import (
    PREVIEW_CHARS,
    SCALAR_BASES,
    SCALAR_FORMS,
    Json,
    Notes,
    Path,
)
from runtime.core.payload_values import (
    BODY,
    TAG,
    Unstorable,
    stored_unstorable,
    to_json,
)

_CUT: Final = Unstorable("too_large", "items", "further items were left out")
_CUT_NAME: Final = "…"
_SCALARS: Final = frozenset({type(None), bool, int, float, str})
_FOREIGN_PLAIN: Final = _SCALARS | {complex, bytes, list, datetime, date, timedelta}


class Walker(Notes):
    """One walk over one value; knows the containers it stands in and what is left to spend.

    Args:
        max_depth: Levels of nesting.
        max_items: Items of all containers together.
        max_chars: Characters of all texts together.

    """

    def __init__(self, max_depth: int, max_items: int, max_chars: int) -> None:
        super().__init__(max_chars)
        self._inside: set[int] = set()
        self._depth_left = max_depth
        self._items_left = max_items

    def walk(self, value: object, path: Path = None) -> Json:
        """Give the storable form of a value; what its own code raises leaves an `Unstorable`."""
        try:
            form = _FORMS.get(type(value))
            return form(self, value, path) if form else self._other(value, path)
        except GUARDED as problem:
            return self.lost("failing", value, path, safe_text(problem, PREVIEW_CHARS))

    # --- containers

    def array(self, items: Iterable[Any], owner: object, path: Path) -> Json:
        """Give the items of any finite sequence as a list."""
        return self._within(owner, path, lambda: self._items(items, path))

    def mapping(self, items: Iterable[tuple[Any, Any]], owner: object, path: Path) -> Json:
        """Give a mapping as an object, or as tagged pairs where its keys are no plain texts."""
        return self._within(owner, path, lambda: self._entries(items, path))

    def members(self, items: Iterable[Any], owner: object, path: Path, tag: str) -> Json:
        """Give a set in the order of its members' stored text: equal sets have equal text."""
        return self._within(
            owner, path, lambda: {TAG: tag, BODY: self._sorted_members(items, path)}
        )

    def at_same_depth(self, owner: object, path: Path, plain: Callable[[], object]) -> Json:
        """Give the simpler value that stands for an object, unless we stand inside the object."""

        def build() -> Json:
            self._depth_left += 1
            try:
                return self.walk(plain(), path)
            finally:
                self._depth_left -= 1

        return self._within(owner, path, build)

    def _within(self, owner: object, path: Path, build: Callable[[], Json]) -> Json:
        """Go one level down, unless that is too deep or we stand inside this very object."""
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
            form = key if _is_cut(key, item, taken) else self._key(key, inner, taken)
            pairs.append((form, self.walk(item, inner)))
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
        """Spend one item; what stands for a cut is free, so that encoding again changes nothing."""
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
                key,
                path,
                lambda: {TAG: "tuple", BODY: [self._key_form(part, path) for part in parts]},
            )
        except GUARDED as problem:
            return self.lost("failing", key, path, safe_text(problem, PREVIEW_CHARS))

    # --- values whose exact type has no form of its own

    def _other(self, value: object, path: Path) -> Json:
        if isinstance(value, BaseException):
            return self.lost("exception", value, path, safe_text(value, PREVIEW_CHARS))
        if isinstance(value, Enum):
            self.narrowed(value, path, "the value of the member")
            return self.walk(value.value, path)
        for base, exact in _BASES:
            if isinstance(value, base):
                if base not in _UNMARKED_BASES:
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


def _dict_items(value: dict[Any, Any]) -> Iterable[tuple[Any, Any]]:
    """Give the items past what a subclass overrides; OrderedDict has an order of its own."""
    return OrderedDict.items(value) if isinstance(value, OrderedDict) else dict.items(value)


_FORMS: Final[Mapping[type, Callable[[Walker, Any, Path], Json]]] = {
    **SCALAR_FORMS,
    list: lambda walker, value, path: walker.array(value, value, path),
    tuple: lambda walker, value, path: walker.array(value, value, path),
    dict: lambda walker, value, path: walker.mapping(value.items(), value, path),
    set: lambda walker, value, path: walker.members(value, value, path, "set"),
    frozenset: lambda walker, value, path: walker.members(value, value, path, "frozenset"),
}

_BASES: Final[Sequence[tuple[type, Callable[[Walker, Any, Path], Json]]]] = (
    *SCALAR_BASES,
    (tuple, lambda walker, value, path: walker.array(tuple.__iter__(value), value, path)),
    (list, lambda walker, value, path: walker.array(list.__iter__(value), value, path)),
    (dict, lambda walker, value, path: walker.mapping(_dict_items(value), value, path)),
    (set, lambda walker, value, path: walker.members(set.__iter__(value), value, path, "set")),
    (
        frozenset,
        lambda walker, value, path: walker.members(
            frozenset.__iter__(value), value, path, "frozenset"
        ),
    ),
)
_UNMARKED_BASES: Final = (tuple, PurePath)


# --- small helpers -------------------------------------------------------------------------------


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


def _is_cut(key: object, item: object, taken: set[Any]) -> bool:
    """Tell whether an entry is the place of an earlier cut, whose name costs nothing again."""
    if type(item) is not Unstorable or type(key) is not str or key in taken or key.strip(_CUT_NAME):
        return False
    taken.add(key)
    return True


def _free_name(taken: set[Any]) -> str:
    name = _CUT_NAME
    while name in taken:
        name += _CUT_NAME
    return name


def _step(key: object) -> str:
    if type(key) is not str:
        return f"[{bounded(_repr(key), 60)}]"
    short = bounded(key, 60)
    return f".{short}" if short.isidentifier() else f"[{to_json(short)}]"


def _repr(value: object) -> str:
    try:
        return str.__str__(repr(value))
    except GUARDED as problem:
        return f"(repr() raised {type_name(problem)})"


def _has(value: object, name: str) -> bool:
    return hasattr(type(value), name)


def _count_of(value: object) -> str:
    """Count items instead of showing them: a structure of shared parts can be endless."""
    if isinstance(value, list | tuple | dict | set | frozenset) and type(value) in _FORMS:
        return f"{len(value)} items"
    return "a nested object"
