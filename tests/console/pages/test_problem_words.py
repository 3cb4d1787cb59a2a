"""What a validator refuses is said as an order, in the reader's language, at its place."""

import re
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from django.utils.translation import override
from pydantic import BaseModel, Field, ValidationError, field_validator
from pydantic_core import _pydantic_core as core

from console.pages.problem_sentences import VALIDATOR
from console.pages.problem_words import problem, said
from runtime.core.errors import ManifestRefused
from runtime.core.manifest import parse
from runtime.tools.schema import problems_of


class Order(BaseModel):
    name: Annotated[str, Field(min_length=2, max_length=4, pattern="^[a-z]+$")] = "abc"
    count: Annotated[int, Field(ge=1, le=9)] = 1
    price: Annotated[Decimal, Field(max_digits=4, decimal_places=2)] = Decimal(1)
    tags: Annotated[list[str], Field(min_length=1, max_length=2)] = Field(default=["a"])
    day: date = date(2026, 1, 1)
    at: datetime = datetime(2026, 1, 1)  # noqa: DTZ001 (the default is not looked at)
    ref: UUID | None = None
    speed: Literal["slow", "now or never", "fast"] = "slow"
    paid: bool = False
    home: dict[str, int] = Field(default_factory=dict)

    @field_validator("name")
    @classmethod
    def _known(cls, name: str) -> str:
        if name == "nope":
            message = "the shop does not know it"
            raise ValueError(message)
        return name


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"name": 5}, "name: Give a text."),
    ({"name": "a"}, "name: Give at least 2 characters."),
    ({"name": "abcde"}, "name: Give at most 4 characters."),
    ({"name": "A1"}, "name: This does not fit the pattern ^[a-z]+$"),
    ({"name": "nope"}, "name: the shop does not know it"),
    ({"count": "x"}, "count: Give a whole number."),
    ({"count": 1.5}, "count: Give a whole number."),
    ({"count": 0}, "count: Give at least 1."),
    ({"count": 10}, "count: Give at most 9."),
    ({"price": "1.234"}, "price: Give at most 2 digits after the point."),
    ({"price": "x"}, "price: Give a number, like 12.5."),
    ({"tags": []}, "tags: Give at least 1 item."),
    ({"tags": ["a", "b", "c"]}, "tags: Give at most 2 items."),
    ({"tags": ["a", 5]}, "tags.1: Give a text."),
    ({"tags": "a"}, "tags: Give a list."),
    ({"day": "soon"}, "day: Give a date, like 2026-12-01."),
    ({"at": "soon"}, "at: Give a date and a time, like 2026-12-01T09:30:00Z."),
    ({"ref": "x"}, "ref: Give a UUID."),
    ({"speed": "x"}, "speed: Give one of these: 'slow', 'now or never', 'fast'."),
    ({"paid": "maybe"}, "paid: Give true or false."),
    ({"home": 5}, "home: Give an object."),
]


@pytest.mark.parametrize(("value", "expected"), REFUSED, ids=lambda one: str(one)[:40])
def test_a_refused_value_is_told_what_to_give(value: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Order.model_validate(value)

    assert [problem(line) for line in problems_of(refused.value)] == [expected]


@pytest.mark.parametrize(("value", "expected"), REFUSED, ids=lambda one: str(one)[:40])
def test_it_is_told_in_the_language_of_its_reader(value: dict[str, Any], expected: str) -> None:
    """What an author wrote, and what stands in quotes, stays as it is."""
    with pytest.raises(ValidationError) as refused:
        Order.model_validate(value)

    with override("zh-hans"):
        told = [problem(line) for line in problems_of(refused.value)]

    assert told != [expected] or "the shop" in expected
    for line in told:
        bare = re.sub(
            r"true|false|'[^']*'|PT30M|UUID|2026\S+|\^\S+|the shop does not know it|^\w+", "", line
        )
        assert re.search(r"[a-z]{3,}", bare) is None, line


MANIFESTS: list[tuple[Any, str]] = [
    ([], "A manifest is a JSON object."),
    ({"limits": {"steps": 0}}, "limits.steps: Give at least 1."),
    ({"limits": {"money_usd": 0.5}}, 'limits.money_usd: Write money as a text, like "1.00".'),
    ({"colour": "red"}, "colour: There is no field of this name."),
    ({"loop": {}}, "loop is not available in this version."),
    ({"on_failure": "compensate"}, "on_failure is not available so in this version."),
    ({"approval": {"pay": "ask"}}, "approval.pay is not available so in this version."),
    ({"tools": ["a", "a"]}, "tools names a more than once."),
    (
        {"tools": ["a"], "approval": {"b": "never"}},
        "approval names b, which is not among the tools.",
    ),
]


@pytest.mark.parametrize(("manifest", "expected"), MANIFESTS, ids=lambda one: str(one)[:40])
def test_a_refused_manifest_is_told_what_to_give(manifest: Any, expected: str) -> None:
    with pytest.raises(ManifestRefused) as refused:
        parse(manifest)

    assert [problem(line) for line in refused.value.problems] == [expected]


def test_every_sentence_is_one_of_the_validator_that_is_installed() -> None:
    theirs: dict[str, str] = {
        one["type"]: one["message_template_python"] for one in core.list_all_errors()
    }

    drifted = [
        known.kind
        for known in VALIDATOR
        if re.sub(r"\{expected_\w*s\}", "{expected}", theirs[known.kind]) != known.theirs
    ]

    assert drifted == []


@pytest.mark.parametrize(
    "text", ["", "it is all wrong", "Input should be callable", "x: y: z", "{0} %(a)s", "a" * 5000]
)
def test_what_nobody_knows_stays_as_it_is(text: str) -> None:
    assert (problem(text), said(text)) == (text, text)
