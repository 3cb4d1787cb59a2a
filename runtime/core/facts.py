"""Reading the facts of an event's payload: each as what it must be, or not at all.

A journal is read for ever, also after it was damaged or written by a later version.  ``apply``
calls these and turns what they raise into one error of its own.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any


def text(facts: Mapping[str, Any], name: str) -> str:
    """Give a fact that is a text.

    Raises:
        KeyError: It is missing.
        TypeError: It is something else.
    """
    value = facts[name]
    if not isinstance(value, str):
        raise TypeError(name)
    return value


def text_or_none(facts: Mapping[str, Any], name: str) -> str | None:
    """Give a fact that is a text or absent.

    Raises:
        TypeError: It is something else.
    """
    return None if facts.get(name) is None else text(facts, name)


def instant(facts: Mapping[str, Any], name: str) -> str:
    """Give a fact that is an instant with its zone, as the text it is.

    Raises:
        KeyError: It is missing.
        TypeError: It is no text.
        ValueError: It is no instant, or has no zone.
    """
    value = text(facts, name)
    if datetime.fromisoformat(value).tzinfo is None:
        raise ValueError(name)
    return value


def instant_or_none(facts: Mapping[str, Any], name: str) -> str | None:
    """Give a fact that is an instant or absent.

    Raises:
        TypeError: It is no text.
        ValueError: It is no instant, or has no zone.
    """
    return None if facts.get(name) is None else instant(facts, name)


def count(facts: Mapping[str, Any], name: str) -> int:
    """Give a fact that is a number of things.

    Raises:
        KeyError: It is missing.
        TypeError: It is something else.
        ValueError: It is negative.
    """
    value = facts[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(name)
    if value < 0:
        raise ValueError(name)
    return value


def truth(facts: Mapping[str, Any], name: str, *, absent: bool | None = None) -> bool:
    """Give a fact that is true or false; ``absent`` is what it means to be missing.

    Raises:
        KeyError: It is missing and must not be.
        TypeError: It is something else.
    """
    value = facts[name] if absent is None else facts.get(name, absent)
    if not isinstance(value, bool):
        raise TypeError(name)
    return value


def part(facts: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Give a fact that holds facts of its own.

    Raises:
        KeyError: It is missing.
        TypeError: It is something else.
    """
    value = facts[name]
    if not isinstance(value, Mapping):
        raise TypeError(name)
    return value


def parts(facts: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Give a fact that is a list of such; empty when it is absent.

    Raises:
        TypeError: It is something else.
    """
    value = facts.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        raise TypeError(name)
    return value
