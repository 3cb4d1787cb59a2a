"""Each effect that happened beside what undoes it: the declared tool, and whether it could run now.

Pure.  Nothing is undone by this version; the tab says what its author declared, what stands in the
way, and, where nothing was declared, that only people can do it and by which id.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from console.pages import schemas
from console.queries import EffectLine, Result
from runtime.api import TaskDetail, ToolDescription
from runtime.core.ledger_words import Word


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that must hold before a compensation may run; names of tools in it are foreign.

    Args:
        lamp: ``done`` where it holds, ``stop`` where not, ``waiting`` where it is asked later,
            ``person`` where somebody decides.
    """

    lamp: str
    text: str


@dataclass(frozen=True, slots=True)
class Back:
    """The way back of one effect."""

    tool: str
    description: str
    effect: str
    arguments: Sequence[schemas.Row]
    conditions: Sequence[Condition]


@dataclass(frozen=True, slots=True)
class Pair:
    """A forward step and its way back; None where none is declared."""

    effect: EffectLine
    arguments: Any
    result: Result | None
    back: Back | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What the conditions are judged on.

    Args:
        tools: Of the agent as it is deployed, by name.
        hashes: Definition hashes by tool, as they were pinned: what the task may call at all.
        succeeded: Tools that succeeded in this task.
        writes: The limit of its writes; None for no limit.
    """

    task: TaskDetail
    tools: Mapping[str, ToolDescription]
    hashes: Mapping[str, Any]
    succeeded: Collection[str]
    writes: int | None


def back(effect: EffectLine, ground: Ground) -> Back | None:
    """Give the way back of an effect; None where its author named no tool."""
    forward = ground.tools.get(effect.tool)
    if forward is None or not forward.compensate:
        return None
    tool = ground.tools.get(forward.compensate)
    if tool is None:
        gone = _("No tool of this name is deployed.")
        return Back(forward.compensate, "", "", (), (Condition("stop", gone),))
    return Back(
        tool.name,
        tool.description,
        tool.effect,
        schemas.rows(tool.schema),
        tuple(_conditions(effect, tool, ground)),
    )


def needed(effects: Sequence[EffectLine], tools: Mapping[str, ToolDescription]) -> set[str]:
    """Name the tools that must have succeeded before the ways back of these effects are open."""
    forward = (tools.get(effect.tool) for effect in effects)
    backs = (tools.get(one.compensate or "") for one in forward if one is not None)
    return {name for one in backs if one is not None for name in one.requires}


def _conditions(effect: EffectLine, tool: ToolDescription, ground: Ground) -> Iterator[Condition]:
    if effect.word is Word.UNDONE:
        yield Condition("done", _("It was undone already."))
        return
    yield from _allowed(tool, ground)
    for name in tool.requires:
        if name in ground.succeeded:
            yield Condition("done", _("%(tool)s succeeded before it.") % {"tool": name})
        else:
            said = _("%(tool)s must succeed first, and has not.")
            yield Condition("stop", said % {"tool": name})
    if tool.when:
        said = _("%(rule)s must allow it; that is asked when it is called.")
        yield Condition("waiting", said % {"rule": tool.when})
    if tool.asks:
        yield Condition("person", _("A person must approve it."))
    if tool.is_write and ground.writes is not None and ground.task.writes >= ground.writes:
        yield Condition("stop", _("The task's limit of writes is used up."))
    if ground.task.ended:
        yield Condition("stop", _("The task has ended and calls nothing more."))


def _allowed(tool: ToolDescription, ground: Ground) -> Iterator[Condition]:
    pinned = ground.hashes.get(tool.name)
    if pinned is None:
        yield Condition("stop", _("The task's manifest leaves this tool out."))
    elif pinned != tool.definition_hash:
        yield Condition("stop", _("It is deployed otherwise than it was pinned."))
    else:
        yield Condition("done", _("The task may call it, as it was pinned."))
