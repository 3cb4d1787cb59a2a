"""The desk: one held task, loaded, decided upon and written.

It joins the pure core to the store and nothing else: no tool is called here.  The driver of a
worker works at it, and so do the levers of people when no worker holds the task.
"""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from django.db import connection

from runtime.core import commands as c
from runtime.core.checkpoint import Checkpoint, Pending
from runtime.core.errors import LeaseLost
from runtime.core.events import Event
from runtime.core.events import EventType as E
from runtime.core.machine import decide, wakes_at
from runtime.core.manifest import Manifest
from runtime.core.states import RUNNABLE, TERMINAL
from runtime.core.story import Decision
from runtime.engine.books import Books
from runtime.engine.context import Finished, PlanContext, Results
from runtime.engine.planned import Planned
from runtime.engine.ports import CrashPoint, Ports
from runtime.engine.requests import Outcome, Raised, Returned, Steps, Write
from runtime.engine.snapshots import snapshot
from runtime.store.claims import Claimed
from runtime.store.commits import NOTHING, Attached, Commit, Consumed, Refused
from runtime.store.inbox import Letter
from runtime.store.session import AGAIN, LOST, forget_connection

_LOG = logging.getLogger("runtime.desk")
_ORDINARY = frozenset(
    {E.TASK_STARTED, E.PLAN_GENERATED, E.TOOL_CALL_STARTED, E.TOOL_CALL_SUCCEEDED},
)


class NotWritten(Exception):
    """A guard other than the fence refused a commit; ``reason`` names it."""

    def __init__(self, reason: str) -> None:
        """Take the guard."""
        super().__init__(reason)
        self.reason = reason


