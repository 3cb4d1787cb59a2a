"""Two checkpoints beside each other: what was added, removed and changed, key by key.

Pure.  A checkpoint is small and flat but for three parts, so a key-wise difference says more than
one of lines.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from console.pages.words import Worded
from runtime.core.checkpoint import Checkpoint

_WORDS: Final[Worded[str]] = Worded(
    {
        "state": pgettext_lazy("a checkpoint", "state"),
        "seq": pgettext_lazy("a checkpoint", "last event"),
        "situation": pgettext_lazy("a checkpoint", "situation"),
        "branch": pgettext_lazy("a checkpoint", "branch"),
        "step": pgettext_lazy("a checkpoint", "steps decided"),
        "done": pgettext_lazy("a checkpoint", "calls done"),
        "chain": pgettext_lazy("a checkpoint", "digest of the calls"),
        "writes": pgettext_lazy("a checkpoint", "writes made"),
        "deadline": pgettext_lazy("a checkpoint", "deadline"),
        "drift": pgettext_lazy("a checkpoint", "drift that was recorded"),
        "outcome": pgettext_lazy("a checkpoint", "outcome"),
        "result_digest": pgettext_lazy("a checkpoint", "digest of the result"),
        "pending.call_id": pgettext_lazy("a checkpoint", "next call"),
        "pending.tool": pgettext_lazy("a checkpoint", "its tool"),
        "pending.effect": pgettext_lazy("a checkpoint", "its effect class"),
        "pending.digest": pgettext_lazy("a checkpoint", "digest of its arguments"),
        "pending.args_seq": pgettext_lazy("a checkpoint", "event with its arguments"),
        "pending.args_index": pgettext_lazy("a checkpoint", "its place in that event"),
        "pending.operation_id": pgettext_lazy("a checkpoint", "its operation id"),
        "pending.attempt": pgettext_lazy("a checkpoint", "attempts that failed"),
        "pending.dispatched": pgettext_lazy("a checkpoint", "it may have gone out"),
        "pending.unclear": pgettext_lazy("a checkpoint", "an earlier attempt may have happened"),
        "pending.doubted": pgettext_lazy("a checkpoint", "a person is asked whether it happened"),
        "pending.again": pgettext_lazy("a checkpoint", "a person allowed it a second time"),
        "pending.fallback_for": pgettext_lazy("a checkpoint", "it replaces the call"),
        "queue.seq": pgettext_lazy("a checkpoint", "event with further calls"),
        "queue.next": pgettext_lazy("a checkpoint", "the next one of them"),
        "queue.count": pgettext_lazy("a checkpoint", "how many there are"),
        "wait.kind": pgettext_lazy("a checkpoint", "what it waits for"),
        "wait.until": pgettext_lazy("a checkpoint", "until when"),
        "wait.review_id": pgettext_lazy("a checkpoint", "the review"),
        "wait.since": pgettext_lazy("a checkpoint", "since when"),
        "wait.back_to": pgettext_lazy("a checkpoint", "the state it goes on in"),
    }
)


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

    @property
    def words(self) -> str:
        """What the key means."""
        return meaning(self.name)


def meaning(name: str) -> str:
    """Say what a key of a checkpoint means; empty for one that nobody knows."""
    return _WORDS.get(name, "")


def named(checkpoint: Checkpoint) -> list[tuple[str, str, str]]:
    """Give a checkpoint as key, what the key means, and text."""
    return [(name, meaning(name), text) for name, text in flat(checkpoint).items()]


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
        return _("yes") if value else _("no")
    return str(value)
