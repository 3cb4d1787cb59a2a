"""Odd values and odder exceptions, as tools, models and webhooks produce them."""

import datetime as dt
import enum
import fractions
import math
import socket
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, NoReturn

DEEP = 100_000
LONG = 12 * 1024 * 1024


class Colour(enum.Enum):
    """An enum of an author's."""

    RED = "red"


class Unserialisable:
    """An object with a lock inside and an unhelpful face."""

    def __init__(self) -> None:
        self.socket = socket.SocketType

    def __repr__(self) -> str:
        message = "no face"
        raise RuntimeError(message)


class TwoArguments(Exception):
    """Cannot be made again from its arguments, and holds what cannot be copied."""

    def __init__(self, first: str, second: object) -> None:
        super().__init__(f"{first} and more")
        self.second = second


class Faceless(Exception):
    """Its `str` raises."""

    def __str__(self) -> str:
        message = "no face"
        raise RuntimeError(message)


@dataclass(frozen=True)
class Animal:
    """One odd value.

    Args:
        make: Returns or raises it.
        back: What must come back from the store; None where only a mark or a preview can.
        raises: It raises.
    """

    make: Callable[[], Any]
    back: Callable[[Any], bool] = lambda value: value is not None
    raises: bool = False


def _same(value: Any) -> Animal:
    return Animal(lambda: value, lambda back: back == value and type(back) is type(value))


def _deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(DEEP):
        value = [value]
    return value


def _raise(error: BaseException) -> NoReturn:
    raise error


def _cycle() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


ZOO: dict[str, Animal] = {
    "nul": _same({"body": "a\x00b", "k\x00": 1}),
    "surrogate": _same("x\ud835y"),
    "surrogate escape": _same(["\udc81"]),
    "nan": Animal(lambda: {"a": math.nan}, lambda back: math.isnan(back["a"])),
    "infinity": _same([math.inf, -math.inf]),
    "bytes": _same(b"\x00\xff\xfe"),
    "decimal": _same({"price": Decimal("1.10")}),
    "fraction": _same(fractions.Fraction(1, 3)),
    "aware": _same(dt.datetime(2026, 3, 29, 2, 30, tzinfo=dt.UTC)),
    "naive": _same(dt.datetime(2026, 3, 29, 2, 30)),  # noqa: DTZ001 - tools return such
    "date": _same(dt.date(2026, 2, 28)),
    "uuid": _same(uuid.UUID(int=7)),
    "set": Animal(lambda: {1, 2}, lambda back: set(back) == {1, 2}),
    "tuple": Animal(lambda: (1, "a"), lambda back: list(back) == [1, "a"]),
    "path": Animal(lambda: PurePosixPath("/etc/hosts")),
    "enum": Animal(lambda: Colour.RED),
    "huge number": _same(10**5000),
    "12 MB": Animal(lambda: "é" * (LONG // 2)),
    "deep": Animal(_deep),
    "cycle": Animal(_cycle),
    "object": Animal(Unserialisable),
    "generator": Animal(lambda: (n for n in range(3))),
    "function": Animal(lambda: _deep),
    "class": Animal(lambda: Unserialisable),
    "raises faceless": Animal(lambda: _raise(Faceless()), raises=True),
    "raises two arguments": Animal(
        lambda: _raise(TwoArguments("a\x00\ud835", object())),
        raises=True,
    ),
    "raises 12 MB": Animal(lambda: _raise(ValueError("x" * LONG)), raises=True),
    "raises exit": Animal(lambda: _raise(SystemExit(3)), raises=True),
    "raises interrupt": Animal(lambda: _raise(KeyboardInterrupt()), raises=True),
    "raises stop iteration": Animal(lambda: _raise(StopIteration(1)), raises=True),
    "raises recursion": Animal(lambda: _raise(RecursionError("deep")), raises=True),
    "raises group": Animal(lambda: _raise(ExceptionGroup("two", [ValueError("a")])), raises=True),
}
