"""Reading request bodies: JSON as its standard says, nothing that readers take differently."""

import json
import math
from dataclasses import dataclass
from typing import Any, Final, NoReturn, override

from django.http import HttpRequest
from ninja.parser import Parser
from ninja.types import DictStrAny

from runtime.core.errors import WrongUsage

_NOT_UTF8: Final = "it is not UTF-8"
_TOO_DEEP: Final = "it is nested too deeply"
_TOO_LONG: Final = "it holds an integer of thousands of digits"
_BEYOND: Final = "it holds a number beyond all floats; send a text"
_TWICE: Final = "an object has a key twice"
_WORDS: Final = "{} is no number in JSON; send null or a text"


class NotJsonType(WrongUsage):
    """The body says that it is something else."""

    http_status = 415
    code = "not_json_type"
    sentence = "Send the body as `Content-Type: application/json`."


@dataclass(eq=False)
class Malformed(WrongUsage):
    """The body is no JSON."""

    why: str

    http_status = 400
    code = "malformed_json"
    sentence = "The body is not JSON: {why}."


class NotExact(Malformed):
    """The body is what some readers take for JSON, but not all, or not alike."""

    http_status = 422
    code = "inexact_json"


class StrictParser(Parser):
    """The API's reader of bodies."""

    @override
    def parse_body(self, request: HttpRequest) -> DictStrAny:
        if request.content_type != "application/json":
            raise NotJsonType
        found: DictStrAny = read(request.body)
        return found


def read(body: bytes) -> Any:
    """Read JSON.

    Raises:
        Malformed: It is none.
        NotExact: It holds NaN, a number that no float can hold, a key twice, or too many levels.
    """
    try:
        return _DECODER.decode(body.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Malformed(_NOT_UTF8) from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Malformed(f"{error.msg} at {where}") from None  # noqa: TRY003 (the reader's words)
    except RecursionError:
        raise NotExact(_TOO_DEEP) from None
    except ValueError:
        raise NotExact(_TOO_LONG) from None


def _no_constant(word: str) -> NoReturn:
    raise NotExact(_WORDS.format(word))


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise NotExact(_BEYOND)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise NotExact(_TWICE)
    return made


_DECODER = json.JSONDecoder(
    parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique
)
