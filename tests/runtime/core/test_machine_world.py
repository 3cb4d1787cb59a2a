"""A world that knows what really happened: the books may never say otherwise.

Tools succeed, refuse, are busy, lose their answer after or before the effect; workers die between
any two commits; people answer truthfully.  The driver here is the smallest one that keeps the
rules of the effect classes.  Whatever the order, nothing that happened is called failed, nothing
happens twice, and no fallback takes the place of a call that may have happened.
"""

from dataclasses import dataclass, field
from datetime import datetime

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from runtime.core import commands as c
from runtime.core.checkpoint import Pending
from runtime.core.effects import MEANINGS, Effect, effect_now
from runtime.core.retry import ErrorKind
from runtime.core.reviews import Kind
from runtime.core.states import TERMINAL, State
from tests.runtime.core.bookkeeping import POLICY, Book, decided, failure

_TTL_S = 1_000.0
_WRITES = [effect for effect in Effect if MEANINGS[effect].leaves_us]
_SETTLED_AS_DONE = {"confirmed", "reconciled"}

fates = st.sampled_from(
    ["done", "refused", "busy", "limited", "lost after", "lost before", "died after", "died before"]
)


@dataclass
class Downstream:
    """What the outside has done, by operation id."""

    effects: dict[str, int] = field(default_factory=dict)
    first_sent: dict[str, datetime] = field(default_factory=dict)

    def did(self, operation_id: str) -> bool:
        return self.effects.get(operation_id, 0) > 0

    def act(self, pending: Pending, *, remembers: bool) -> None:
        name = pending.operation_id or ""
        if not (remembers and self.did(name)):
            self.effects[name] = self.effects.get(name, 0) + 1


