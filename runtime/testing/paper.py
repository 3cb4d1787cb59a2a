"""Books on paper: one task's truth in memory, under the guards the database's commit has.

The engine writes its steps here exactly as it would to PostgreSQL.  That nobody else writes is the
one thing left out: a lease on paper never runs out.
"""

from collections.abc import Callable, Sequence
from copy import replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from runtime.core import checkpoint as cp
from runtime.core.checkpoint import Checkpoint
from runtime.core.errors import LeaseLost, StaleVersion
from runtime.core.events import Event
from runtime.core.events import EventType as E
from runtime.core.payloads import CODEC, ArtifactRef, Encoded, decode, encode, preview
from runtime.core.records import OperationChange, Records, ResultRow, ReviewOpened, project
from runtime.core.states import TERMINAL, State
from runtime.engine.books import Standing
from runtime.engine.ports import Clock
from runtime.store.claims import Claimed
from runtime.store.commits import Attached, Commit, Holder, Refused
from runtime.store.inbox import Letter
from runtime.store.ledger import Entry
from runtime.store.tasks import NewTask, Result, Spec
from runtime.testing.facts import Ending, Item, Operation

_KEY: Final = b"runtime.testing: one key for every test"


class Paper:
    """The books of one task.

    Args:
        clock: The test's.
    """

    def __init__(self, clock: Clock) -> None:
        """Open empty books."""
        self._clock = clock
        self.states: list[State] = []
        self.events: list[Event] = []
        self.rows: list[tuple[ResultRow, Result]] = []
        self.operations: dict[str, Operation] = {}
        self.items: list[Item] = []
        self.ending = Ending()
        self.due_at: datetime | None = None
        self.deaths = self.epoch = 0
        self.held = False
        self._owner: UUID | None = None
        self._attention = self._attended = 0
        self._letters: list[Letter] = []
        self._stored: dict[str, Encoded] = {}
        self._progress: dict[str, object] = {}
        self._breakers: dict[tuple[str, str], tuple[dict[str, Any], datetime]] = {}

    def create(self, new: NewTask) -> None:
        """Write the task, as a submit does."""
        self._new = new
        self.checkpoint: Checkpoint = new.decision.after
        self.states.append(self.checkpoint.state)
        self.due_at = self._clock.now()
        self._append(new.decision.events)

    # --- for the rehearsal ------------------------------------------------------------------------

    def claim(self, owner: UUID) -> Claimed:
        """Take the task, whoever held it: the holder before is dead."""
        self._owner, self.epoch = owner, self.epoch + 1
        text = cp.encode(self.checkpoint)
        return Claimed(
            id=self._new.id,
            namespace=self._new.namespace,
            agent=self._new.agent,
            queue=self._new.queue,
            version=self.checkpoint.seq,
            situation=self.checkpoint.situation,
            checkpoint=text,
            checkpoint_sum=cp.checksum(text),
            epoch=self.epoch,
            attention=self._attention,
            attended=self._attended,
            held=self.held,
            deaths=self.deaths,
            owner=owner,
        )

    @property
    def open_item(self) -> Item | None:
        """The review item the task waits for."""
        wait = self.checkpoint.wait
        if self.checkpoint.state is not State.WAITING_HUMAN or wait is None:
            return None
        return next(item for item in self.items if item.id == wait.review_id)

    def deliver(self, kind: str, payload: dict[str, Any], actor: str) -> None:
        """Put a command into the inbox."""
        number = len(self._letters) + 1
        plain = decode(encode(payload).text, CODEC)
        self._letters.append(Letter(number, kind, actor, "test", f"letter-{number}", plain))
        self._attention += 1

    def note_progress(self, call_id: str, progress: object) -> None:
        """Keep what a running call reported."""
        self._progress[call_id] = decode(encode(progress).text, CODEC)

    # --- what a task is ---------------------------------------------------------------------------

    def digest_key(self, _namespace: str) -> bytes:
        """Give the key every test has."""
        return _KEY

    def spec(self, _task_id: UUID) -> Spec:
        """Read input and pinned manifest."""
        return Spec(decode(self._new.input_text, CODEC), self._new.manifest_text, CODEC)

    def results(self, _task_id: UUID) -> Sequence[Result]:
        """Read the completed calls in their order."""
        return [result for _, result in self.rows]

    def answers(self, _task_id: UUID) -> list[dict[str, Any]]:
        """Read what people answered, oldest first."""
        questions = {item.id: item.question for item in self.items}
        return [
            {
                "question": questions[event.payload["review_id"]],
                "answer": event.payload["answer"],
                "by": event.payload["by"],
            }
            for event in self.events
            if event.type is E.HUMAN_ANSWERED
        ]

    def made(self, _task_id: UUID) -> dict[tuple[str, str], str]:
        """Give the call of each confirmed write, by tool and digest of what makes it the same."""
        return {
            (one.tool, one.same): one.call_id
            for one in self.operations.values()
            if one.status in {"confirmed", "reconciled"}
        }

    def event(self, _task_id: UUID, seq: int) -> dict[str, Any]:
        """Read the payload of one event."""
        return dict(self.events[seq - 1].payload)

    def journal(self, _task_id: UUID) -> Sequence[Event]:
        """Read all events in order."""
        return self.events

    # --- writing ----------------------------------------------------------------------------------

    def commit(self, step: Commit) -> int:
        """Write a step under the guards of `commit.sql`, all of them before anything is written."""
        records = project(step.decision.passages)
        self._check(step, records)
        self._append(step.decision.events)
        self.checkpoint = step.decision.after
        for passage in step.decision.passages:
            if passage.after.state is not self.states[-1]:
                self.states.append(passage.after.state)
        self._attended, self.deaths = step.attended, step.deaths
        if records.held is not None:
            self.held = records.held
        self._project(records, step.attached)
        settled = {one.inbox_id for one in step.consumed}
        self._letters = [one for one in self._letters if one.id not in settled]
        if step.parks or records.ended:
            self._give_back(None if records.ended else step.due_at, due_now=step.due_now)
        return self._attention

    def _check(self, step: Commit, records: Records) -> None:
        holder = step.holder
        if (holder.owner, holder.epoch) != (self._owner, self.epoch):
            raise LeaseLost(holder.task_id, holder.epoch, self.epoch)
        if step.version != self.checkpoint.seq:
            raise StaleVersion(holder.task_id, step.version)
        if (step.parks or records.ended) and self._attention != step.attended:
            raise Refused("attention", self.epoch)
        change = records.operation
        known = self.operations.get(change.operation_id) if change else None
        if change and known and known.status not in change.allowed_from:
            raise Refused("operation", self.epoch)

    def _append(self, events: Sequence[Event]) -> None:
        for event in events:
            plain = decode(encode(dict(event.payload)).text, CODEC)
            self.events.append(replace(event, payload=plain))

    def _project(self, records: Records, attached: Attached) -> None:
        if records.result is not None:
            self.rows.append((records.result, _result(records.result, attached)))
        if records.operation is not None:
            self._change(records.operation, attached)
        if records.closed is not None:
            self._close(records.closed.review_id)
        if records.opened is not None:
            self.items.append(_item(records.opened))
        if records.ended:
            text = attached.end_result
            result = None if text is None else decode(text, CODEC)
            self.ending = Ending(self._whole(result), attached.end_reason)

    def _change(self, change: OperationChange, attached: Attached) -> None:
        known = self.operations.get(change.operation_id)
        self.operations[change.operation_id] = Operation(
            id=change.operation_id,
            tool=known.tool if known else change.tool,
            call_id=known.call_id if known else change.call_id,
            status=change.status,
            dispatches=change.dispatched + (known.dispatches if known else 0),
            same=known.same if known else attached.same_digest or change.digest,
            first_at=known.first_at if known else self._clock.now(),
            note=change.note,
        )

    def _close(self, review_id: str) -> None:
        decision = next(
            event.payload["decision"]
            for event in reversed(self.events)
            if event.type is E.REVIEW_CLOSED and event.payload["review_id"] == review_id
        )
        self.items = [
            replace(one, decision=decision) if one.id == review_id else one for one in self.items
        ]

    def _give_back(self, due_at: datetime | None, *, due_now: bool) -> None:
        self._owner = None
        self.due_at = self._clock.now() if due_now else due_at

    def landed(self, _step: Commit) -> int | None:
        """Paper loses no connection.

        Raises:
            AssertionError: Always.
        """
        raise AssertionError

    def after_commit(self, then: Callable[[], None]) -> None:
        """Do it now."""
        then()

    def hasten(self, seconds: float) -> None:
        """Nobody waits for paper."""

    def standing(self, _task_id: UUID) -> Standing:
        """Give owner, epoch, attention and version as they are now."""
        return self._owner, self.epoch, self._attention, self.checkpoint.seq

    def release(
        self,
        _holder: Holder,
        attended: int,
        due_at: datetime | None = None,
        *,
        due_now: bool = False,
    ) -> bool:
        """Give the task back with no event."""
        if attended != self._attention:
            return False
        self._attended = attended
        self._give_back(due_at, due_now=due_now)
        return True

    # --- the inbox --------------------------------------------------------------------------------

    def letters(self, _task_id: UUID) -> Sequence[Letter]:
        """Read what waits in the inbox, first in first out."""
        return list(self._letters)

    def set_aside(self, letter: Letter, why: str) -> None:
        """Refuse: in a test a command that cannot be obeyed is a mistake of the test.

        Raises:
            AssertionError: Always.
        """
        message = f"{letter.kind} cannot be obeyed: {why}"
        raise AssertionError(message)

    # --- calls ------------------------------------------------------------------------------------

    def operation(self, operation_id: str) -> Entry | None:
        """Read one operation of the ledger."""
        known = self.operations.get(operation_id)
        if known is None:
            return None
        age_s = (self._clock.now() - known.first_at) / timedelta(seconds=1)
        return Entry(known.id, known.call_id, known.status, known.dispatches, age_s)

    def progress(self, _task_id: UUID, call_id: str) -> object:
        """Read the last progress of a call."""
        return self._progress.get(call_id)

    def keep(
        self, _namespace: str, _task_id: UUID, artifact_id: UUID, payload: Encoded
    ) -> tuple[str, str]:
        """Store a payload too large for a row."""
        handle = str(artifact_id)
        self._stored[handle] = payload
        ref = ArtifactRef(handle, payload.size, preview(payload), "payload")
        return encode(ref).text, handle

    def _whole(self, value: object) -> object:
        """Give the payload behind a marker."""
        if isinstance(value, ArtifactRef):
            return decode(self._stored[value.handle].text, CODEC)
        return value

    def value(self, row: Result) -> Any:
        """Give the whole value of a completed call."""
        return None if row.result is None else self._whole(decode(row.result, row.codec))

    def breakers(self) -> Sequence[tuple[str, str, dict[str, Any], datetime]]:
        """List the breakers of all tools."""
        return [(*key, body, at) for key, (body, at) in self._breakers.items()]

    def store_breaker(self, namespace: str, tool: str, body: dict[str, Any]) -> datetime:
        """Write a tool's breaker."""
        at = self._clock.now()
        self._breakers[namespace, tool] = (body, at)
        return at

    @property
    def ended(self) -> bool:
        """Whether nothing more can happen to the task."""
        return self.checkpoint.state in TERMINAL


def _result(row: ResultRow, attached: Attached) -> Result:
    return Result(
        call_id=row.call_id,
        tool=row.tool,
        effect=row.effect.value,
        outcome=row.outcome,
        result=attached.result,
        codec=CODEC,
        summary=row.summary,
        chain=row.chain,
    )


def _item(opened: ReviewOpened) -> Item:
    return Item(
        opened.review_id, opened.kind, opened.why, opened.question, opened.tool, opened.allowed
    )
