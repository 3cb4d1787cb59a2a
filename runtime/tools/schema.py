"""The arguments of a tool: what its signature allows, and the one form in which they are kept.

Canonical arguments, the ones that are stored, digested and shown to people, are the validated JSON
form with defaults applied. A tool only ever receives what that form gives when it is read back, so
a first call and a call after recovery cannot differ; it knows nothing of effects, tasks or agents.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Final, NoReturn, get_type_hints

import pydantic_core
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

from runtime.core.error_text import clean_text
from runtime.core.errors import ArgumentsRefused, ToolRefused

RESERVED: Final = frozenset({"operation_id", "ctx"})
"""Parameters the runtime fills in; they are no arguments and never in the schema."""

_MOST_PROBLEMS = 20
_PROBLEM_CHARS = 300
_CONFIG: Final = ConfigDict(
    extra="forbid",
    allow_inf_nan=False,
    # Without this, NaN inside an `Any` would silently become null on its way to the stored form.
    ser_json_inf_nan="constants",
    validate_default=True,
)
_OWN_FORM: Final = frozenset({int, bool, NoneType})
_PLAIN_WORDS: Final = {"extra_forbidden": "unknown argument", "missing": "missing"}


@dataclass(frozen=True, slots=True)
class Arguments:
    """Validated arguments in both forms.

    Attributes:
        stored: Plain JSON values with defaults applied; what is digested, shown and kept.
        typed: Python values as the type hints say, for one call. A tool may change them, so every
            further attempt takes fresh ones from `retype(stored)`.
    """

    stored: dict[str, Any]
    typed: dict[str, Any]


class ArgumentsSchema:
    """Validates the arguments of one tool; built once, about 6 µs for three arguments."""

    def __init__(self, tool: str, function: Callable[..., object]) -> None:
        """Read the signature.

        Raises:
            ToolRefused: A parameter cannot be an argument: no type hint, a hint that has no JSON
                form, `*args`, `**kwargs`, positional-only, or a default that does not fit.
        """
        self.tool = tool
        parameters = _parameters(tool, function)
        hints = _hints(tool, function, parameters)
        self.names = tuple(parameters)
        self._fields = {f"a{index}": name for index, name in enumerate(parameters)}
        self._is_flat = all(_is_flat(hint) for hint in hints.values())
        self._model = _model(tool, parameters, hints)
        self._validator = self._model.__pydantic_validator__
        self._serializer = self._model.__pydantic_serializer__
        self.json_schema = _json_schema(tool, self._model)
        _check_defaults(tool, self._model, parameters)

    def validate(self, arguments: object) -> Arguments:
        """Check what a planner or a person named.

        Args:
            arguments: Must be a dict of named values; a list or a JSON text is refused, not guessed
                at (hazard TA-01).

        Raises:
            ArgumentsRefused: With one line per problem, none of which repeats a value.
        """
        if not isinstance(arguments, dict):
            problem = f"arguments must be named values, not {type(arguments).__name__}"
            raise ArgumentsRefused(self.tool, [problem])
        model = self._guard(lambda: self._validator.validate_python(arguments))
        if self._is_flat and (values := self._flat(model)) is not None:
            return Arguments(values, values.copy())
        text = self._guard(lambda: self._to_json(model))
        stored = self._guard(lambda: pydantic_core.from_json(text, allow_inf_nan=False))
        return Arguments(stored, self._typed(text))

    def retype(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """Turn stored arguments into fresh Python values for a call.

        Raises:
            ArgumentsRefused: The tool's signature has changed and no longer takes them.
        """
        return self._typed(self._guard(lambda: pydantic_core.to_json(dict(stored))))

    def _flat(self, model: Any) -> dict[str, Any] | None:
        """Give values that are their own JSON form; None if one of them may not be."""
        values = model.__dict__
        found = {name: values[field] for field, name in self._fields.items()}
        for value in found.values():
            kind = type(value)
            if kind is str:
                if not value.isascii():
                    return None
            elif kind not in _OWN_FORM:
                return None
        return found

    def _to_json(self, model: object) -> bytes:
        return self._serializer.to_json(model, by_alias=True, warnings="error")

    def _typed(self, text: bytes) -> dict[str, Any]:
        values = self._guard(lambda: self._validator.validate_json(text)).__dict__
        return {name: values[field] for field, name in self._fields.items()}

    def _guard[T](self, step: Callable[[], T]) -> T:
        """Run one step; whatever goes wrong in it, a validator of the author's too, is data."""
        try:
            return step()
        except ValidationError as error:
            raise ArgumentsRefused(self.tool, problems_of(error)) from None
        except Exception as error:
            problem = f"a value has no JSON form ({type(error).__name__})"
            raise ArgumentsRefused(self.tool, [problem]) from error


