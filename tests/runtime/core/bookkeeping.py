"""A task whose every commit is checked against the laws of the machine, told independently of it.

Not a test: the tests of the machine and its models drive a ``Book`` and read what it kept.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from runtime.core import checkpoint as cp
from runtime.core import commands as c
from runtime.core.apply import apply, fold
from runtime.core.effects import MEANINGS, Effect
from runtime.core.events import Event
from runtime.core.events import EventType as E
from runtime.core.machine import Decision, create, decide
from runtime.core.payloads import decode, encode
from runtime.core.records import OperationChange, project
from runtime.core.retry import ErrorKind, Failure, RetryPolicy
from runtime.core.states import TERMINAL, State

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LONG = "n" * 64
POLICY = RetryPolicy(attempts=3)


class Loaded:
    """Dice of which the same seed gives the same throws."""

    def __init__(self, seed: int = 0) -> None:
        self._random = Random(seed)

    def random(self) -> float:
        return self._random.random()

    def uuid(self, now: datetime) -> str:  # noqa: ARG002 (the engine's has the time in it)
        return str(UUID(int=self._random.getrandbits(128)))


def decided(effect: Effect, number: int = 0, tool: str = "") -> c.Decided:
    """A call of an effect class; another number is another call, with names as long as may be."""
    name = (tool or f"{effect.value}_{number}_{LONG}")[:64]
    marks = f"{effect.value}{number}".encode().hex().ljust(64, "0")
    operation_id = f"op_{marks[:32]}" if MEANINGS[effect].is_write else None
    return c.Decided(name, effect, marks, {"number": number}, operation_id)


def failure(
    kind: ErrorKind = ErrorKind.RETRYABLE, *, declared: bool = True, after_s: float | None = None
) -> Failure:
    return Failure(kind, after_s, "it broke", "Broken", declared)


def on_the_wire(event: Event) -> Event:
    """The event as it comes back from the journal."""
    payload = decode(encode(dict(event.payload)).text)
    return Event(
        event.seq, event.type, payload, event.at, event.actor, event.call_id, event.cause, v=event.v
    )


_ALWAYS_MOVES = frozenset(
    {
        E.REVIEW_REQUESTED,
        E.REVIEW_CLOSED,
        E.TOOL_CALL_RECONCILED,
        E.STEP_SKIPPED,
        E.HOLD_PLACED,
        E.HOLD_RELEASED,
        E.TASK_COMPLETED,
        E.TASK_FAILED,
        E.TASK_ABORTED,
    }
)
# What may follow what in the ledger; None is an operation of which it knows nothing yet.
_FOLLOWS: Mapping[str | None, frozenset[str]] = {
    None: frozenset({"dispatched", "confirmed", "failed", "reconciled"}),
    "dispatched": frozenset({"dispatched", "confirmed", "failed", "in_doubt", "reconciled"}),
    "failed": frozenset({"dispatched", "confirmed", "failed", "reconciled"}),
    "in_doubt": frozenset({"in_doubt", "failed", "reconciled"}),
    "confirmed": frozenset(),
    "reconciled": frozenset(),
}


@dataclass
class Book:
    """A task with its journal, and beside it what the tables would hold."""

    now: datetime = NOON
    deadline_s: float = 3600.0
    at: cp.Checkpoint = field(init=False)
    journal: list[Event] = field(default_factory=list)
    results: dict[str, str] = field(default_factory=dict)
    cancelled: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    operations: dict[str, str] = field(default_factory=dict)
    dispatches: dict[str, int] = field(default_factory=dict)
    effects: dict[str, Effect] = field(default_factory=dict)
    reviews: dict[str, str] = field(default_factory=dict)
    plans: dict[int, list[c.Decided]] = field(default_factory=dict)
    out: str | None = None
    given_back: timedelta = timedelta()
    seeds: Random = field(default_factory=lambda: Random(7))
    sound: bool = True

    def __post_init__(self) -> None:
        first = create(self.now, "human:ann", self.deadline_s, {"agent": "clerk"})
        self.at = first.after
        self.journal.extend(on_the_wire(event) for event in first.events)

    # --- doing -----------------------------------------------------------------------------------

    def do(self, command: c.Command) -> list[E]:
        """Decide a command, hold it against every law, write it; gives the types of its events."""
        self.sound = True
        decision = self._decide_twice(self._renamed(command))
        self.sound = False
        self._check_journal(decision)
        self._check_situation(decision)
        self._write_rows(decision)
        self.at = decision.after
        self._check_standing()
        self.sound = True
        return [event.type for event in decision.events]

    def do_all(self, *commands: c.Command) -> "Book":
        for command in commands:
            self.do(command)
        return self

    def later(self, seconds: float) -> "Book":
        self.now += timedelta(seconds=seconds)
        return self

    @property
    def last(self) -> Mapping[str, Any]:
        return self.journal[-1].payload

    def told(self, kind: E) -> list[Mapping[str, Any]]:
        return [event.payload for event in self.journal if event.type is kind]

    def settle(self, decision: str, **more: Any) -> c.Settle:
        """The decision of a person on the open item."""
        wait = self.at.wait
        item = (wait.review_id if wait else None) or "no item"
        return c.Settle(item, decision, "because", "human:bea", **more)

    def plan(self) -> Sequence[c.Decided]:
        return self.plans[self.at.queue.seq] if self.at.queue else ()

    def _renamed(self, command: c.Command) -> c.Command:
        """Give every call that is decided an operation id of its own, as its place would."""
        match command:
            case c.PlanCalls(calls):
                return c.PlanCalls(tuple(self._named_anew(call) for call in calls))
            case c.Repeats(call):
                return replace(command, decided=self._named_anew(call))
            case c.Begin(call) | c.Succeeded(call) | c.Parked(call):
                return replace(command, decided=self._named_anew(call))
            case c.Failed(call):
                instead = self._named_anew(command.fallback)
                return replace(command, decided=self._named_anew(call), fallback=instead)
            case _:
                return command

    def _named_anew[Named: c.Decided | None](self, call: Named) -> Named:
        if call is None or call.operation_id is None:
            return call
        return replace(call, operation_id=f"op_{self.seeds.getrandbits(128):032x}")

    # --- the laws --------------------------------------------------------------------------------

    def _decide_twice(self, command: c.Command) -> Decision:
        seed, before, asked = self.seeds.getrandbits(32), self.at, copy.deepcopy(command)
        text = cp.encode(before)
        one, two = (
            decide(
                before,
                command,
                self.now,
                Loaded(seed),
                actor="worker:w",
                plan=self.plan(),
                task_id="t",
            )
            for _ in range(2)
        )
        assert one == two
        assert command == asked, "a command is not changed by deciding it"
        assert cp.encode(before) == text, "a checkpoint is not changed by deciding on it"
        for first, second in zip(one.events, two.events, strict=True):
            assert encode(dict(first.payload)).text == encode(dict(second.payload)).text
        return one

    def _check_journal(self, decision: Decision) -> None:
        assert decision.events
        assert [event.seq for event in decision.events] == list(
            range(self.at.seq + 1, self.at.seq + 1 + len(decision.events))
        )
        assert decision.passages[0].before == self.at
        stepwise = self.at
        for passage in decision.passages:
            stepwise = apply(stepwise, on_the_wire(passage.event))
            assert stepwise == passage.after
        self.journal.extend(on_the_wire(event) for event in decision.events)
        folded = fold(self.journal)
        assert folded == decision.after
        text = cp.encode(decision.after)
        assert cp.encode(folded) == text
        assert cp.decode("t", text, cp.checksum(text)) == decision.after
        assert len(text.encode()) < cp.LIMIT_BYTES

    def _check_situation(self, decision: Decision) -> None:
        for passage in decision.passages:
            out = self._out_after(passage.event)
            moved = passage.event.type in _ALWAYS_MOVES or out != self.out
            assert passage.after.situation == passage.before.situation + moved, passage.event
            self.out = out

    def _out_after(self, event: Event) -> str | None:
        """The write that is out in the world after an event."""
        match event.type:
            case E.TOOL_CALL_STARTED:
                leaves = MEANINGS[Effect(event.payload["effect"])].leaves_us
                return event.payload["operation_id"] if leaves else None
            case E.TOOL_CALL_FAILED:
                return self.out if event.payload.get("unknown") else None
            case E.TOOL_CALL_SUCCEEDED | E.TOOL_CALL_CANCELLED | E.TOOL_CALL_RECONCILED:
                return None
            case _:
                return self.out

    def _write_rows(self, decision: Decision) -> None:
        for passage in decision.passages:
            self._name_calls(passage.event)
            if passage.event.type is E.TOOL_CALL_CANCELLED:
                gone = [passage.event.call_id or "", *passage.event.payload["rest"]]
                self.cancelled += gone
        records = project(decision.passages)
        if records.result is not None:
            row = records.result
            assert row.call_id not in self.results
            self.results[row.call_id] = row.outcome
            assert row.position == len(self.results)
            assert row.chain == decision.after.chain
        if records.operation is not None:
            self._write_operation(records.operation)
        if records.closed is not None:
            assert self.reviews[records.closed.review_id] == "open", "closed exactly once"
            self.reviews[records.closed.review_id] = records.closed.status
        if records.opened is not None:
            assert records.opened.review_id not in self.reviews
            self.reviews[records.opened.review_id] = "open"
        for passage in decision.passages:
            if passage.event.type is E.REVIEW_CLOSED:
                wait = passage.before.wait
                assert wait is not None
                waited = self.now - datetime.fromisoformat(wait.since)
                self.given_back += max(waited, timedelta())
        assert records.ended is (decision.after.state in TERMINAL)

    def _name_calls(self, event: Event) -> None:
        calls = event.payload.get("calls", ())
        if "digest" in event.payload and "call_id" in event.payload:
            self.named.append(event.payload["call_id"])
        self.named += [call["call_id"] for call in calls]
        if event.type is E.PLAN_GENERATED:
            self.plans[event.seq] = [
                c.Decided(
                    call["tool"],
                    Effect(call["effect"]),
                    call["digest"],
                    call["arguments"],
                    call.get("operation_id"),
                )
                for call in calls
            ]

    def _write_operation(self, change: OperationChange) -> None:
        known = self.operations.get(change.operation_id)
        assert known is None or known in change.allowed_from, f"{known} -> {change}"
        assert change.status in _FOLLOWS[known], f"{known} -> {change}"
        assert change.effect is not Effect.READ
        assert change.settled is (change.status in {"confirmed", "failed", "reconciled"})
        self.operations[change.operation_id] = change.status
        self.effects[change.operation_id] = change.effect
        sent = self.dispatches.get(change.operation_id, 0) + change.dispatched
        self.dispatches[change.operation_id] = sent

    def _check_standing(self) -> None:
        at = self.at
        assert at.done == len(self.results)
        happened = [s for s in self.operations.values() if s in {"confirmed", "reconciled"}]
        assert at.writes == len(happened)
        given = timedelta(seconds=self.deadline_s) + self.given_back
        assert at.deadline == (NOON + given).isoformat()
        assert (at.pending is not None) is self._has_call()
        assert (at.wait is not None) is (at.state in {State.WAITING_HUMAN, State.RETRYING})
        open_items = [key for key, status in self.reviews.items() if status == "open"]
        asked = at.wait.review_id if at.state is State.WAITING_HUMAN and at.wait else None
        assert open_items == ([asked] if asked else [])
        assert self.out == self._dispatched()
        self._check_outcomes()

    def _has_call(self) -> bool:
        if self.at.state in {State.WAITING_TOOL_CALL, State.RETRYING}:
            return True
        return self.at.pending is not None and self.at.state is State.WAITING_HUMAN

    def _dispatched(self) -> str | None:
        pending = self.at.pending
        return pending.operation_id if pending is not None and pending.dispatched else None

    def _check_outcomes(self) -> None:
        """Every call that a decision named ends with exactly one outcome."""
        assert len(set(self.named)) == len(self.named), "an id names one call"
        outcomes = [*self.results, *self.cancelled]
        assert len(set(outcomes)) == len(outcomes), "one outcome each"
        assert set(outcomes) <= set(self.named)
        if self.at.state in TERMINAL:
            assert set(outcomes) == set(self.named), "no call without an outcome"
            assert self.at.pending is None
            assert self.at.queue is None
