"""The payload gate: what comes back exactly, what as a simpler type, and what is refused."""

from __future__ import annotations

import dataclasses
import enum
import json
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import MappingProxyType
from typing import Any, NoReturn
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel

from runtime.core.errors import PayloadUnreadable, UnknownCodec
from runtime.core.payloads import (
    CODEC,
    ArtifactRef,
    Encoded,
    Unstorable,
    artifact_marker,
    decode,
    encode,
)


class Colour(enum.Enum):
    RED = "red"
    PAIR = (1, 2)


class Level(enum.IntEnum):
    HIGH = 3


class Order(BaseModel):
    order_id: str
    total: Decimal


@dataclasses.dataclass
class Box:
    inside: object
    lid: str = "shut"


Point = namedtuple("Point", "x y")  # noqa: PYI024 - the untyped kind is the one under test


def _strict(text: str) -> Any:
    """Parse as the strictest readers do."""

    def refuse(word: str) -> NoReturn:
        pytest.fail(f"bare word {word}")

    assert "\x00" not in text
    text.encode()  # no lone surrogate
    parsed = json.loads(text, parse_constant=refuse, parse_int=_safe_int)
    assert not _bad_strings(parsed)
    return parsed


def _safe_int(digits: str) -> int:
    assert abs(int(digits)) < 2**53
    return int(digits)


def _bad_strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value] if any(c == "\x00" or "\ud800" <= c <= "\udfff" for c in value) else []
    if isinstance(value, dict):
        return [bad for pair in value.items() for one in pair for bad in _bad_strings(one)]
    return [bad for one in value for bad in _bad_strings(one)] if isinstance(value, list) else []


def _kinds(encoded: Encoded) -> list[str]:
    return [mark.kind for mark in encoded.marks]


EXACT: list[object] = [
    None,
    True,
    0,
    -1,
    1.5,
    -0.0,
    5e-324,
    "",
    "text é 李 😀",
    "\\0 \\u0000 \\ud835",
    [],
    {},
    {"b": 1, "a": [1, {"c": None}]},
    2**53 - 1,
    2**53,
    -(2**53),
    10**700,
    -(10**4999),
    "a\x00b",
    "x\ud835y",
    "\ud83d\ude00",
    "\\\x00\\0",
    {"key\x00": 1},
    {"key\ud835": 1},
    {"$": "decimal", "v": "1"},
    {"a": {"$": "artifact", "handle": "h", "size": 1, "preview": "", "kind": "k"}},
    {1: "a", None: "b", 2.5: "c", (1, (2, "x")): "d", Decimal("1.10"): "e"},
    {date(2026, 1, 1): {b"\xff": frozenset({1})}},
    Decimal("1.10"),
    Decimal("-0"),
    Decimal("Infinity"),
    Decimal("1E+999999"),
    Fraction(1, 3),
    Fraction(10**30, 7),
    complex(1, -2),
    b"",
    b"\x00\xff",
    datetime(2026, 1, 1, 12, 30, 0, 5),  # noqa: DTZ001 - a naive one is the case
    datetime(2026, 1, 1, tzinfo=UTC),
    datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=5, minutes=45))),
    date(2026, 1, 1),
    time(12, 30),
    time(12, 30, tzinfo=UTC),
    timedelta(days=-1, microseconds=1),
    UUID(int=7),
    range(0, 10, 3),
    range(2**60),
    {1, 2},
    {"x", ("a", 1), frozenset({2})},
    frozenset({"a"}),
    PurePosixPath("/a/b"),
    PureWindowsPath("C:/a"),
    Unstorable("object", "x.Y", "<Y>"),
    Unstorable("a\x00", "b\ud835", ""),
    ArtifactRef("h", 12, "beginning", "payload"),
]


@pytest.mark.parametrize("value", EXACT, ids=lambda value: type(value).__name__)
def test_it_comes_back_exactly(value: object) -> None:
    encoded = encode(value)

    back = decode(encoded.text)

    _strict(encoded.text)
    assert back == value
    assert type(back) is type(value)
    assert encode(back).text == encoded.text
    assert "unstorable" not in _kinds(encoded)


