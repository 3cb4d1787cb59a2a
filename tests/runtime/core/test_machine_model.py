"""Commands in any order: whatever is asked of a task, the laws that ``Book`` states hold.

Half of the commands fit the state, the other half are any at all; what has no place is refused by
name and changes nothing.
"""

from collections.abc import Sequence

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from runtime.core import commands as c
from runtime.core.checkpoint import Checkpoint
from runtime.core.effects import Effect
from runtime.core.errors import DecisionRefused, NotAllowedNow
from runtime.core.retry import ErrorKind, Failure, RetryPolicy
from runtime.core.reviews import ALLOWED, Decision, Kind
from runtime.core.states import TERMINAL, State
from tests.runtime.core.bookkeeping import Book, decided, failure

_ENDINGS = (c.Finish, c.GiveUp, c.Exhaust, c.Cancel)

calls = st.builds(decided, st.sampled_from(Effect), st.integers(0, 10_000))
failures: st.SearchStrategy[Failure] = st.builds(
    failure,
    st.sampled_from(ErrorKind),
    declared=st.booleans(),
    after_s=st.sampled_from([None, 0.0, 30.0]),
)
policies = st.builds(RetryPolicy, attempts=st.integers(1, 3))
texts = st.sampled_from(["", "because", "\x00\ud800 …", "x" * 500])


def failed(call: st.SearchStrategy[c.Decided | None]) -> st.SearchStrategy[c.Failed]:
    return st.builds(
        c.Failed,
        call,
        failures,
        policies,
        fallback=st.none() | calls,
        effect_now=st.none() | st.sampled_from(Effect),
        not_before_s=st.sampled_from([0.0, 90.0]),
    )


def succeeded(call: st.SearchStrategy[c.Decided | None]) -> st.SearchStrategy[c.Succeeded]:
    return st.builds(c.Succeeded, call, st.just("e" * 64), texts, st.integers(0, 10))


plans = st.lists(calls, min_size=1, max_size=5, unique_by=lambda call: call.digest).map(
    lambda them: c.PlanCalls(tuple(them))
)
plainly = st.none()
decisions = st.sampled_from([*(choice.value for choice in Decision), "nonsense"])
settled = st.builds(c.Settle, st.sampled_from(["nobody's", ""]), decisions, texts, texts)
checks = st.builds(c.Checked, st.booleans(), st.integers(1, 3), st.just("e" * 64))
drifts = st.builds(c.Drifted, st.just({"tool": "changed"}), st.just("d" * 200))
escalations = st.builds(c.Escalate, st.sampled_from([*Kind, "nonsense"]), texts)
endings: st.SearchStrategy[c.Command] = st.one_of(
    st.builds(c.Finish, st.just("e" * 64), texts),
    st.builds(c.GiveUp, texts),
    st.builds(c.Exhaust, st.just("steps"), st.just("40")),
    st.builds(c.Cancel, texts, texts),
)
anything: st.SearchStrategy[c.Command] = st.one_of(
    st.builds(c.Start, texts),
    plans,
    st.just(c.PlanCalls(())),
    st.builds(c.Begin, plainly | calls),
    succeeded(plainly | calls),
    failed(plainly | calls),
    st.builds(c.Parked, plainly | calls, st.just(60.0)),
    st.builds(c.Doubted, texts),
    checks,
    st.builds(c.Repeats, calls, st.just("0.1.0")),
    st.builds(c.AskHuman, texts),
    st.builds(c.RejectPlan, texts),
    drifts,
    escalations,
    st.builds(c.Hold, texts, texts),
    st.builds(c.ReleaseHold, texts, texts),
    st.builds(c.RetryNow, texts, texts),
    settled,
)


def fitting(at: Checkpoint, book: Book) -> st.SearchStrategy[c.Command]:
    """Commands that a driver or a person may give in this state."""
    anywhere = st.one_of(drifts, st.builds(c.Hold, texts, texts), escalations)
    match at.state:
        case State.INITIALIZED:
            return st.just(c.Start("w"))
        case State.PLANNING:
            return st.one_of(
                plans,
                st.builds(c.Begin, calls),
                succeeded(calls),
                failed(calls),
                st.builds(c.Parked, calls, st.just(60.0)),
                st.builds(c.Repeats, calls, st.just("0.1.0")),
                st.builds(c.AskHuman, texts),
                st.builds(c.RejectPlan, texts),
            )
        case State.WAITING_TOOL_CALL | State.RETRYING:
            return st.one_of(
                st.just(c.Begin()),
                succeeded(plainly),
                failed(plainly),
                checks,
                st.builds(c.Doubted, texts),
                st.builds(c.Parked, plainly, st.just(60.0)),
                anywhere,
            )
        case _:
            offered: Sequence[str] = ["nonsense"]
            if at.wait is not None and at.wait.kind in Kind:
                offered = [d for d in ALLOWED[Kind(at.wait.kind)] if d is not Decision.ABORT]
            return st.sampled_from([book.settle(choice) for choice in offered])


class AnyOrder(RuleBasedStateMachine):
    """One task to which anything may happen."""

    @initialize(endless=st.integers(0, 3))
    def begin(self, endless: int) -> None:
        self.book = Book()
        self.ends = endless == 0

    def ask(self, command: c.Command) -> None:
        """Refused by name and unchanged, or written with every law held."""
        before, written = self.book.at, len(self.book.journal)
        try:
            self.book.do(command)
        except (NotAllowedNow, DecisionRefused):
            assert self.book.at == before
            assert len(self.book.journal) == written
        else:
            assert before.state not in TERMINAL

    @rule(data=st.data())
    def something_that_fits(self, data: st.DataObject) -> None:
        self.ask(data.draw(fitting(self.book.at, self.book)))

    @rule(data=st.data())
    def something_else_that_fits(self, data: st.DataObject) -> None:
        self.ask(data.draw(fitting(self.book.at, self.book)))

    @rule(command=anything)
    def anything_at_all(self, command: c.Command) -> None:
        self.ask(command)

    @rule(seconds=st.sampled_from([0.5, 120.0, 86_400.0]))
    def time_passes(self, seconds: float) -> None:
        self.book.later(seconds)

    @rule(command=endings)
    def an_ending(self, command: c.Command) -> None:
        if self.ends:
            self.ask(command)

    def teardown(self) -> None:
        """However it stands, it can be ended, and then nothing moves it any more."""
        if not hasattr(self, "book") or not self.book.sound:
            return
        if self.book.at.state not in TERMINAL:
            self.book.do(c.Cancel("enough", "human:ann"))
        assert self.book.at.state in TERMINAL


AnyOrder.TestCase.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, phases=[Phase.generate]
)
TestAnyOrder = AnyOrder.TestCase