def problems_of(error: ValidationError) -> list[str]:
    """Give one bounded line per problem, naming the place and the rule but never the value."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [_line(problem["loc"], problem["type"], problem["msg"]) for problem in found]
    more = len(lines) - _MOST_PROBLEMS
    return lines[:_MOST_PROBLEMS] + ([f"and {more} more"] if more > 0 else [])


def _line(place: tuple[int | str, ...], kind: str, message: str) -> str:
    words = _PLAIN_WORDS.get(kind, message)
    where = ".".join(str(part) for part in place)
    return clean_text(f"{where}: {words}" if where else words)[:_PROBLEM_CHARS]


class _Untitled(GenerateJsonSchema):
    """Titles only repeat the names, and every planner would pay for them."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's hook
        return False


def _parameters(tool: str, function: Callable[..., object]) -> dict[str, inspect.Parameter]:
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            _refuse(tool, f"it takes {parameter}; name every argument, so that it can be checked")
        if name in RESERVED:
            if parameter.kind is not parameter.KEYWORD_ONLY:
                _refuse(tool, f"'{name}' must be keyword-only; put `*,` before it")
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            _refuse(tool, f"argument '{name}' must be usable by name; drop the `/`")
        if parameter.annotation is parameter.empty:
            _refuse(tool, f"argument '{name}' has no type hint")
        found[name] = parameter
    return found


def _hints(
    tool: str, function: Callable[..., object], parameters: Mapping[str, inspect.Parameter]
) -> dict[str, Any]:
    # Only the arguments' own hints: that of `ctx` or the result may exist for type checkers only.
    annotated = SimpleNamespace(
        __annotations__={name: parameter.annotation for name, parameter in parameters.items()}
    )
    try:
        return get_type_hints(annotated, _scope(function), {}, include_extras=True)
    except Exception as error:  # noqa: BLE001 - evaluating a hint runs the author's expression
        _refuse(tool, f"a type hint cannot be read ({type(error).__name__}: {error})")


def _is_flat(hint: Any) -> bool:
    """Tell whether a hint is of plain scalars, with no word of the author's in it."""
    if isinstance(hint, UnionType):
        return all(_is_flat(one) for one in hint.__args__)
    return any(hint is one for one in (str, *_OWN_FORM))


def _scope(function: Callable[..., object]) -> dict[str, Any]:
    scope: dict[str, Any] = getattr(inspect.unwrap(function), "__globals__", {})
    return scope


def _model(
    tool: str, parameters: Mapping[str, inspect.Parameter], hints: Mapping[str, Any]
) -> type[BaseModel]:
    # Neutral field names: an argument called `json` or `_id` would clash with the model's own.
    fields: dict[str, Any] = {
        f"a{index}": (hints[name], _field(name, parameter))
        for index, (name, parameter) in enumerate(parameters.items())
    }
    try:
        return create_model(f"{tool}_arguments", __config__=_CONFIG, **fields)
    except Exception as error:  # noqa: BLE001 - pydantic's own and those of the author's types
        _refuse(tool, f"a type hint cannot be checked ({_first_line(error)})")


def _field(name: str, parameter: inspect.Parameter) -> Any:
    default = ... if parameter.default is parameter.empty else parameter.default
    return Field(default, alias=name, validation_alias=name, serialization_alias=name)


def _json_schema(tool: str, model: type[BaseModel]) -> dict[str, Any]:
    try:
        schema = model.model_json_schema(schema_generator=_Untitled)
    except Exception as error:  # noqa: BLE001 - pydantic's own and hooks of the author's types
        _refuse(tool, f"an argument has no JSON schema ({_first_line(error)})")
    schema.pop("title", None)
    for node in _nodes(schema):
        if node.get("writeOnly") is True:
            _refuse(tool, "a secret cannot be an argument, since arguments are stored; take a name")
        if node.get("uniqueItems") is True:
            _refuse(tool, "a set has no order, so equal calls would differ; take a list")
    return schema


def _nodes(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _nodes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _nodes(inner)


def _check_defaults(
    tool: str, model: type[BaseModel], parameters: Mapping[str, inspect.Parameter]
) -> None:
    for (field, info), name in zip(model.model_fields.items(), parameters, strict=True):
        if info.is_required():
            continue
        blank = model.model_construct()
        try:
            value = model.__pydantic_validator__.validate_assignment(blank, field, info.default)
            model.__pydantic_serializer__.to_json(value)
        except Exception:  # noqa: BLE001 - see _guard
            _refuse(tool, f"the default of '{name}' does not fit its type hint")


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return problems_of(error)[0]
    return (str(error).strip() or type(error).__name__).splitlines()[0][:_PROBLEM_CHARS]


def _refuse(tool: str, why: str) -> NoReturn:
    raise ToolRefused(tool, why)
