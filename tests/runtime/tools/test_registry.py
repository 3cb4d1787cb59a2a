"""What may be declared as a tool, what it knows of itself, and what its definition hash sees."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Annotated, Any

import pytest
from pydantic import Field

from runtime.core.effects import Effect
from runtime.core.errors import ArgumentsRefused, ToolRefused
from runtime.tools.registry import NOT_IN_DEFINITION, AnyTool, Tool, needs_person, tool


def named(value: object) -> str:
    """Name a case the same in every process: no address of an object."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def refund(
    order_id: str, amount_cents: int, reason: str = "", *, operation_id: str
) -> dict[str, object]:
    """Refund an order once."""
    return {"order": order_id, "cents": amount_cents, "reason": reason, "id": operation_id}


def look(order_id: str) -> str:
    """Look up one order."""
    return order_id


async def look_async(order_id: str) -> str:
    return order_id


def big(arguments: object, context: object) -> bool:
    return bool(arguments and context)


def happened(operation_id: str) -> bool:
    return bool(operation_id)


def keyed(**options: Any) -> AnyTool:
    return tool(effect="keyed", **options)(refund)


def read(**options: Any) -> AnyTool:
    return tool(effect="read", **options)(look)


def test_a_tool_is_still_the_function_it_was_made_from() -> None:
    assert read()("A1") == "A1"
    assert asyncio.run(tool(effect="read")(look_async)("A1")) == "A1"


def test_a_tool_knows_what_its_function_asks_for() -> None:
    declared = keyed(touches="money", requires="look", timeout_s=20, attempts=3)

    assert (declared.name, declared.effect, declared.description) == (
        "refund",
        Effect.KEYED,
        "Refund an order once.",
    )
    assert declared.touches == ("money",)
    assert declared.requires == ("look",)
    assert (declared.wants_operation_id, declared.wants_ctx, declared.is_async) == (
        True,
        False,
        False,
    )
    assert declared.schema == {
        "type": "object",
        "properties": {
            "order_id": {"type": "string"},
            "amount_cents": {"type": "integer"},
            "reason": {"type": "string", "default": ""},
        },
        "required": ["order_id", "amount_cents"],
        "additionalProperties": False,
    }


def test_without_options_a_tool_waits_a_minute_and_leaves_the_attempts_to_the_manifest() -> None:
    declared = read()

    assert (declared.timeout_s, declared.attempts) == (60, None)


def _ctx_positional(ctx: object) -> None: ...
def _operation_id_positional(operation_id: str) -> None: ...
def _star(*names: str) -> None: ...
def _double_star(**names: str) -> None: ...
def _positional_only(a: str, /) -> None: ...
def _untyped(a) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001
def _unknown_hint(a: "NoSuchType") -> None: ...  # type: ignore[name-defined]  # noqa: F821
def _wrong_default(a: str = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013
def _no_schema(a: Callable[[], int]) -> None: ...
def _a_set(a: set[int]) -> None: ...
def _yields() -> Any:
    yield 1


async def _yields_async() -> Any:
    yield 1


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (_ctx_positional, "'ctx' must be keyword-only"),
        (_operation_id_positional, "'operation_id' must be keyword-only"),
        (_star, "*names"),
        (_double_star, "**names"),
        (_positional_only, "usable by name"),
        (_untyped, "no type hint"),
        (_unknown_hint, "NoSuchType"),
        (_wrong_default, "default of 'a'"),
        (_no_schema, "no JSON schema"),
        (_a_set, "take a list"),
        (_yields, "yields"),
        (_yields_async, "yields"),
        (len, "only a plain `def`"),
        (lambda: None, "its name must be"),
        (dict, "only a plain `def`"),
    ],
)
def test_a_signature_that_cannot_be_checked_is_refused_when_declared(
    function: Callable[..., object], why: str
) -> None:
    with pytest.raises(ToolRefused) as refused:
        tool(effect="read")(function)

    assert why in str(refused.value)


def _local(*, ctx: object) -> None: ...
async def _local_async(*, ctx: object) -> None: ...
def _plain() -> None: ...
def _two(a: str, b: str) -> bool:
    return a == b


