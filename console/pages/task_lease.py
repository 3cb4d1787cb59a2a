"""How a task went from hand to hand, as far as anything recorded it.

Pure.  Claims and releases leave no event of their own: who wrote which events, the epochs that the
ledger kept, deaths and what people did are put together, and where nothing is known that is said.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext as _

from console.pages.words import actor
from console.queries import Holding, Taking
from runtime.api import RefusalView, TaskDetail


@dataclass(frozen=True, slots=True)
class Tenure:
    """One worker's run of events, and how it came to an end.

    Args:
        epochs: Epochs under which it is known to have written; empty where the ledger has none.
        lamp: ``moving`` while it holds the task, ``stop`` where it was cut off, else ``ended``.
        ending: How it ended, in words; names and reasons of people stand in them.
        late: Late writes of this worker that were refused.
    """

    holding: Holding
    epochs: str
    lamp: str
    ending: str
    late: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """What is known about the hands of a task.

    Args:
        holdings: The newest first.
        epochs: Events at which an effect was settled, with the epoch of that write.
        takings: When somebody took it out of a worker's hands.
        refusals: Late writes that moved nothing.
        present: The epoch that stands in its row.
    """

    task: TaskDetail
    holdings: Sequence[Holding]
    epochs: Sequence[tuple[int, int]]
    takings: Sequence[Taking]
    refusals: Sequence[RefusalView]
    present: int


def tenures(records: Records) -> list[Tenure]:
    """Tell of each run of events how it ended, the newest first."""
    return list(_tenures(records))


def _tenures(records: Records) -> Iterator[Tenure]:
    newer: Holding | None = None
    told: set[UUID] = set()
    for held in records.holdings:
        lamp, ending = _ending(records, held, newer)
        # Of a worker that came back, what it brought late belongs to its last time.
        is_new = held.worker_id not in told
        late = [one for one in records.refusals if is_new and one.worker_id == held.worker_id]
        known = {one.epoch for one in late} | _settled(records, held)
        if newer is None and _is(records.task.owner, held.worker_id):
            known.add(records.present)
        yield Tenure(held, _range(known), lamp, ending, len(late))
        told.add(held.worker_id)
        newer = held


def _ending(records: Records, held: Holding, newer: Holding | None) -> tuple[str, str]:
    task = records.task
    if newer is None and _is(task.owner, held.worker_id):
        return "moving", _("It holds the task.")
    if newer is None and task.ended and held.last_seq == task.version:
        return "done", _("The task ended in its hands.")
    taken = _taken(records.takings, held, newer)
    if taken is not None:
        told = {"who": actor(taken.by), "why": taken.reason}
        return "stop", _("%(who)s took it away: %(why)s") % told
    if held.died_with_it and (newer is None or _is_before(held, newer)):
        return "stop", _("Its worker died with it: %(death)s") % {"death": held.death or "?"}
    return "ended", _("Given back; no event tells when.")


def _taken(takings: Sequence[Taking], held: Holding, newer: Holding | None) -> Taking | None:
    until = newer.first_at if newer is not None else None
    return next(
        (one for one in takings if held.last_at <= one.at and (until is None or one.at <= until)),
        None,
    )


def _is_before(held: Holding, newer: Holding) -> bool:
    return held.ended_at is None or held.ended_at <= newer.first_at


def _settled(records: Records, held: Holding) -> set[int]:
    return {epoch for seq, epoch in records.epochs if held.first_seq <= seq <= held.last_seq}


def _range(epochs: set[int]) -> str:
    if len(epochs) < 2:  # noqa: PLR2004 (one alone is no range)
        return "".join(map(str, epochs))
    return f"{min(epochs)}–{max(epochs)}"


def _is(one: object, other: UUID) -> bool:
    return str(one) == str(other)