@dataclass
class Desk:
    """One held task.

    Args:
        ports: Clock, chance, crash points.
        claimed: Its row as of the claim.
        actor: Who works here: ``worker:<incarnation>`` or ``system``.
        at: Where the task stands; ahead of the database while something is staged.
        input: What it was asked.
        pinned: The pinned manifest with its hashes.
        manifest: The manifest itself.
        calls: Completed calls, oldest first.
        answers: What people answered.
        made: Confirmed writes, by tool and digest.
    """

    ports: Ports
    claimed: Claimed
    actor: str
    at: Checkpoint
    input: Any
    pinned: dict[str, Any]
    manifest: Manifest
    calls: list[Finished]
    answers: list[dict[str, Any]]
    made: dict[tuple[str, str], str]
    key: bytes
    version: int
    attention: int
    attended: int
    held: bool
    deaths: int
    parked: bool = False
    _staged: Decision | None = None
    _ahead: Attached | None = None
    _named: dict[int, dict[str, Any]] = field(default_factory=dict)

    # --- deciding --------------------------------------------------------------------------------

    def decide(self, command: c.Command, actor: str | None = None) -> Decision:
        """Ask the core what a command leads to; behind what is staged."""
        decision = decide(
            self.at,
            command,
            self.ports.clock.now(),
            self.ports.chance,
            actor=actor or self.actor,
            plan=self._plan(),
            task_id=self.claimed.id,
        )
        return decision if self._staged is None else self._staged.then(decision)

    def stage(self, command: c.Command) -> None:
        """Decide something that is written with the next commit."""
        self._staged = self.decide(command)
        self.at = self._staged.after

    def keep_back(self, command: c.Command, attached: Attached) -> None:
        """Decide the outcome of a read that is written with the ending, if one comes next.

        If anything else comes, ``catch_up`` writes it before that.  It is lost only with the
        process or the lease, and then the read is made again.
        """
        self.stage(command)
        self._ahead = attached

    @property
    def is_ahead(self) -> bool:
        """Whether an outcome is kept back."""
        return self._ahead is not None

    def catch_up(self) -> Steps[None]:
        """Write the outcome that is kept back by itself."""
        assert self._staged is not None  # noqa: S101 (it is part of what is kept back)
        yield from self.writing(self._staged)

    def context(self) -> PlanContext:
        """Give what a script planner may see."""
        return PlanContext(self.input, Results(self.calls), tuple(self.answers))

    def arguments(self) -> dict[str, Any]:
        """Give the stored arguments of the pending call, from the event that decided it."""
        pending = self.at.pending
        assert pending is not None  # noqa: S101 (the caller looks at the pending call)
        return self._arguments_of(pending)

    def _arguments_of(self, pending: Pending) -> dict[str, Any]:
        payload = self._event(pending.args_seq)
        named = payload if pending.args_index is None else payload["calls"][pending.args_index]
        return cast("dict[str, Any]", named["arguments"])

    def reload_answers(self) -> None:
        """Read again what people answered."""
        self.answers = self.ports.books.answers(self.claimed.id)

    def _event(self, seq: int) -> dict[str, Any]:
        if seq not in self._named:
            self._named[seq] = self.ports.books.event(self.claimed.id, seq)
        return self._named[seq]

    def _plan(self) -> Sequence[c.Decided]:
        if self.at.queue is None:
            return ()
        return Planned(self._event(self.at.queue.seq)["calls"])

    # --- writing ---------------------------------------------------------------------------------

    def write(
        self,
        decision: Decision,
        attached: Attached = NOTHING,
        *,
        dispatches: bool = False,
    ) -> bool:
        """Write a decision on the calling thread; see ``writing``."""
        return at_once(self.writing(decision, attached, dispatches=dispatches), self.ports.books)

    def writing(  # noqa: PLR0913 (one commit, one call)
        self,
        decision: Decision,
        attached: Attached = NOTHING,
        *,
        dispatches: bool = False,
        keeps_deaths: bool = False,
        letter: Letter | None = None,
        late: Sequence[Letter] = (),
    ) -> Steps[bool]:
        """Write a decision as one step commit.

        A commit after which nobody can go on gives the lease back as well, unless somebody raised
        the attention meanwhile: then a step is written and the lease stays, and an ending is not
        written at all.

        Returns:
            False if it was an ending and the inbox must be read first; nothing was written.

        Raises:
            LeaseLost: Another holder has the task; nothing was written.
            NotWritten: The lease ran out before a dispatch, or the operation is settled already.
        """
        after = decision.after
        if self._ahead is not None:
            attached = attached.behind(self._ahead)
        ends, leaves = after.state in TERMINAL, after.state not in RUNNABLE
        asked = next((e for e in decision.events if e.type is E.REVIEW_REQUESTED), None)
        if asked is not None:
            attached = replace(attached, snapshot=self._shown(decision, asked))
        step = Commit(
            holder=self.claimed.holder,
            version=self.version,
            decision=decision,
            attended=self.attended,
            parks=leaves,
            due_at=None if ends else _due_at(after),
            dispatches=dispatches,
            deaths=self.deaths if keeps_deaths else 0,
            attached=attached,
            consumed=_consumed(letter, late),
        )
        try:
            attention = yield from self._send(step)
        except Refused as refused:
            if refused.reason != "attention":
                raise NotWritten(refused.reason) from refused
            if ends:
                self.look_again()
                return False
            leaves = False
            attention = yield from self._send(_kept(step))
        self._moved_to(decision, step, attention)
        self.parked = leaves
        self._tell()
        return True

    def _tell(self) -> None:
        """Tell whoever watches, once what was written is there to be read."""
        hint = partial(self.ports.hints.moved, self.claimed.id, self.version)
        self.ports.books.after_commit(hint)

    def _send(self, step: Commit) -> Steps[int]:
        """Send one commit, over lost connections if need be, and be sure of what became of it."""
        pause_s, sent = 0.0, False
        while True:
            try:
                if sent:
                    found = self.ports.books.landed(step)
                    if found is not None:
                        return found
                self.ports.crash(CrashPoint.BEFORE_COMMIT)
                sent = True
                outcome = yield Write(step)
                if isinstance(outcome, Raised):
                    raise outcome.error
                assert isinstance(outcome, Returned)  # noqa: S101 (an outcome is one of the two)
            except AGAIN:
                if connection.in_atomic_block:
                    raise
                sent = False
            except LOST as error:
                if connection.in_atomic_block:
                    raise
                _LOG.warning("task %s: commit interrupted: %s", self.claimed.id, error)
                forget_connection()
                threading.Event().wait(pause_s)
                pause_s = min(pause_s * 2 + 0.02, 1.0)
            else:
                self.ports.crash(CrashPoint.AFTER_COMMIT)
                return int(outcome.value)

    def _shown(self, decision: Decision, asked: Event) -> str:
        self._remember_arguments(decision)
        pending = decision.after.pending
        arguments = self._arguments_of(pending) if pending else None
        return snapshot(decision.after, asked, self.input, self.calls, arguments)

    def _remember_arguments(self, decision: Decision) -> None:
        for event in decision.events:
            if "arguments" in event.payload or "calls" in event.payload:
                self._named[event.seq] = dict(event.payload)

    def _moved_to(self, decision: Decision, step: Commit, attention: int) -> None:
        self._staged = self._ahead = None
        self.at = decision.after
        self.version = decision.after.seq
        self.attention = attention
        self.deaths = step.deaths
        self._remember_arguments(decision)
        for event in decision.events:
            self._note(event)
            if event.type in {E.HOLD_PLACED, E.HOLD_RELEASED}:
                self.held = event.type is E.HOLD_PLACED

    @property
    def staged(self) -> Decision | None:
        """What is decided and not written yet."""
        return self._staged

    def resync(self, version: int, before: Checkpoint, staged: Decision | None) -> bool:
        """After a transaction of which nobody knows whether it was committed: find out.

        Returns:
            True if the step is written; False if everything is as it was before it.

        Raises:
            LeaseLost: Another holder has the task.
        """
        owner, epoch, attention, found = self.ports.books.standing(self.claimed.id)
        if owner != self.claimed.owner or epoch != self.claimed.epoch:
            raise LeaseLost(self.claimed.id, self.claimed.epoch, epoch)
        self.attention = attention
        if found == version:
            self.at, self.version, self._staged, self.parked = before, version, staged, False
            return False
        return True

    def look_again(self) -> None:
        """Read the attention that held up an ending or a release: the inbox is read first.

        Raises:
            LeaseLost: Another holder has the task.
        """
        owner, epoch, attention, _ = self.ports.books.standing(self.claimed.id)
        if owner != self.claimed.owner or epoch != self.claimed.epoch:
            raise LeaseLost(self.claimed.id, self.claimed.epoch, epoch)
        self.attention = attention

    def _note(self, event: Event) -> None:
        """Log an event with what identifies it: ordinary steps in detail only."""
        level = logging.DEBUG if event.type in _ORDINARY else logging.INFO
        if _LOG.isEnabledFor(level):
            facts = {
                "task_id": str(self.claimed.id),
                "agent": self.claimed.agent,
                "seq": event.seq,
                "call_id": event.call_id,
                "state": self.at.state.value,
                "actor": event.actor,
                "summary": _said(event),
            }
            _LOG.log(level, "%s", event.type.value, extra=facts)

    def park(self) -> bool:
        """Give the task back with no event; False when the inbox must be read first."""
        self.ports.crash(CrashPoint.BEFORE_RELEASE)
        holder, due_at = self.claimed.holder, _due_at(self.at)
        given = self.ports.books.release(holder, self.attended, due_at)
        self.parked = given or self._is_free()
        self.ports.crash(CrashPoint.AFTER_RELEASE)
        return self.parked

    def _is_free(self) -> bool:
        """Tell whether a release whose answer was lost has given the task back."""
        owner, epoch, _, _ = self.ports.books.standing(self.claimed.id)
        return owner is None and epoch == self.claimed.epoch

    def release(self) -> None:
        """Give the task back so that anybody can go on at once."""
        self.ports.crash(CrashPoint.BEFORE_RELEASE)
        holder = self.claimed.holder
        self.parked = self.ports.books.release(holder, self.attended, due_now=True)
        self.ports.crash(CrashPoint.AFTER_RELEASE)


