"""Reading the ledger of effects."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from runtime.store.session import execute


@dataclass(frozen=True, slots=True)
class Entry:
    """One operation as the ledger has it."""

    id: str
    call_id: str
    status: str
    dispatches: int
    age_s: float


def entry(operation_id: str) -> Entry | None:
    """Read one operation; its age counts from the first dispatch."""
    rows = execute(
        "SELECT id, call_id, status, dispatches, extract(epoch FROM "
        "runtime_now() - coalesce(first_dispatched_at, reserved_at))::float8 "
        "FROM runtime_operation WHERE id = %s",
        (operation_id,),
    )
    return Entry(*rows[0]) if rows else None


def confirmed(task_id: UUID) -> dict[tuple[str, str], str]:
    """Give the call of each confirmed write, by tool and digest of what makes it the same."""
    rows = execute(
        "SELECT tool, same_digest, call_id FROM runtime_operation "
        "WHERE task_id = %s AND status IN ('confirmed', 'reconciled')",
        (task_id,),
    )
    return {(tool, same): call_id for tool, same, call_id in rows}


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect of a task, for people."""

    operation_id: str
    call_id: str
    tool: str
    effect: str
    status: str
    dispatches: int
    external_id: str | None
    first_dispatched_at: datetime | None
    settled_at: datetime | None
    note: str


def effects(task_id: UUID) -> list[Effect]:
    """List the effects of a task in the order they were decided."""
    rows = execute(
        "SELECT id, call_id, tool, effect, status, dispatches, external_id, first_dispatched_at, "
        "settled_at, note FROM runtime_operation WHERE task_id = %s ORDER BY reserved_at, id",
        (task_id,),
    )
    return [Effect(*row) for row in rows]
