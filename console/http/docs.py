"""The API's description: as OpenAPI for programs, and as a page made from it here for people.

No script and nothing from elsewhere, so that the page works under the strictest policy and offline.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from ninja import Router

from console.access import Permission
from console.http.description import describe

router = Router()
_PUBLIC: Final[dict[str, Any]] = {
    "auth": None,
    "include_in_schema": False,
    "openapi_extra": {"x-permission": Permission.PUBLIC.value},
}
_REF: Final = "#/components/schemas/"


@dataclass(frozen=True, slots=True)
class Field:
    """One parameter, or one member of an object."""

    name: str
    place: str
    kind: str
    is_required: bool
    about: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation as the page shows it."""

    anchor: str
    method: str
    path: str
    summary: str
    about: str
    permission: str
    scope: str
    takes: tuple[Field, ...]
    answers: tuple[tuple[str, str], ...]


@router.get("/openapi.json", url_name="openapi", **_PUBLIC)
def openapi(request: HttpRequest) -> JsonResponse:  # noqa: ARG001 (the framework's signature)
    """Give the description for programs."""
    return JsonResponse(describe())


@router.get("/docs", url_name="docs", **_PUBLIC)
def page(request: HttpRequest) -> HttpResponse:
    """Show the description to people."""
    schema = describe()
    groups: dict[str, list[Operation]] = {}
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            tag = operation.get("tags", ["other"])[0]
            groups.setdefault(tag, []).append(_operation(schema, method, path, operation))
    kinds = [
        (name, tuple(_members(kind, "")))
        for name, kind in sorted(schema["components"]["schemas"].items())
        if kind.get("properties")
    ]
    info = schema["info"]
    return render(request, "api/docs.html", {"info": info, "groups": groups, "kinds": kinds})


def _operation(
    schema: dict[str, Any], method: str, path: str, operation: dict[str, Any]
) -> Operation:
    return Operation(
        anchor=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        about=operation.get("description", ""),
        permission=operation.get("x-permission", ""),
        scope=operation.get("x-scope") or "",
        takes=(*_parameters(operation), *_body(schema, operation)),
        answers=tuple(
            (str(status), _answer(answer)) for status, answer in operation["responses"].items()
        ),
    )


def _answer(answer: dict[str, Any]) -> str:
    contents: list[dict[str, Any]] = list(answer.get("content", {}).values())
    return _kind(contents[0].get("schema", {})) if contents else ""


def _parameters(operation: dict[str, Any]) -> Iterator[Field]:
    for one in operation.get("parameters", []):
        yield Field(
            one["name"],
            one["in"],
            _kind(one["schema"]),
            bool(one.get("required")),
            one.get("description", ""),
        )


def _body(schema: dict[str, Any], operation: dict[str, Any]) -> Iterator[Field]:
    for content in operation.get("requestBody", {}).get("content", {}).values():
        name = content["schema"].get("$ref", "").removeprefix(_REF)
        yield from _members(schema["components"]["schemas"].get(name, {}), "body")


def _members(kind: dict[str, Any], place: str) -> Iterator[Field]:
    required = kind.get("required", ())
    for name, member in kind.get("properties", {}).items():
        about = member.get("description", "")
        yield Field(name, place, _kind(member), name in required, about)


def _kind(schema: dict[str, Any]) -> str:
    """Say in a word or two what a value is."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(_REF)
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(_kind(one) for one in schema[several]))
    if "enum" in schema:
        return " | ".join(str(one) for one in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    word = schema.get("format") or schema.get("type") or "any value"
    low, high = schema.get("minimum"), schema.get("maximum")
    return word if low is None or high is None else f"{word} {low} to {high}"
