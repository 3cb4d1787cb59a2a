"""JSON schemas as people read them: one row for each field, references followed, within bounds.

Pure. What a schema says of a value is put into words here; forms are made in `schema_forms`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

MOST_ROWS: Final = 200
DEEPEST: Final = 4
_MOST_CHOICES: Final = 20
_FOLLOWED: Final = 10

type Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One field of a schema.

    Args:
        name: Its own name; ``[ ]`` for the items of a list.
        depth: How deep it stands, 0 for the outermost.
        kind: What it is, in words.
        is_required: It must be given.
        default: Its default as JSON; empty for none.
        rules: What its values must keep, each in words.
        description: The author's; foreign text.
    """

    name: str
    depth: int
    kind: str
    is_required: bool
    default: str
    rules: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class Resolved:
    """A schema with its references followed, and whether null is allowed beside it."""

    schema: Schema
    is_nullable: bool


def resolve(schema: Any, root: Schema) -> Resolved:
    """Follow references, and take "this or null" for what it is."""
    nullable = False
    for _step in range(_FOLLOWED):
        if not isinstance(schema, Mapping):
            return Resolved({}, nullable)
        if isinstance(ref := schema.get("$ref"), str):
            schema = {**_referred(ref, root), **{k: v for k, v in schema.items() if k != "$ref"}}
            continue
        if len(parts := schema.get("allOf", ())) == 1:
            rest = {k: v for k, v in schema.items() if k != "allOf"}
            schema = {**parts[0], **rest}
            continue
        others = [one for one in schema.get("anyOf", ()) if not _is_null(one)]
        if len(others) != 1:
            break
        nullable = nullable or len(schema["anyOf"]) > 1
        rest = {k: v for k, v in schema.items() if k != "anyOf"}
        schema = {**others[0], **rest}
    return Resolved(schema, nullable or _allows_null(schema))


def rows(root: Schema | None) -> list[Row]:
    """List the fields of a schema in their order."""
    if root is None:
        return []
    found = _rows(resolve(root, root).schema, root, 0)
    return [row for row, _at in zip(found, range(MOST_ROWS), strict=False)]


def kind(schema: Any, root: Schema) -> str:
    """Say in words what a value is."""
    found = resolve(schema, root)
    said = _kind(found.schema, root)
    return _("%(kind)s, or nothing") % {"kind": said} if found.is_nullable else said


def _kind(schema: Schema, root: Schema) -> str:  # noqa: PLR0911 (one line a kind)
    if "const" in schema:
        return _("always %(value)s") % {"value": _json(schema["const"])}
    if isinstance(schema.get("enum"), list):
        return _("one of %(choices)s") % {"choices": _choices(schema["enum"])}
    several = schema.get("anyOf") or schema.get("oneOf")
    if several:
        return _(" or ").join(kind(one, root) for one in several[:_MOST_CHOICES])
    match _type(schema):
        case "array":
            return _("list of %(items)s") % {"items": kind(schema.get("items", {}), root)}
        case "object":
            return _("object")
        case "string":
            return _FORMATS().get(str(schema.get("format")), _("text"))
        case "integer":
            return _("whole number")
        case "number":
            return _("number")
        case "boolean":
            return _("yes or no")
        case _other:
            return _("any value")


def _FORMATS() -> dict[str, str]:  # noqa: N802 (a constant that depends on the language)
    return {
        "date": _("date"),
        "date-time": _("date and time"),
        "time": _("time of day"),
        "email": _("e-mail address"),
        "uri": _("address"),
        "uuid": _("UUID"),
    }


def rules(schema: Schema) -> tuple[str, ...]:
    """Say in words what a value must keep beside its kind."""
    words = {
        "minimum": _("at least %(value)s"),
        "maximum": _("at most %(value)s"),
        "exclusiveMinimum": _("more than %(value)s"),
        "exclusiveMaximum": _("less than %(value)s"),
        "multipleOf": _("a multiple of %(value)s"),
        "pattern": _("fits %(value)s"),
    }
    sizes = [_size(name, schema[name]) for name in _SIZES if isinstance(schema.get(name), int)]
    others = [said % {"value": schema[name]} for name, said in words.items() if name in schema]
    return (*sizes, *others)


_SIZES: Final = ("minLength", "maxLength", "minItems", "maxItems")


def _size(name: str, value: int) -> str:
    if name in {"minLength", "minItems"} and value == 1:
        return _("not empty")
    said = {
        "minLength": ngettext(
            "at least %(value)s character", "at least %(value)s characters", value
        ),
        "maxLength": ngettext("at most %(value)s character", "at most %(value)s characters", value),
        "minItems": ngettext("at least %(value)s item", "at least %(value)s items", value),
        "maxItems": ngettext("at most %(value)s item", "at most %(value)s items", value),
    }
    return said[name] % {"value": f"{value:,}"}


def _rows(schema: Schema, root: Schema, depth: int) -> Iterator[Row]:
    required = schema.get("required", ())
    properties = schema.get("properties")
    for name, raw in properties.items() if isinstance(properties, Mapping) else ():
        yield from _row(str(name), raw, root, depth, is_required=name in required)


def _row(name: str, raw: Any, root: Schema, depth: int, *, is_required: bool) -> Iterator[Row]:
    found = resolve(raw, root).schema
    yield Row(
        name=name,
        depth=depth,
        kind=kind(raw, root),
        is_required=is_required,
        default=_json(found["default"]) if "default" in found else "",
        rules=rules(found),
        description=str(found.get("description", "")),
    )
    if depth + 1 >= DEEPEST:
        return
    inner = found
    if _type(found) == "array":
        inner = resolve(found.get("items", {}), root).schema
    yield from _rows(inner, root, depth + 1)


def _type(schema: Schema) -> str:
    named = schema.get("type")
    if isinstance(named, list):
        named = next((one for one in named if one != "null"), None)
    return str(named or ("object" if "properties" in schema else ""))


def type_of(schema: Schema) -> str:
    """Give the JSON type a schema names; empty for any."""
    return _type(schema)


def _allows_null(schema: Schema) -> bool:
    named = schema.get("type")
    return isinstance(named, list) and "null" in named


def _is_null(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "null"


def _referred(ref: str, root: Schema) -> Schema:
    at: Any = root
    for part in ref.removeprefix("#").split("/")[1:]:
        at = at.get(part) if isinstance(at, Mapping) else None
    return at if isinstance(at, Mapping) else {}


def _choices(values: list[Any]) -> str:
    shown = ", ".join(_json(value) for value in values[:_MOST_CHOICES])
    return f"{shown}, …" if len(values) > _MOST_CHOICES else shown


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