def at_once[T](steps: Steps[T], books: Books) -> T:
    """Take steps that do nothing but write, each as it comes; for the levers of people."""
    outcome: Outcome = None
    try:
        while True:
            request = steps.send(outcome)
            assert isinstance(request, Write)  # noqa: S101 (a desk asks for nothing else)
            try:
                outcome = Returned(books.commit(request.step))
            except Exception as error:  # noqa: BLE001 (the desk tells them apart)
                outcome = Raised(error)
    except StopIteration as ended:
        return cast("T", ended.value)


def _said(event: Event) -> str:
    return str(event.payload.get("summary") or event.payload.get("why") or "")[:200]


def _due_at(checkpoint: Checkpoint) -> Any:
    due = wakes_at(checkpoint)
    return due if due is None or due.year > 1 else None


def _consumed(letter: Letter | None, late: Sequence[Letter]) -> tuple[Consumed, ...]:
    """Settle the letter that is obeyed, and those that came too late for a task it ends."""
    if letter is None:
        return ()
    refused = [Consumed(one.id, "the task has ended") for one in late]
    return (Consumed(letter.id), *refused)


def _kept(step: Commit) -> Commit:
    """The same commit without giving the lease back."""
    return Commit(
        holder=step.holder,
        version=step.version,
        decision=step.decision,
        attended=step.attended,
        dispatches=step.dispatches,
        deaths=step.deaths,
        attached=step.attached,
        consumed=step.consumed,
    )
