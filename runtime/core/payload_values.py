"""The values the payload gate adds to Python's own: results, marks, and what stands for a loss.

Plain data shared by the modules of the gate. Everybody else imports them from
`runtime.core.payloads`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import pydantic_core

from runtime.core.error_text import UNSTORABLE_CHARACTERS

TAG: Final = "$"
"""The reserved key: a stored object that has it is a tagged value, never a user's object."""
BODY: Final = "v"
MAX_SAFE_INT: Final = 2**53 - 1
"""Largest integer that every JSON reader, and RFC 8785, takes without rounding."""


def to_json(value: object) -> str:
    """Write plain values as compact JSON; pydantic's writer takes a quarter of the time of ours.

    Raises:
        ValueError: A lone surrogate; NaN must not come here, it would be written as null.
    """
    return pydantic_core.to_json(value).decode()


@dataclass(frozen=True, slots=True)
class Mark:
    """One thing the gate changed on the way: where (`$.a[0]`), what kind, and a note for people.

    Kinds: `escaped` (NUL or lone surrogates, comes back exactly), `nonfinite` (comes back exactly),
    `narrowed` (comes back as a simpler type of the same content), `unstorable` (only a preview is
    left), `more` (further marks were left out).
    """

    path: str
    kind: str
    note: str


@dataclass(frozen=True, slots=True)
class Encoded:
    """A value in storable form: JSON text, its size in UTF-8 bytes, and what was changed."""

    text: str
    size: int
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Unstorable:
    """What is left of a value that cannot be stored: why, its type, and a short preview."""

    kind: str
    type_name: str
    preview: str


@dataclass(frozen=True, slots=True)
class ArtifactRef:
    """Stands for a large value that lies in the artifact store."""

    handle: str
    size: int
    """UTF-8 bytes of the whole."""
    preview: str
    kind: str
    """What the whole is: `payload` for encoded text of this gate, else a media type."""


def stored_unstorable(value: Unstorable) -> dict[str, Any]:
    """Give the stored form of what is left of an unstorable value."""
    return {
        TAG: "unstorable",
        "kind": stored_text(value.kind),
        "type": stored_text(value.type_name),
        "preview": stored_text(value.preview),
    }


def stored_artifact(value: ArtifactRef) -> dict[str, Any]:
    """Give the stored form of a reference to an artifact."""
    return {
        TAG: "artifact",
        "handle": stored_text(value.handle),
        "size": int(value.size),
        "preview": stored_text(value.preview),
        "kind": stored_text(value.kind),
    }


def stored_text(value: str) -> Any:
    """Give a text as itself when every reader can take it, else tagged and escaped."""
    text = str.__str__(value)
    return {TAG: "str", BODY: escape(text)} if UNSTORABLE_CHARACTERS.search(text) else text


def measured(text: str, marks: tuple[Mark, ...] = ()) -> Encoded:
    """Put a finished text with its size; raises UnicodeEncodeError for a lone surrogate."""
    size = len(text) if text.isascii() else len(text.encode())
    return Encoded(text, size, marks)


def escape(text: str) -> str:
    r"""Write NUL as `\0`, a lone surrogate as `\d835` and a backslash as `\\`."""
    return re.sub("[\\\\\x00\ud800-\udfff]", _escape_one, text)


def unescape(text: str) -> str:
    r"""Undo `escape`."""
    return re.sub(r"\\(\\|0|d[89a-f][0-9a-f]{2})", _unescape_one, text)


def _escape_one(match: re.Match[str]) -> str:
    character = match[0]
    if character == "\\":
        return "\\\\"
    return "\\0" if character == "\x00" else f"\\{ord(character):04x}"


def _unescape_one(match: re.Match[str]) -> str:
    code = match[1]
    if code == "\\":
        return "\\"
    return "\x00" if code == "0" else chr(int(code, 16))
