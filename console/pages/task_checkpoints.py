"""Two checkpoints beside each other: what was added, removed and changed, key by key.

Pure.  A checkpoint is small and flat but for three parts, so a key-wise difference says more than
one of lines.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runtime.core.checkpoint import Checkpoint


class Mark(StrEnum):
    """How a key differs."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Field:
    """One key of two checkpoints with its values as text; empty where it is absent."""

    name: str
    mark: Mark
    before: str
    after: str


def flat(checkpoint: Checkpoint) -> dict[str, str]:
    """Give a checkpoint as names and texts; what is absent is left out."""
    return dict(_flat("", checkpoint._asdict()))


def compare(before: Checkpoint, after: Checkpoint) -> list[Field]:
    """Compare two checkpoints of one task, key by key, in the order a checkpoint has."""
    one, other = flat(before), flat(after)
    names = [*one, *(name for name in other if name not in one)]
    order = {name: at for at, name in enumerate(Checkpoint._fields)}
    names.sort(key=lambda name: order[name.partition(".")[0]])
    return [_field(name, one.get(name), other.get(name)) for name in names]


def _field(name: str, before: str | None, after: str | None) -> Field:
    if before is None:
        return Field(name, Mark.ADDED, "", after or "")
    if after is None:
        return Field(name, Mark.REMOVED, before, "")
    return Field(name, Mark.SAME if before == after else Mark.CHANGED, before, after)


def _flat(prefix: str, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if value is None or value == "":
            continue
        if hasattr(value, "__slots__") and not isinstance(value, str | int):
            parts = {part: getattr(value, part) for part in value.__slots__}
            yield from _flat(f"{prefix}{name}.", parts)
        else:
            yield f"{prefix}{name}", _text(value)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
