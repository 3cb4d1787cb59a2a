"""Arguments: the one stored form, typed values read back from it, hostile input refused as data."""

import json
import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, SecretStr

from runtime.core.errors import ArgumentsRefused, ToolRefused
from runtime.tools.schema import ArgumentsSchema


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    street: str
    country: str = "NL"


def ship(  # noqa: PLR0913 - one argument of every kind
    *,
    order_id: str,
    weight: Decimal,
    at: datetime,
    day: date | None = None,
    colours: tuple[Colour, ...] = (),
    to: Address | None = None,
    label: UUID | None = None,
    within: timedelta = timedelta(hours=1),
    extra: Any = None,
    raw: bytes = b"",
    rates: dict[str, float] = {},  # noqa: B006 - never changed
) -> None: ...


SHIP = ArgumentsSchema("ship", ship)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
SHIPMENTS = st.fixed_dictionaries(
    {
        "order_id": TEXT,
        "weight": st.decimals(allow_nan=False, allow_infinity=False),
        "at": st.datetimes(timezones=st.none() | st.just(UTC)),
    },
    optional={
        "day": st.none() | st.dates(),
        "colours": st.lists(st.sampled_from(Colour), max_size=3).map(tuple),
        "to": st.builds(Address, street=TEXT),
        "label": st.uuids(),
        "within": st.timedeltas(timedelta(0), timedelta(days=9)),
        "extra": JSON,
        "raw": TEXT.map(str.encode),
        "rates": st.dictionaries(
            TEXT, st.floats(allow_nan=False, allow_infinity=False), max_size=2
        ),
    },
)


@given(SHIPMENTS)
def test_stored_arguments_give_back_the_very_values_the_first_call_got(shipment: Any) -> None:
    arguments = SHIP.validate(shipment)

    assert SHIP.retype(arguments.stored) == arguments.typed
    assert SHIP.retype(json.loads(json.dumps(arguments.stored))) == arguments.typed


@given(SHIPMENTS)
def test_stored_arguments_are_a_fixed_point_so_a_digest_can_be_recomputed(
    shipment: Any,
) -> None:
    stored = SHIP.validate(shipment).stored

    assert SHIP.validate(stored).stored == stored


@given(SHIPMENTS)
def test_a_tool_gets_the_values_its_hints_name(shipment: Any) -> None:
    typed = SHIP.validate(shipment).typed

    assert {name: typed[name] for name in shipment} == shipment


def test_defaults_are_part_of_the_stored_form() -> None:
    def greet(name: str, greeting: str = "Hello", times: int = 1) -> None: ...

    arguments = ArgumentsSchema("greet", greet).validate({"name": "Ada"})

    assert arguments.stored == {"name": "Ada", "greeting": "Hello", "times": 1}
    assert arguments.typed == arguments.stored


def look(
    name: str, times: int = 1, *, loud: bool = False, note: str | int | None = None
) -> None: ...


@given(
    st.fixed_dictionaries(
        {"name": TEXT},
        optional={
            "times": st.integers() | st.sampled_from(["7", True, 2.0]),
            "loud": st.booleans() | st.sampled_from(["yes", 0]),
            "note": st.none() | st.integers() | TEXT,
        },
    )
)
def test_plain_arguments_take_a_shorter_way_to_the_same_values(named: Any) -> None:
    schema = ArgumentsSchema("look", look)

    arguments = schema.validate(named)

    assert schema.retype(arguments.stored) == arguments.typed == arguments.stored
    text = schema._to_json(schema._validator.validate_python(named))
    assert json.dumps(json.loads(text)) == json.dumps(arguments.stored)


def test_a_lone_surrogate_in_a_plain_argument_is_refused() -> None:
    with pytest.raises(ArgumentsRefused):
        ArgumentsSchema("look", look).validate({"name": "\ud800"})


def test_a_validator_of_the_author_takes_the_long_way_for_every_attempt_alike() -> None:
    def shout(name: Annotated[str, AfterValidator(str.upper)]) -> None: ...

    schema = ArgumentsSchema("shout", shout)
    arguments = schema.validate({"name": "ada"})

    assert arguments.typed == schema.retype(arguments.stored) == {"name": "ADA"}


