"""Any value as plain JSON for the outside: the command line and the API show the same.

One way only; what is stored goes through `runtime.core.payloads`, which loses nothing.
"""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from typing import Any, Final

from runtime.core.payload_values import MAX_SAFE_INT, ArtifactRef, Unstorable

_LONGEST_DECIMAL_BITS: Final = 2048
"""Python refuses to write very long integers in decimal; longer ones are hexadecimal."""


def jsonable(value: Any) -> Any:
    """Give any value in JSON: ids, instants and integers beyond 2^53 - 1 as text.

    ``NaN`` and the infinities are text too: JSON has no word for them.
    """
    match value:
        case Mapping():
            return {str(jsonable(key)): jsonable(inner) for key, inner in value.items()}
        case list() | tuple() | set() | frozenset():
            return [jsonable(inner) for inner in value]
        case ArtifactRef():
            return {"artifact": value.handle, "size": value.size, "preview": _whole(value.preview)}
        case Unstorable():
            return {"unstorable": value.type_name, "preview": _whole(value.preview)}
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {f.name: jsonable(getattr(value, f.name)) for f in fields(value)}
        case _:
            return _leaf(value)


def _leaf(value: Any) -> Any:  # noqa: PLR0911 (one line per kind of value)
    match value:
        case Enum():
            return _leaf(value.value)
        case None | bool():
            return value
        case int():
            return value if -MAX_SAFE_INT <= value <= MAX_SAFE_INT else _long(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case datetime() | date():
            return value.isoformat()
        case bytes():
            return {"bytes": value.hex()}
        case _:
            return _whole(str(value))


def _long(value: int) -> str:
    return str(value) if value.bit_length() <= _LONGEST_DECIMAL_BITS else hex(value)


def _whole(text: str) -> str:
    """Whatever is sent is UTF-8, which has no lone surrogates."""
    return text.encode(errors="replace").decode() if not text.isascii() else text
