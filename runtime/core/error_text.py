"""Any exception, and any value named in one, as short text that can be stored; nothing raises.

Foreign `__str__` and `__repr__` are only called under guard. Others import from
`runtime.core.errors`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

GUARDED: Final = (Exception, SystemExit, GeneratorExit)
"""What foreign code may throw at us; interrupts of the worker itself still pass."""
UNSTORABLE_CHARACTERS: Final = re.compile("[\x00\ud800-\udfff]")
_MOST_LISTED: Final = 20
_LONGEST_TEXT: Final = 300
_MOST_CAUSES: Final = 5
_LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An exception as plain data: type name, bounded message, and its causes, nearest first."""

    type: str
    message: str
    chain: tuple[str, ...] = ()


def clean_text(text: str) -> str:
    """Replace what PostgreSQL cannot store (NUL, lone surrogates) by U+FFFD."""
    return UNSTORABLE_CHARACTERS.sub("\ufffd", text)


def bounded(text: str, limit: int) -> str:
    """Cut a text to `limit` characters, storable, ending in `…` when something was cut."""
    return clean_text(text if len(text) <= limit else f"{text[: max(limit - 1, 0)]}…")


def type_name(value: object) -> str:
    """Give the qualified name of a value's class, whatever its metaclass does."""
    kind = type(value)
    try:
        module, name = kind.__module__, kind.__qualname__
        return bounded(name if module == "builtins" else f"{module}.{name}", _LONGEST_NAME)
    except GUARDED:
        return "unnamed"


def safe_text(exc: BaseException, limit: int = 2000) -> str:
    """Give an exception's message as bounded, storable text; never raises.

    Args:
        exc: Any exception, also one whose `__str__` raises.
        limit: Longest result in characters.

    """
    try:
        text = str.__str__(str(exc))
    except GUARDED as problem:
        text = f"(its message cannot be shown: str() raised {type_name(problem)})"
    return bounded(text or type_name(exc), limit)


def describe(exc: BaseException, limit: int = 2000) -> ErrorInfo:
    """Give an exception as plain data with at most five causes; never raises."""
    chain: list[str] = []
    cause = _cause(exc)
    while cause is not None and len(chain) < _MOST_CAUSES:
        chain.append(f"{type_name(cause)}: {safe_text(cause, 200)}")
        cause = _cause(cause)
    return ErrorInfo(type_name(exc), safe_text(exc, limit), tuple(chain))


def shown(value: object) -> str:
    """Give a value for a sentence: a text as it is, several joined, anything else by its repr."""
    try:
        if isinstance(value, tuple | list):
            return _listed(value)
        return bounded(str.__str__(value) if isinstance(value, str) else repr(value), _LONGEST_TEXT)
    except GUARDED:
        return type_name(value)


def _listed(texts: Sequence[object]) -> str:
    """Join texts so that names read as names and sentences as sentences."""
    short = [bounded(str(text), _LONGEST_TEXT).rstrip(".") for text in texts[:_MOST_LISTED]]
    more = [f"and {len(texts) - _MOST_LISTED} more"] if len(texts) > _MOST_LISTED else []
    return ("; " if any(" " in text for text in short) else ", ").join(short + more) or "none"


def _cause(exc: BaseException) -> BaseException | None:
    try:
        context = None if exc.__suppress_context__ else exc.__context__
        cause = exc.__cause__
    except GUARDED:
        return None
    return cause or context
