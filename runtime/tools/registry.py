"""How a function becomes a tool: the `@tool` decorator, the frozen `Tool`, and what identifies it.

A tool is a declaration; running it with intents, tokens and deadlines is the engine's work. Authors
of agents use the decorator through `runtime.api`, everything that performs calls reads the `Tool`.
"""

import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Final

import rfc8785

from runtime.core.effects import Effect, Touch
from runtime.tools.checks import check_function, check_tool, known_effect
from runtime.tools.schema import Arguments, ArgumentsSchema

DEFAULT_TIMEOUT_S: Final = 60.0

_JSON_LIMIT: Final = 2**53
_ASKED_FOR: Final = frozenset(Touch)

type Approval = str | Callable[..., bool] | None
"""None (left to `touches`), "never", "always", "2-of" and so on, or a function that says when."""

NOT_IN_DEFINITION: Final = frozenset(
    {
        "function",  # source text is never compared; authors raise `version=` instead
        "arguments",  # covered as the schema it produces
        "timeout_s",  # how long and how often we try changes no effect
        "attempts",
        "fallback",  # another tool, with a definition of its own
        "parallel",  # when and where it runs
        "isolate",
        "poll",  # what the loop breaker thinks of it
        "loop_key",
        "wants_operation_id",  # follows from the effect
        "wants_ctx",
    }
)
"""Fields outside the definition hash, each for a reason; a new field is inside until listed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tool[**P, R]:
    """A declared tool; call it like the function it was made from to test it on its own.

    Attributes:
        effect: What a call does to the world, and so what may follow an unknown outcome.
        touches: What a write reaches that a person answers for.
        approval: Who is asked; None leaves it to `touches`.
        requires: Tools that must have succeeded in the task before this one may write.
        when: Precondition on the task's state, beside `requires`.
        compensate: The tool that undoes this one.
        timeout_s: Seconds after which the outcome of a call is unknown.
        attempts: Calls in all, the first one included; None leaves it to the manifest.
        fallback: The tool to use after the last attempt.
        same: Arguments that make two writes the same; empty means all of them.
        repeatable: Whether a task may make the same write twice.
        parallel: Whether a read may run beside others.
        poll: Whether repeating the same call is no loop.
        loop_key: What tells calls apart for the loop breaker.
        version: Raised by the author when the function does something else than before.
        isolate: Whether it runs in a child process that can be killed.
        check: Tells by operation id whether a write happened.
        key_ttl_s: Seconds the downstream remembers an operation id; None means for ever.
    """

    function: Callable[P, R]
    name: str
    effect: Effect
    arguments: ArgumentsSchema
    touches: tuple[str, ...] = ()
    approval: Approval = None
    requires: tuple[str, ...] = ()
    when: Callable[..., bool] | None = None
    compensate: str | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S
    attempts: int | None = None
    fallback: str | None = None
    same: tuple[str, ...] = ()
    repeatable: bool = False
    parallel: bool = False
    poll: bool = False
    loop_key: str | Callable[..., object] | None = None
    version: int = 1
    isolate: bool = False
    check: Callable[..., object] | None = None
    key_ttl_s: float | None = None
    wants_operation_id: bool = False
    wants_ctx: bool = False

    def __post_init__(self) -> None:
        check_tool(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, past everything the runtime adds."""
        return self.function(*args, **kwargs)

    @property
    def is_async(self) -> bool:
        """Whether calls run on the worker's event loop."""
        return inspect.iscoroutinefunction(self.function)

    @property
    def description(self) -> str:
        """What planners and people are told: the function's docstring."""
        return inspect.getdoc(self.function) or ""

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the arguments; not to be changed."""
        return self.arguments.json_schema

    def validate(self, arguments: object) -> Arguments:
        """Check arguments; see `ArgumentsSchema.validate`.

        Raises:
            ArgumentsRefused: They do not fit the schema.
        """
        return self.arguments.validate(arguments)

    def retype(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """Turn stored arguments into fresh Python values; see `ArgumentsSchema.retype`.

        Raises:
            ArgumentsRefused: The schema has changed and no longer takes them.
        """
        return self.arguments.retype(stored)

    @cached_property
    def definition_hash(self) -> str:
        """SHA-256 in hex over everything an approver relied on.

        Source text is not part of it, so a redeploy of the same declaration changes nothing.
        """
        covered = {
            field.name: _declared(getattr(self, field.name))
            for field in fields(self)
            if field.name not in NOT_IN_DEFINITION
        }
        definition = {"kind": "tool definition", "form": 1, "schema": _declared(self.schema)}
        return hashlib.sha256(rfc8785.dumps(definition | covered)).hexdigest()


type AnyTool = Tool[..., Any]


def tool[**P, R](  # noqa: PLR0913 - a declaration has as many parts as it has
    *,
    effect: Effect | str,
    name: str | None = None,
    touches: str | tuple[str, ...] | None = None,
    approval: Approval = None,
    requires: str | tuple[str, ...] = (),
    when: Callable[..., bool] | None = None,
    compensate: str | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    attempts: int | None = None,
    fallback: str | None = None,
    same: str | tuple[str, ...] | None = None,
    repeatable: bool = False,
    parallel: bool = False,
    poll: bool = False,
    loop_key: str | Callable[..., object] | None = None,
    version: int = 1,
    isolate: bool = False,
    check: Callable[..., object] | None = None,
    key_ttl_s: float | None = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]:
    """Declare a function as a tool; see `Tool` for what each part means.

    The function's type hints become the schema of its arguments. It may ask for `operation_id` and
    `ctx`, by keyword only.

    Raises:
        ToolRefused: By the decoration, with the first thing that is wrong.
    """

    def declare(function: Callable[P, R]) -> Tool[P, R]:
        own_name = check_function(function, name)
        return Tool(
            function=function,
            name=own_name,
            effect=known_effect(own_name, effect),
            arguments=ArgumentsSchema(own_name, function),
            touches=_names(touches),
            approval=approval,
            requires=_names(requires),
            when=when,
            compensate=compensate,
            timeout_s=timeout_s,
            attempts=attempts,
            fallback=fallback,
            same=_names(same),
            repeatable=repeatable,
            parallel=parallel,
            poll=poll,
            loop_key=loop_key,
            version=version,
            isolate=isolate,
            check=check,
            key_ttl_s=key_ttl_s,
            wants_operation_id="operation_id" in inspect.signature(function).parameters,
            wants_ctx="ctx" in inspect.signature(function).parameters,
        )

    return declare


def _names(value: str | Iterable[str] | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


def needs_person(tool: AnyTool, waiver: str | None = None) -> bool:
    """Whether a call of this tool may have to wait for a person.

    Args:
        tool: Whose declaration is asked.
        waiver: The reason the manifest gives for not asking; empty is no reason.
    """
    if waiver or tool.approval == "never":
        return False
    return tool.approval is not None or any(touch in _ASKED_FOR for touch in tool.touches)


def _declared(value: object) -> Any:
    """Give any declared value a canonical JSON form; functions stand for themselves by name."""
    match value:
        case None | bool():
            return value
        case str():
            return str(value)
        case int() | float():
            # Canonical JSON has no form for these, and bounds in a schema may hold them.
            return value if abs(value) < _JSON_LIMIT else f"number {value}"
        case dict():
            return {str(key): _declared(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_declared(inner) for inner in value]
        case _:
            return f"function {getattr(value, '__qualname__', type(value).__qualname__)}"