class World(RuleBasedStateMachine):
    """One task, its tools and its people."""

    @initialize(attempts=st.integers(1, 3))
    def begin(self, attempts: int) -> None:
        self.book = Book()
        self.outside = Downstream()
        self.policy = POLICY.model_copy(update={"attempts": attempts})
        self.number = self.found = 0
        self.with_fallback = False
        self.book.do(c.Start("w"))

    # --- the driver ------------------------------------------------------------------------------

    @property
    def state(self) -> State | None:
        return self.book.at.state if hasattr(self, "book") else None

    @property
    def pending(self) -> Pending:
        pending = self.book.at.pending
        assert pending is not None
        return pending

    def fresh(self, effect: Effect) -> c.Decided:
        self.number += 1
        return decided(effect, self.number)

    def class_now(self) -> Effect:
        sent = self.outside.first_sent.get(self.pending.operation_id or "", self.book.now)
        age_s = (self.book.now - sent).total_seconds()
        return effect_now(self.pending.effect, age_s=age_s, key_ttl_s=_TTL_S)

    @precondition(lambda self: self.state is State.PLANNING)
    @rule(effect=st.sampled_from(_WRITES), with_fallback=st.booleans(), fate=fates)
    def the_planner_decides_on_a_write(
        self, *, effect: Effect, with_fallback: bool, fate: str
    ) -> None:
        self.with_fallback = with_fallback
        self.dispatch(self.fresh(effect), fate)

    @precondition(lambda self: self.state is State.PLANNING)
    @rule(effects=st.lists(st.sampled_from(Effect), min_size=1, max_size=3))
    def the_planner_decides_on_several(self, effects: list[Effect]) -> None:
        self.with_fallback = False
        self.book.do(c.PlanCalls(tuple(self.fresh(effect) for effect in effects)))

    @precondition(lambda self: self.state is State.PLANNING)
    @rule(effect=st.sampled_from(_WRITES))
    def the_planner_repeats_itself(self, effect: Effect) -> None:
        self.book.do(c.Repeats(self.fresh(effect), "0.1.0"))

    @precondition(lambda self: self.state in {State.WAITING_TOOL_CALL, State.RETRYING})
    @rule(fate=fates, answers=st.booleans())
    def the_pending_call_goes_on(self, *, fate: str, answers: bool) -> None:
        wait = self.book.at.wait
        if wait is not None and wait.until is not None:
            self.book.now = max(self.book.now, datetime.fromisoformat(wait.until))
        if self.pending.dispatched:
            self.recover(fate, answers=answers)
        elif MEANINGS[self.pending.effect].leaves_us or self.state is State.RETRYING:
            self.dispatch(None, fate)
        else:
            self.hear(fate)

    def recover(self, fate: str, *, answers: bool) -> None:
        match self.class_now():
            case Effect.KEYED:
                self.dispatch(None, fate)
            case Effect.CHECKED if answers:
                happened = self.outside.did(self.pending.operation_id or "")
                self.book.do(c.Checked(happened, self.policy.attempts, "e" * 64))
            case Effect.CHECKED:
                self.fail(ErrorKind.AMBIGUOUS)
            case _:
                self.book.do(c.Doubted("its outcome was lost"))

    def dispatch(self, call: c.Decided | None, fate: str) -> None:
        self.book.do(c.Begin(call))
        pending = self.pending
        if pending.operation_id is not None and pending.dispatched:
            self.outside.first_sent.setdefault(pending.operation_id, self.book.now)
            once_more = self.outside.did(pending.operation_id)
            assert not (once_more and self.class_now() is not Effect.KEYED), "sent twice"
        self.hear(fate)

    def hear(self, fate: str) -> None:
        """Let the call have its fate, and tell the task what a driver would hear of it."""
        effect = self.pending.effect
        outside = MEANINGS[effect].leaves_us
        if fate == "refused" and self.outside.did(self.pending.operation_id or ""):
            fate = "done"  # a downstream that knows the id gives the answer it gave before
        if outside and fate in {"done", "lost after", "died after"}:
            self.outside.act(self.pending, remembers=self.class_now() is Effect.KEYED)
        match fate:
            case "done":
                self.book.do(c.Succeeded(None, "e" * 64, "done", 3))
                if not outside:
                    return
            case "refused":
                self.fail(ErrorKind.PERMANENT)
            case "busy":
                self.fail(ErrorKind.RETRYABLE)
            case "limited":
                self.fail(ErrorKind.RATE_LIMITED)
            case "lost after" | "lost before":
                said = ErrorKind.RETRYABLE if effect is Effect.KEYED else ErrorKind.AMBIGUOUS
                self.fail(said if outside else ErrorKind.RETRYABLE, declared=False)
            case _:
                pass  # the worker died: nobody tells the task anything

    def fail(self, kind: ErrorKind, *, declared: bool = True) -> None:
        instead = self.fresh(Effect.KEYED) if self.with_fallback else None
        self.book.do(
            c.Failed(
                None,
                failure(kind, declared=declared),
                self.policy,
                fallback=instead,
                effect_now=self.class_now(),
            )
        )
        self.with_fallback = self.with_fallback and self.book.at.state is not State.PLANNING
        if self.book.at.pending is not None and self.book.at.pending.fallback_for is not None:
            self.with_fallback = False

    # --- people and time -------------------------------------------------------------------------

    @precondition(lambda self: self.state is State.WAITING_HUMAN)
    @rule(by_hand=st.booleans())
    def a_person_decides_truthfully(self, *, by_hand: bool) -> None:
        wait, pending = self.book.at.wait, self.book.at.pending
        assert wait is not None
        name = (pending.operation_id if pending else None) or ""
        match Kind(wait.kind):
            case Kind.IN_DOUBT | Kind.KILLED_WORKER if self.outside.did(name):
                self.give_result()
            case Kind.RETRIES_EXHAUSTED if by_hand and name:
                self.outside.effects[name] = self.outside.effects.get(name, 0) + 1
                self.give_result()
            case Kind.REPEATED_WRITE if by_hand:
                self.give_result()
            case Kind.CHECKPOINT_UNREADABLE:
                self.book.do(self.book.settle("rebuild"))
            case _:
                self.book.do(self.book.settle("retry"))

    def give_result(self) -> None:
        self.book.do(self.book.settle("result", result_digest="e" * 64))

    @precondition(lambda self: self.state not in TERMINAL and self.found < self.number)
    @rule(kind=st.sampled_from([Kind.KILLED_WORKER, Kind.CHECKPOINT_UNREADABLE]))
    def something_is_found_at_a_claim(self, kind: Kind) -> None:
        self.found += 3
        self.book.do(c.Escalate(kind, "it was found at a claim"))

    @rule(seconds=st.sampled_from([1.0, 600.0]))
    def time_passes(self, seconds: float) -> None:
        self.book.later(seconds)

    @precondition(lambda self: self.state not in TERMINAL and self.number > 8)
    @rule()
    def somebody_cancels(self) -> None:
        self.book.do(c.Cancel("enough", "human:ann"))

    # --- the truth -------------------------------------------------------------------------------

    def teardown(self) -> None:
        if hasattr(self, "book") and self.book.sound:
            if self.book.at.state not in TERMINAL:
                self.book.do(c.GiveUp("its time is over"))
            self.the_books_are_true()

    @rule()
    def the_books_are_true(self) -> None:
        for name, count in self.outside.effects.items():
            assert count <= 1, "an effect happens once"
            assert self.book.operations[name] != "failed", "what happened is never called failed"
        for name, status in self.book.operations.items():
            if status in _SETTLED_AS_DONE and self.is_outside(name):
                assert self.outside.did(name), "what did not happen is never called done"
            if self.book.at.state in TERMINAL:
                assert status in {"confirmed", "reconciled", "failed", "in_doubt"}

    def is_outside(self, name: str) -> bool:
        return self.book.effects[name] in _WRITES


World.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, phases=[Phase.generate]
)
TestWorld = World.TestCase
