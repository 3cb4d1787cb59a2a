"""Forms made from JSON schemas: which field gets which control, and how its text becomes a value.

Pure.  What a form cannot say well (deep nesting, lists of objects, choices between shapes) is a
field that takes JSON.  Whether the whole fits the schema is decided by whoever owns it, not here.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from django.utils.translation import gettext as _

from console.pages import problem_words, schemas
from console.pages.problem_words import said
from console.pages.schemas import Schema

MOST_FIELDS: Final = 100
LONG_TEXT: Final = 200
"""Texts that may be longer get several lines."""
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,300}")
_ABSENT: Final = object()
_SIMPLE: Final = frozenset({"string", "integer", "number"})
_INPUTS: Final[Mapping[str, str]] = {"date": "date", "email": "email", "time": "time"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a form.

    Args:
        name: Where it stands in the input: ``order_id``, ``customer.name``.
        label: Its own name; foreign text.
        control: ``text``, ``long``, ``integer``, ``number``, ``boolean``, ``choice``, ``lines``,
            ``json`` or ``group``.
        item: What each line of ``lines`` is.
        choices: JSON and words of each choice.
        default: What is shown at first, as text.
        keeps_default: Leaving it empty means the default, so nothing is sent.
        inner: The fields of a group.
    """

    name: str
    label: str
    control: str
    is_required: bool
    is_nullable: bool = False
    help: str = ""
    kind: str = ""
    rules: tuple[str, ...] = ()
    input_type: str = "text"
    max_length: int | None = None
    minimum: Any = None
    maximum: Any = None
    item: str = "string"
    choices: tuple[tuple[str, str], ...] = ()
    default: str = ""
    keeps_default: bool = True
    inner: tuple["Field", ...] = ()

    @property
    def id(self) -> str:
        """Its id on the page."""
        return "f-" + re.sub(r"[^A-Za-z0-9_-]", "-", self.name)


@dataclass(slots=True)
class Read:
    """What a form said: the value it makes, and what is wrong at which field."""

    value: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)


def fields(root: Schema | None) -> tuple[Field, ...]:
    """Give the fields of an input; none for one that has no schema of its own."""
    if root is None:
        return ()
    return _fields(schemas.resolve(root, root).schema, root, "")


def _fields(schema: Schema, root: Schema, above: str) -> tuple[Field, ...]:
    required = schema.get("required", ())
    found = schema.get("properties", {})
    return tuple(
        _field(str(name), raw, root, above, is_required=name in required)
        for name, raw in list(found.items())[:MOST_FIELDS]
    )


def _field(name: str, raw: Any, root: Schema, above: str, *, is_required: bool) -> Field:
    found = schemas.resolve(raw, root)
    schema = found.schema
    common: dict[str, Any] = {
        "name": f"{above}{name}",
        "label": name,
        "is_required": is_required,
        "is_nullable": found.is_nullable,
        "help": str(schema.get("description", "")),
        "kind": schemas.kind(raw, root),
        "rules": schemas.rules(schema),
    }
    kind = schemas.type_of(schema)
    if isinstance(schema.get("enum"), list) or "const" in schema:
        control = _choice(schema.get("enum") or [schema["const"]])
    elif kind == "boolean":
        control = _boolean(schema, is_required=is_required)
    elif kind == "object" and schema.get("properties") and not above:
        control = {"control": "group", "inner": _fields(schema, root, f"{name}.")}
    else:
        control = _plain(kind, schema, root)
    return Field(**common, **control, **_default(schema, control))


def _choice(values: Sequence[Any]) -> dict[str, Any]:
    return {"control": "choice", "choices": tuple((_json(one), _said(one)) for one in values)}


def _boolean(schema: Schema, *, is_required: bool) -> dict[str, Any]:
    if is_required or isinstance(schema.get("default"), bool):
        return {"control": "boolean"}
    # Three things can be meant: yes, no, and nothing at all.
    return {"control": "choice", "choices": (("true", _("yes")), ("false", _("no")))}


def _plain(kind: str, schema: Schema, root: Schema) -> dict[str, Any]:
    if kind == "string":
        longest = schema.get("maxLength")
        long = not isinstance(longest, int) or longest > LONG_TEXT
        input_type = _INPUTS.get(str(schema.get("format")), "text")
        is_long = long and isinstance(longest, int) and "pattern" not in schema
        control = "long" if is_long and input_type == "text" else "text"
        return {"control": control, "max_length": longest, "input_type": input_type}
    if kind in {"integer", "number"}:
        bounds = {"minimum": schema.get("minimum"), "maximum": schema.get("maximum")}
        return {"control": kind, **bounds}
    if kind == "array":
        item = schemas.type_of(schemas.resolve(schema.get("items", {}), root).schema)
        inner = schemas.resolve(schema.get("items", {}), root).schema
        if item in _SIMPLE and "enum" not in inner:
            return {"control": "lines", "item": item}
    return {"control": "json"}


def _default(schema: Schema, control: Mapping[str, Any]) -> dict[str, Any]:
    if "default" not in schema or schema["default"] is None:
        return {}
    value = schema["default"]
    shown = as_text(str(control["control"]), value)
    return {"default": shown, "keeps_default": not shown}


def as_text(control: str, value: Any) -> str:
    """Give the text that stands for a value in a control."""
    if value is None:
        return "null" if control == "choice" else ""
    if control in {"text", "long"} and isinstance(value, str):
        return value
    if control == "lines" and isinstance(value, list):
        return "\n".join(one if isinstance(one, str) else _json(one) for one in value)
    if control == "json":
        return json.dumps(value, ensure_ascii=False, indent=2)
    return _json(value)


