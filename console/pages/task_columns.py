"""The columns of the task list: which there are besides the fixed ones, and what stands in them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from console.queries import TaskRow

#: Between "Step" and "Moved"; in this order until somebody puts them into another.
COLUMNS: Final[dict[str, Any]] = {
    "agent": _("Agent"),
    "id": _("Id"),
    "created": _("Created"),
    "ended": _("Ended"),
    "duration": _("Duration"),
    "attempts": _("Attempts"),
    "worker": _("Worker"),
    "queue": _("Queue"),
    "priority": _("Priority"),
    "labels": _("Labels"),
    "key": _("Key"),
    "by": _("Created by"),
    "epoch": _("Epoch"),
    "deaths": _("Workers lost"),
    "events": _("Events"),
}
NUMBERS: Final = frozenset({"duration", "attempts", "priority", "epoch", "deaths", "events"})


@dataclass(frozen=True, slots=True)
class Column:
    """One optional column."""

    name: str
    words: str
    is_number: bool
    is_shown: bool = True


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a column of one row.

    Args:
        kind: ``time``, ``span``, ``id``, ``text`` or ``number``.
        value: An instant, seconds, or anything with a text; None shows a dash.
    """

    column: Column
    kind: str
    value: Any


def known(names: object) -> list[str]:
    """Give those of these names that are columns, each once, in their order."""
    wanted = map(str, names) if isinstance(names, list | tuple) else ()
    return [name for name in dict.fromkeys(wanted) if name in COLUMNS]


def columns(names: Iterable[str]) -> list[Column]:
    """Give the columns of these names."""
    return [Column(name, str(COLUMNS[name]), name in NUMBERS) for name in names]


def choices(shown: Sequence[str]) -> list[Column]:
    """Give all columns, each with whether it is shown: those that are first, in their order."""
    others = [name for name in COLUMNS if name not in shown]
    return [
        Column(name, str(COLUMNS[name]), name in NUMBERS, name in shown)
        for name in (*shown, *others)
    ]


def moved(names: Sequence[str], name: str, step: int) -> list[str]:
    """Give columns in the order in which one of them stands further right, or left.

    Args:
        names: The columns that are shown.
        name: Which one; one that is not shown moves nothing.
        step: 1 to the right, -1 to the left; at the end it stays.
    """
    found = list(names)
    if name in found:
        at = found.index(name)
        found.insert(min(max(at + step, 0), len(found)), found.pop(at))
    return found


def cells(
    row: TaskRow, shown: Sequence[Column], workers: Mapping[UUID, str], now: datetime
) -> list[Cell]:
    """Fill the columns of a row.

    Args:
        row: The task.
        shown: Which columns.
        workers: Names of the workers that hold tasks.
        now: Up to when a living task has lasted.
    """
    return [Cell(one, *_cell(one.name, row, workers, now)) for one in shown]


def _cell(name: str, row: TaskRow, workers: Mapping[UUID, str], now: datetime) -> tuple[str, Any]:
    match name:
        case "created" | "ended":
            return "time", row.created_at if name == "created" else row.finished_at
        case "duration":
            return "span", ((row.finished_at or now) - row.created_at).total_seconds()
        case "worker":
            return "text", workers.get(row.owner, str(row.owner)) if row.owner else None
        case "labels":
            return "text", ", ".join(f"{k}: {v}" for k, v in sorted(row.labels.items())) or None
        case _:
            return _plain_cell(name, row)


def _plain_cell(name: str, row: TaskRow) -> tuple[str, Any]:
    if name == "id":
        return "id", row.id
    values = {
        "agent": row.agent,
        "queue": row.queue,
        "key": row.key or None,
        "by": row.created_by or None,
        "attempts": row.attempt,
        "priority": row.priority,
        "epoch": row.epoch,
        "deaths": row.deaths,
        "events": row.seq,
    }
    return ("number" if name in NUMBERS else "text"), values[name]