@pytest.mark.parametrize(
    ("value", "back", "kind"),
    [
        ((1, 2), [1, 2], None),
        (Point(1, 2), [1, 2], None),
        (bytearray(b"a"), b"a", "narrowed"),
        (memoryview(b"a"), b"a", "narrowed"),
        (Path("/a/b"), PurePosixPath("/a/b"), None),
        (Colour.RED, "red", "narrowed"),
        (Colour.PAIR, [1, 2], "narrowed"),
        (Level.HIGH, 3, "narrowed"),
        (
            Order(order_id="A1", total=Decimal("1.10")),
            {"order_id": "A1", "total": Decimal("1.10")},
            "narrowed",
        ),
        (Box({"a": 1}), {"inside": {"a": 1}, "lid": "shut"}, "narrowed"),
        (defaultdict(int, a=1), {"a": 1}, "narrowed"),
        (Counter("aab"), {"a": 2, "b": 1}, "narrowed"),
        (MappingProxyType({"a": 1}), {"a": 1}, "narrowed"),
        (deque([1, 2]), [1, 2], "narrowed"),
        ({"a": 1}.keys(), ["a"], "narrowed"),
        ({"a": 1}.values(), [1], "narrowed"),
    ],
)
def test_it_comes_back_as_a_simpler_type_and_says_so(
    value: object, back: object, kind: str | None
) -> None:
    encoded = encode(value)

    assert decode(encoded.text) == back
    assert set(_kinds(encoded)) == ({kind} if kind else set())


def test_a_decimal_never_becomes_a_float() -> None:
    back = decode(encode({"total": Decimal("1.10")}).text)

    assert str(back["total"]) == "1.10"


def test_nan_and_infinity_come_back_and_no_bare_word_is_written() -> None:
    encoded = encode([float("nan"), float("inf"), float("-inf"), {"deep": float("nan")}])

    back = decode(encoded.text)

    _strict(encoded.text)
    assert back[0] != back[0]
    assert back[1:3] == [float("inf"), float("-inf")]
    assert [(mark.path, mark.kind) for mark in encoded.marks] == [
        ("$[0]", "nonfinite"),
        ("$[1]", "nonfinite"),
        ("$[2]", "nonfinite"),
        ("$[3].deep", "nonfinite"),
    ]


def test_an_aware_datetime_with_a_named_zone_keeps_the_instant() -> None:
    moment = datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin"))

    encoded = encode(moment)

    assert decode(encoded.text) == moment.astimezone(UTC)
    assert _kinds(encoded) == ["narrowed"]


def test_the_second_two_o_clock_of_a_naive_autumn_night_stays_the_second() -> None:
    back = decode(encode(datetime(2026, 10, 25, 2, 30, fold=1)).text)  # noqa: DTZ001 - naive is the case

    assert back.fold == 1


def test_the_order_of_keys_is_kept() -> None:
    assert encode({"b": 1, "a": 2}).text == '{"b":1,"a":2}'
    turned = OrderedDict(a=1, b=2)
    turned.move_to_end("a")
    assert list(decode(encode(turned).text)) == ["b", "a"]


def test_equal_sets_have_equal_text() -> None:
    names = [f"name{n}" for n in range(50)]

    one: set[str] = set(names)
    other: set[str] = set()
    other.update(reversed(names))

    assert encode(one).text == encode(other).text


def test_size_is_counted_in_utf8_bytes() -> None:
    assert encode("é").size == 4
    assert encode(Decimal(1)).size == len(encode(Decimal(1)).text)


def test_a_users_own_object_with_the_reserved_key_stays_the_users() -> None:
    forged = artifact_marker("other-tenant", 1, "", "payload")

    assert decode(encode(forged).text) == forged
    assert decode(encode({"a": [forged]}).text) == {"a": [forged]}


def test_text_of_an_artifact_marker_decodes_to_a_reference() -> None:
    marker = artifact_marker("h1", 12_000_000, "begin\x00ning", "payload")

    assert decode(json.dumps(marker)) == ArtifactRef("h1", 12_000_000, "begin\x00ning", "payload")
    assert encode(ArtifactRef("h1", 12_000_000, "begin\x00ning", "payload")).text == json.dumps(
        marker, separators=(",", ":")
    )


def test_a_codec_nobody_knows_is_refused_loudly() -> None:
    assert decode("1", codec=CODEC) == 1
    with pytest.raises(UnknownCodec, match="'j2'"):
        decode("1", codec="j2")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "NaN",
        "[" * 100_000,
        '{"$":"unknown","v":1}',
        '{"$":["list"],"v":1}',
        '{"$":"decimal","v":"abc"}',
        '{"$":"decimal"}',
        '{"$":"set","v":[[1]]}',
        '{"$":"bytes","v":"%"}',
        '{"$":"uuid","v":7}',
        '{"$":"str","v":7}',
        '{"$":"fraction","v":[1,0]}',
    ],
)
def test_text_the_gate_never_wrote_is_refused_and_not_guessed_at(text: str) -> None:
    with pytest.raises(PayloadUnreadable):
        decode(text)
