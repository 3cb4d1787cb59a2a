"""The proof that everything stored about a task is what its journal says.

Pure: rows and events go in one after the other, sentences about what does not fit come out.  Memory
does not grow with the journal.  ``runtime.store.verify`` feeds it from the database.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from uuid import UUID

from runtime.core import checkpoint as cp
from runtime.core.apply import apply, created
from runtime.core.checkpoint import Checkpoint
from runtime.core.errors import CheckpointUnreadable, SignalboxError
from runtime.core.events import Event
from runtime.core.events import EventType as E
from runtime.core.keys import call_id
from runtime.core.records import Passage, Records, ResultRow, project
from runtime.core.states import TERMINAL, State

MOST_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task's row with what hangs on it.

    Args:
        pending_reviews: Ids of its review items that are open, or decided and not carried out.
        reviews: How many review items it has had.
        unread: Commands in its inbox that nobody has settled.
    """

    id: UUID
    state: str
    version: int
    situation: int
    checkpoint: str
    checksum: str
    held: bool
    owned: bool
    pending_reviews: tuple[str, ...]
    reviews: int
    unread: int


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One operation as the ledger has it."""

    id: str
    call_id: str
    tool: str
    effect: str
    status: str
    digest: str
    dispatches: int


class Audit:
    """One task under proof: feed events, results and ledger in order, then ask for the end."""

    def __init__(self, row: TaskRow) -> None:
        """Take the task's row."""
        self.row = row
        self.problems: list[str] = []
        self._at: Checkpoint | None = None
        self._seq = 0
        self._folds = True
        self._held = False
        self._asked = 0
        self._operations: dict[str, LedgerRow] = {}

    def says(self, problem: str) -> None:
        """Note a problem; of very many only the first are kept."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)

    # --- the journal -----------------------------------------------------------------------------

    def event(self, event: Event) -> ResultRow | None:
        """Take the next event; gives the result that must stand in the table for it."""
        if event.seq != self._seq + 1:
            self.says(f"its journal goes from event {self._seq} to event {event.seq}")
            self._folds = False
        self._seq = event.seq
        if not self._folds:
            return None
        try:
            return self._fold(event)
        except SignalboxError as error:
            self.says(f"event {event.seq} cannot be applied: {error}")
        except (KeyError, TypeError, ValueError) as error:
            self.says(f"event {event.seq} is damaged: {type(error).__name__}")
        self._folds = False
        return None

    def damaged(self, seq: int, why: str) -> None:
        """Take an event that cannot even be read."""
        self._seq, self._folds = seq, False
        self.says(f"event {seq} cannot be read: {why}")

    def _fold(self, event: Event) -> ResultRow | None:
        before = self._at
        after = created(event) if before is None else apply(before, event)
        self._at = after
        passage = Passage(before or after, event, after)
        records = project((passage,))
        self._note(records, event)
        self._check_outcomes(passage, records)
        return records.result

    def _note(self, records: Records, event: Event) -> None:
        if records.held is not None:
            self._held = records.held
        self._asked += records.opened is not None
        change = records.operation
        if change is None:
            return
        known = self._operations.get(change.operation_id)
        if known is not None and known.status not in change.allowed_from:
            self.says(
                f"event {event.seq} makes operation {change.operation_id} {change.status}, "
                f"which was {known.status} already"
            )
        self._operations[change.operation_id] = LedgerRow(
            change.operation_id,
            change.call_id,
            change.tool,
            change.effect,
            change.status,
            change.digest,
            (known.dispatches if known else 0) + change.dispatched,
        )

    def _check_outcomes(self, passage: Passage, records: Records) -> None:
        """Every call that leaves the checkpoint leaves it with exactly one outcome."""
        told = [records.result.call_id] if records.result else []
        if passage.event.type is E.TOOL_CALL_CANCELLED:
            told += [passage.event.call_id or "", *passage.event.payload.get("rest", ())]
        gone = _gone(passage.before, passage.after)
        if passage.before.pending is None and len(told) == 1:
            gone = gone or told  # a call that was never pending: decided and done in one event
        had, due = Counter(told), Counter(gone)
        if had == due:
            return
        for name in sorted(had.keys() | due.keys()):
            if had[name] != due[name]:
                self.says(
                    f"call {name} has {had[name]} outcomes at event {passage.event.seq}, "
                    f"where it should have {due[name]}"
                )

    # --- the tables ------------------------------------------------------------------------------

    def result(self, expected: ResultRow | None, found: ResultRow | None) -> None:
        """Hold one row of the results against the one its event makes; None for a missing one."""
        if expected == found:
            return
        if found is None:
            assert expected is not None  # noqa: S101 (they differ)
            self.says(f"the result of call {expected.call_id} is missing")
        elif expected is None:
            self.says(f"a result of call {found.call_id} is stored, and no event tells of it")
        else:
            names = ", ".join(_differing(expected, found))
            self.says(f"the result of call {expected.call_id} differs from its event in {names}")

    def ledger(self, found: Sequence[LedgerRow]) -> None:
        """Hold the ledger against what the events make of it."""
        rows = {row.id: row for row in found}
        for name in sorted({*rows, *self._operations} if self._folds else ()):
            expected, stored = self._operations.get(name), rows.get(name)
            if stored is None:
                self.says(f"operation {name} is missing in the ledger")
            elif expected is None:
                self.says(f"operation {name} stands in the ledger, and no event tells of it")
            elif stored != expected:
                names = ", ".join(_differing(expected, stored))
                self.says(f"operation {name} differs from its events in {names}")

    def end(self) -> None:
        """Hold the task's row against the folded checkpoint."""
        row = self.row
        if row.version != self._seq:
            self.says(f"its version is {row.version} and its journal ends at event {self._seq}")
        if cp.checksum(row.checkpoint) != row.checksum:
            self.says("its checkpoint does not fit its checksum")
        if self._folds and self._at is not None:
            self._check_checkpoint(self._at)
        if row.state in TERMINAL:
            self._check_ended()
        elif row.held != self._held and self._folds and not row.unread:
            self.says(f"it is {'' if row.held else 'not '}held, and its events say otherwise")
        if self._folds and row.reviews != self._asked:
            self.says(f"it has {row.reviews} review items, and its events ask {self._asked} times")
        self._check_reviews()

    def _check_checkpoint(self, at: Checkpoint) -> None:
        row = self.row
        if cp.encode(at) != row.checkpoint:
            self.says(f"its events fold to another checkpoint than the stored one{_where(row, at)}")
        if at.state != row.state:
            self.says(f"its state is {row.state} and its events say {at.state}")
        if at.situation != row.situation:
            self.says(f"its situation is {row.situation} and its events say {at.situation}")

    def _check_ended(self) -> None:
        if self.row.owned:
            self.says("it has ended and a worker still holds it")
        if self.row.unread:
            self.says(f"it has ended with {self.row.unread} unsettled commands in its inbox")

    def _check_reviews(self) -> None:
        row = self.row
        open_now = len(row.pending_reviews)
        if (row.state == State.WAITING_HUMAN) != (open_now == 1):
            self.says(f"it is in state {row.state} with {open_now} review items open")
        elif open_now and self._folds and row.pending_reviews[0] != self._waits_for():
            self.says("the open review item is not the one its checkpoint waits for")

    def _waits_for(self) -> str | None:
        wait = self._at.wait if self._at else None
        return wait.review_id if wait else None


def _gone(before: Checkpoint, after: Checkpoint) -> list[str]:
    """Name the calls that the earlier checkpoint has and the later one has not."""
    pending, queue = before.pending, before.queue
    if pending is None or (after.pending and after.pending.call_id == pending.call_id):
        return []
    gone = [pending.call_id]
    if queue is not None and after.pending is None:
        gone += [call_id(before.branch, before.step, n) for n in range(queue.next, queue.count)]
    return gone


def _differing(one: ResultRow | LedgerRow, other: ResultRow | LedgerRow) -> list[str]:
    names = (field.name for field in fields(one))
    return [name for name in names if getattr(one, name) != getattr(other, name)]


def _where(row: TaskRow, at: Checkpoint) -> str:
    """Name the parts in which the stored checkpoint differs, if it can be read."""
    try:
        stored = cp.decode(row.id, row.checkpoint)
    except CheckpointUnreadable:
        return ", which cannot be read"
    names = [name for name in at._fields if getattr(at, name) != getattr(stored, name)]
    return f" (in {', '.join(names)})" if names else ""
