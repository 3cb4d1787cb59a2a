"""The way back through the payload gate: tagged objects become the values they stand for.

Used by `runtime.core.payloads.decode`; a tag or body the gate never writes is refused, never
guessed at.
"""

from __future__ import annotations

import base64
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from runtime.core.errors import PayloadUnreadable, type_name
from runtime.core.payload_values import BODY, TAG, ArtifactRef, Unstorable, unescape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def untag(found: dict[str, Any]) -> Any:
    """Give what a JSON object stands for; called for every object, innermost first.

    Raises:
        PayloadUnreadable: the object is tagged and the gate never wrote it.

    """
    if TAG not in found:
        return found
    try:
        return _READERS[found[TAG]](found)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as problem:
        tag = found[TAG] if isinstance(found[TAG], str) else type_name(found[TAG])
        why = f"a value tagged '{tag[:40]}' does not read back ({type_name(problem)})"
        raise PayloadUnreadable(why) from problem


def _datetime(found: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(found[BODY]).replace(fold=found.get("fold", 0))


def _time(found: dict[str, Any]) -> time:
    return time.fromisoformat(found[BODY]).replace(fold=found.get("fold", 0))


def _integer(found: dict[str, Any]) -> int:
    body: str = found[BODY]
    return int(body, 16 if "x" in body else 10)


def _path(found: dict[str, Any]) -> PurePath:
    return (PureWindowsPath if found.get("os") == "windows" else PurePosixPath)(found[BODY])


def _unstorable(found: dict[str, Any]) -> Unstorable:
    return Unstorable(str(found["kind"]), str(found["type"]), str(found["preview"]))


def _artifact(found: dict[str, Any]) -> ArtifactRef:
    return ArtifactRef(
        str(found["handle"]), int(found["size"]), str(found["preview"]), str(found["kind"])
    )


_READERS: Final[Mapping[str, Callable[[dict[str, Any]], Any]]] = {
    "str": lambda found: unescape(found[BODY]),
    "int": _integer,
    "float": lambda found: float(found[BODY]),
    "complex": lambda found: complex(*found[BODY]),
    "decimal": lambda found: Decimal(found[BODY]),
    "fraction": lambda found: Fraction(*found[BODY]),
    "bytes": lambda found: base64.b64decode(found[BODY], validate=True),
    "datetime": _datetime,
    "date": lambda found: date.fromisoformat(found[BODY]),
    "time": _time,
    "timedelta": lambda found: timedelta(*found[BODY]),
    "uuid": lambda found: UUID(found[BODY]),
    "path": _path,
    "range": lambda found: range(*found[BODY]),
    "tuple": lambda found: tuple(found[BODY]),
    "set": lambda found: set(found[BODY]),
    "frozenset": lambda found: frozenset(found[BODY]),
    "dict": lambda found: dict(found[BODY]),
    "unstorable": _unstorable,
    "artifact": _artifact,
}