def test_a_tool_that_changes_its_arguments_changes_neither_the_stored_nor_the_next_ones() -> None:
    arguments = SHIP.validate({"order_id": "A1", "weight": 1, "at": 0, "rates": {"eu": 1}})

    arguments.typed["rates"]["eu"] = 2.0

    assert arguments.stored["rates"] == {"eu": 1.0}
    assert SHIP.retype(arguments.stored)["rates"] == {"eu": 1.0}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([{"prev": 1}, {"order_id": "A1"}], "not list"),
        ('{"order_id": "A1"}', "not str"),
        (None, "not NoneType"),
        ({}, "order_id: missing"),
        ({"order_id": "A1", "weight": 1, "at": 0, "a0": "x"}, "a0: unknown argument"),
        ({"order_id": "A1", "weight": 1, "at": 0, 7: "x"}, "7: Keys should be strings"),
        ({"order_id": 1, "weight": 1, "at": 0}, "order_id: Input should be a valid string"),
        ({"order_id": "A1", "weight": "NaN", "at": 0}, "weight: Input should be a finite number"),
        ({"order_id": "A1", "weight": 1, "at": 0, "rates": {"eu": math.inf}}, "rates.eu"),
        ({"order_id": "A1", "weight": 1, "at": 0, "extra": math.nan}, "no JSON form"),
        ({"order_id": "A1", "weight": 1, "at": 0, "extra": object()}, "no JSON form"),
        ({"order_id": "A1", "weight": 1, "at": 0, "extra": 10**5000}, "no JSON form"),
        ({"order_id": "A1", "weight": 1, "at": 0, "extra": "x\ud835y"}, "no JSON form"),
        ({"order_id": "x\ud835y", "weight": 1, "at": 0}, "no JSON form"),
        ({"order_id": "A1", "weight": 1, "at": 0, "raw": b"\xff"}, "no JSON form"),
    ],
)
def test_what_does_not_fit_is_refused_and_never_guessed_at(arguments: Any, why: str) -> None:
    """Hazard TA-01: after a repeated call models send a list; nobody knows which element counts."""
    with pytest.raises(ArgumentsRefused) as refused:
        SHIP.validate(arguments)

    assert why in str(refused.value)


def _nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def _cyclic() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize("extra", [_nested(100_000), _cyclic()], ids=["deep", "cyclic"])
def test_nesting_without_end_is_refused_and_does_not_crash(extra: Any) -> None:
    with pytest.raises(ArgumentsRefused):
        SHIP.validate({"order_id": "A1", "weight": 1, "at": 0, "extra": extra})


def test_a_nul_in_a_text_is_kept_for_the_payload_gate_to_store() -> None:
    """Hazard TO-01: the gate escapes it; refusing or dropping it here would change the meaning."""
    arguments = SHIP.validate({"order_id": "a\x00b", "weight": 1, "at": 0})

    assert arguments.stored["order_id"] == arguments.typed["order_id"] == "a\x00b"


def test_problems_are_few_short_and_repeat_no_value() -> None:
    with pytest.raises(ArgumentsRefused) as refused:
        SHIP.validate({f"{'k' * 5000}{n}": "secret-value" for n in range(500)})

    problems = list(refused.value.problems)
    assert len(problems) == 21
    assert max(map(len, problems)) <= 300
    assert "secret-value" not in repr(problems)


def test_a_validator_of_the_author_that_crashes_refuses_the_arguments() -> None:
    def broken(value: str) -> str:
        raise KeyError(value)

    def take(name: Annotated[str, AfterValidator(broken)]) -> None: ...

    with pytest.raises(ArgumentsRefused, match="KeyError"):
        ArgumentsSchema("take", take).validate({"name": "x"})


def test_stored_arguments_of_an_older_signature_are_refused_instead_of_misread() -> None:
    def newer(order_id: str, amount_cents: int) -> None: ...

    with pytest.raises(ArgumentsRefused, match="amount_cents: missing"):
        ArgumentsSchema("refund", newer).retype({"order_id": "A1"})


def test_an_argument_may_have_any_name_a_model_class_uses_itself() -> None:
    def odd(json: str, copy: int, model_config: str, schema: str, _id: str = "") -> None: ...

    arguments = {"json": "j", "copy": 1, "model_config": "m", "schema": "s", "_id": "i"}

    assert ArgumentsSchema("odd", odd).validate(arguments).typed == arguments


def test_hints_may_be_text_and_that_of_ctx_may_exist_for_type_checkers_only() -> None:
    def later(
        at: "datetime",
        *,
        ctx: "OnlyForTypeCheckers",  # type: ignore[name-defined]  # noqa: F821
    ) -> "OnlyForTypeCheckers": ...  # type: ignore[name-defined]  # noqa: F821

    assert ArgumentsSchema("later", later).names == ("at",)


def _secret(password: SecretStr) -> None: ...
def _set(tags: set[str]) -> None: ...


@pytest.mark.parametrize(("function", "why"), [(_secret, "a secret"), (_set, "a set")])
def test_kinds_that_cannot_be_stored_faithfully_are_refused(
    function: Callable[..., None], why: str
) -> None:
    with pytest.raises(ToolRefused, match=why):
        ArgumentsSchema("tool", function)