@pytest.mark.parametrize(
    ("function", "options", "why"),
    [
        (_plain, {"effect": "write"}, "read, local, keyed, checked, once"),
        (_plain, {"effect": "read", "name": "a.b"}, "letters, digits"),
        (_plain, {"effect": "read", "name": "x" * 65}, "letters, digits"),
        (_plain, {"effect": "keyed"}, "operation_id"),
        (_plain, {"effect": "local"}, "ctx"),
        (_local_async, {"effect": "local"}, "plain `def`"),
        (_plain, {"effect": "checked"}, "needs check="),
        (_plain, {"effect": "checked", "check": _two}, "one value"),
        (_plain, {"effect": "once", "check": happened}, "check is for"),
        (refund, {"effect": "keyed", "check": happened}, "check is for"),
        (_plain, {"effect": "once", "key_ttl_s": 5}, "key_ttl_s is for effect keyed"),
        (refund, {"effect": "keyed", "key_ttl_s": 0}, "key_ttl_s must be"),
        (_plain, {"effect": "read", "timeout_s": 0}, "timeout_s"),
        (_plain, {"effect": "read", "timeout_s": float("inf")}, "timeout_s"),
        (_plain, {"effect": "read", "timeout_s": True}, "timeout_s"),
        (_plain, {"effect": "read", "attempts": 0}, "attempts"),
        (_plain, {"effect": "read", "attempts": 1.5}, "attempts"),
        (_plain, {"effect": "read", "version": 0}, "version"),
        (_plain, {"effect": "once", "touches": "mony"}, "'mony' is not one of"),
        (_plain, {"effect": "read", "touches": "money"}, "a read touches nothing"),
        (_plain, {"effect": "once", "approval": "0-of"}, "'0-of'"),
        (_plain, {"effect": "once", "approval": 2}, "approval"),
        (_plain, {"effect": "once", "approval": _local_async}, "approval"),
        (_plain, {"effect": "once", "when": _local_async}, "when must be"),
        (_plain, {"effect": "once", "when": big}, "of one value"),
        (_plain, {"effect": "read", "requires": (_plain,)}, "names of tools as text"),
        (_plain, {"effect": "read", "fallback": _plain}, "names of tools as text"),
        (_plain, {"effect": "read", "fallback": "_plain"}, "itself"),
        (_plain, {"effect": "once", "same": "order_id"}, "no argument"),
        (_plain, {"effect": "read", "loop_key": "page"}, "no argument"),
        (_plain, {"effect": "once", "parallel": True}, "parallel"),
        (_plain, {"effect": "once", "poll": True}, "poll"),
        (look_async, {"effect": "read", "isolate": True}, "isolate is for a plain"),
        (_local, {"effect": "local", "isolate": True}, "cannot be local"),
        (_local, {"effect": "read", "isolate": True}, "cannot take ctx"),
    ],
)
def test_a_declaration_that_contradicts_itself_is_refused_when_declared(
    function: Callable[..., object], options: dict[str, Any], why: str
) -> None:
    with pytest.raises(ToolRefused) as refused:
        tool(**options)(function)

    assert why in str(refused.value)


def test_a_nested_function_cannot_be_isolated_because_a_child_could_not_import_it() -> None:
    def nested() -> None: ...

    with pytest.raises(ToolRefused, match="child process can import"):
        tool(effect="read", isolate=True)(nested)


def test_a_keyed_tool_whose_downstream_forgets_may_have_a_check() -> None:
    assert keyed(key_ttl_s=3600, check=happened).check is happened


@pytest.mark.parametrize(
    ("options", "asks"),
    [
        ({}, False),
        ({"touches": "money"}, True),
        ({"touches": ("message", "delete")}, True),
        ({"touches": "money", "approval": "never"}, False),
        ({"approval": "always"}, True),
        ({"approval": "2-of"}, True),
        ({"approval": big}, True),
    ],
)
def test_a_person_is_needed_by_declaration_or_by_what_is_touched(
    options: dict[str, Any], *, asks: bool
) -> None:
    assert needs_person(keyed(**options)) is asks
    assert needs_person(keyed(**options), "a template, no free text") is False
    assert needs_person(keyed(**options), "") is asks


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "refund2"},
        {"touches": "money"},
        {"approval": "always"},
        {"approval": big},
        {"requires": "look"},
        {"compensate": "cancel_refund"},
        {"version": 2},
        {"when": happened},
        {"same": "order_id"},
        {"repeatable": True},
        {"key_ttl_s": 60},
    ],
    ids=named,
)
def test_the_definition_hash_moves_with_what_an_approver_relied_on(changed: dict[str, Any]) -> None:
    assert keyed(**changed).definition_hash != keyed().definition_hash


@pytest.mark.parametrize(
    "changed",
    [{"timeout_s": 5}, {"attempts": 9}, {"fallback": "look"}, {"isolate": True}],
    ids=named,
)
def test_the_definition_hash_ignores_how_a_call_is_run(changed: dict[str, Any]) -> None:
    assert keyed(**changed).definition_hash == keyed().definition_hash


def test_the_definition_hash_sees_the_schema_and_never_the_source() -> None:
    def one(a: Annotated[int, Field(le=10)]) -> int:
        return a

    def other(a: Annotated[int, Field(le=10)]) -> int:
        return a + 1

    def wider(a: Annotated[int, Field(le=10**30)]) -> int:
        return a

    hashes = [tool(effect="read", name="one")(f).definition_hash for f in (one, other, wider)]

    assert hashes[0] == hashes[1] != hashes[2]


def test_every_field_of_a_tool_is_in_the_definition_unless_it_is_excluded_by_name() -> None:
    """A field added later is inside by itself; an exclusion names a field that exists."""
    assert {field.name for field in fields(Tool)} >= NOT_IN_DEFINITION
    assert {field.name for field in fields(Tool)} - NOT_IN_DEFINITION == {
        "name",
        "effect",
        "touches",
        "approval",
        "requires",
        "when",
        "compensate",
        "same",
        "repeatable",
        "version",
        "check",
        "key_ttl_s",
    }


def test_a_changed_copy_of_a_tool_is_checked_again() -> None:
    with pytest.raises(ToolRefused):
        replace(keyed(), attempts=0)


def test_arguments_are_checked_by_the_tool() -> None:
    with pytest.raises(ArgumentsRefused, match="amount_cents: missing"):
        keyed().validate({"order_id": "A1"})
