"""The manifest a task was pinned to beside what is deployed now, difference by difference.

Pure.  What differs in tools, version or planner is drift; limits and goal may simply have been
narrowed when the task was submitted, which is said.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext as _

from runtime.api import Agent
from runtime.core.manifest import pinned

_SHORT: Final = 12
_ABSENT: Final = "–"
_CHOSEN: Final = ("role", "goal", "retry", "approval", "on_failure", "labels")


@dataclass(frozen=True, slots=True)
class Pin:
    """One line of the comparison.

    Args:
        name: What is compared; a tool's name is foreign.
        pinned: As the task has it.
        deployed: As this installation has it now.
        mark: ``same``, ``drift``, ``narrowed``.
        says: The same in words.
        is_tool: It is the definition of a tool.
    """

    name: str
    pinned: str
    deployed: str
    mark: str
    says: str
    is_tool: bool = False


def compare(document: Mapping[str, Any], agent: Agent) -> list[Pin]:
    """Compare a pinned document with the agent of the same name; drift comes first.

    Args:
        document: As stored with the task; damaged parts count as absent.
        agent: As it is deployed.
    """
    manifest = agent.manifest
    now = pinned(manifest, agent.tool_hashes, "script", agent.version)
    pins = [*_tools(_part(document, "tool_hashes"), now["tool_hashes"])]
    for name, words in (("agent_version", _("version")), ("planner", _("planner"))):
        pins.append(_pin(words, _said(document.get(name)), _said(now[name]), "drift"))
    mine, theirs = _part(document, "manifest"), now["manifest"]
    pins += [
        _pin(name, _said(mine.get(name)), _said(theirs.get(name)), "narrowed") for name in _CHOSEN
    ]
    limits = _part(mine, "limits")
    pins += [
        _pin(f"limits.{name}", _said(limits.get(name)), _said(allowed), "narrowed")
        for name, allowed in theirs["limits"].items()
    ]
    return sorted(pins, key=lambda pin: ("drift", "narrowed", "same").index(pin.mark))


def drifts(pins: list[Pin]) -> int:
    """Count what is deployed otherwise than it was pinned."""
    return sum(pin.mark == "drift" for pin in pins)


def _tools(mine: Mapping[str, Any], theirs: Mapping[str, str]) -> Iterator[Pin]:
    for name in sorted({*mine, *theirs}):
        was, is_now = mine.get(name), theirs.get(name)
        if was is None:
            said = _("not given to this task")
            yield Pin(name, _ABSENT, _short(is_now), "narrowed", said, is_tool=True)
        elif is_now is None:
            said = _("gone: no tool of this name is deployed")
            yield Pin(name, _short(was), _ABSENT, "drift", said, is_tool=True)
        elif was != is_now:
            said = _("changed: its definition is another one")
            yield Pin(name, _short(was), _short(is_now), "drift", said, is_tool=True)
        else:
            yield Pin(name, _short(was), _short(is_now), "same", _("the same"), is_tool=True)


def _pin(name: str, was: str, is_now: str, mark: str) -> Pin:
    if was == is_now:
        return Pin(name, was, is_now, "same", _("the same"))
    said = _("differs")
    if mark == "narrowed":
        said = _("chosen for this task, or changed since")
    return Pin(name, was, is_now, mark, said)


def _part(document: Any, name: str) -> Mapping[str, Any]:
    found = document.get(name) if isinstance(document, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _short(digest: object) -> str:
    return str(digest)[:_SHORT]


def _said(value: object) -> str:
    if value is None or value in ("", {}, []):
        return _ABSENT
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_said(inner)}" for name, inner in value.items())
    return str(value)