# --- reading ------------------------------------------------------------------------------------


def read(form: Iterable[Field], typed: Mapping[str, str]) -> Read:
    """Make a value of what somebody typed; what cannot be read is named at its field.

    Args:
        form: The fields.
        typed: Text by name of field; a box that is not ticked is absent.
    """
    found = Read()
    for one in form:
        value = _inner(one, typed, found) if one.control == "group" else _value(one, typed, found)
        if value is not _ABSENT:
            found.value[one.label] = value
    return found


def _inner(group: Field, typed: Mapping[str, str], found: Read) -> Any:
    if not group.is_required and not any(typed.get(one.name) for one in group.inner):
        return _ABSENT
    inside = read(group.inner, typed)
    found.errors |= inside.errors
    return inside.value


def _value(one: Field, typed: Mapping[str, str], found: Read) -> Any:
    text = typed.get(one.name, "").replace("\r\n", "\n")
    if one.control == "boolean":
        return bool(text)
    if not text.strip() and not (text and one.control in {"text", "long"}):
        return _empty(one, found)
    try:
        return _READS[one.control](one, text)
    except ValueError as problem:
        found.errors[one.name] = str(problem)
        return _ABSENT


def _empty(one: Field, found: Read) -> Any:
    if one.is_required and not one.is_nullable:
        found.errors[one.name] = _("This is needed.")
        return _ABSENT
    if one.is_required or (one.is_nullable and not one.keeps_default):
        return None
    if one.keeps_default:
        return _ABSENT
    # The default was taken away on purpose.
    return {"text": "", "long": "", "lines": []}.get(one.control, _ABSENT)


def _integer(_one: Field, text: str) -> int:
    if not _INTEGER.fullmatch(text.strip()):
        raise ValueError(_("Give a whole number, like 12."))
    return int(text)


def _number(_one: Field, text: str) -> int | float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(_("Give a number, like 12.5."))
    return int(text) if _INTEGER.fullmatch(text.strip()) else value


def _chosen(one: Field, text: str) -> Any:
    if text not in {value for value, _words in one.choices}:
        raise ValueError(_("Choose one of those offered."))
    return json.loads(text)


def _lines(one: Field, text: str) -> list[Any]:
    lines = [line for line in text.split("\n") if line.strip()]
    if one.item == "string":
        return lines
    reads = _integer if one.item == "integer" else _number
    return [reads(one, line) for line in lines]


def _any(_one: Field, text: str) -> Any:
    return parse(text)


_READS: Final = {
    "text": lambda _one, text: text,
    "long": lambda _one, text: text,
    "integer": _integer,
    "number": _number,
    "choice": _chosen,
    "lines": _lines,
    "json": _any,
}


def parse(text: str) -> Any:
    """Read JSON that a person wrote.

    Raises:
        ValueError: It is none; the message names the line.
    """
    try:
        return json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        sentence = _("This is not JSON: line %(line)s, column %(column)s: %(problem)s.")
        facts = {"line": error.lineno, "column": error.colno, "problem": said(error.msg)}
        raise ValueError(sentence % facts) from None
    except RecursionError:
        raise ValueError(_("This is nested too deeply.")) from None


def _refuse(name: str) -> Any:
    raise ValueError(_("JSON has no %(name)s.") % {"name": name})


# --- the other way ------------------------------------------------------------------------------


def fill(form: Iterable[Field], value: Mapping[str, Any]) -> dict[str, str]:
    """Give the texts that make a value, by name of field.

    Raises:
        ValueError: The form has no field for some of it.
    """
    found: dict[str, str] = {}
    known = {one.label: one for one in form}
    for name, inner in value.items():
        one = known.get(name)
        if one is None:
            raise ValueError(_("The form has no field “%(name)s”.") % {"name": name})
        if one.control == "group" and isinstance(inner, Mapping):
            found |= fill(one.inner, inner)
        elif one.control == "boolean":
            found |= {one.name: "on"} if inner is True else {}
        elif one.control != "group":
            found[one.name] = as_text(one.control, inner)
    return found


def initial(form: Iterable[Field]) -> dict[str, str]:
    """Give the texts of an untouched form."""
    found: dict[str, str] = {}
    for one in form:
        if one.control == "group":
            found |= initial(one.inner)
        elif one.control == "boolean":
            found |= {one.name: "on"} if one.default == "true" else {}
        elif one.default:
            found[one.name] = one.default
    return found


def place(form: Iterable[Field], problems: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Put problems, written as ``place: what``, at their fields; gives those without one, too."""
    names = sorted(_names(form), key=len, reverse=True)
    errors: dict[str, str] = {}
    rest: list[str] = []
    for problem in problems:
        where, colon, what = problem.partition(": ")
        name = next((one for one in names if where == one or where.startswith(f"{one}.")), None)
        if name is None or not colon:
            rest.append(problem_words.problem(problem))
        else:
            at_place = where == name
            worded = said(what) if at_place else problem_words.problem(problem)
            errors.setdefault(name, worded)
    return errors, rest


def _names(form: Iterable[Field]) -> list[str]:
    return [
        name
        for one in form
        for name in ([one.name, *_names(one.inner)] if one.control == "group" else [one.name])
    ]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _said(value: Any) -> str:
    if value is None:
        return _("nothing")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return value if isinstance(value, str) else _json(value)
