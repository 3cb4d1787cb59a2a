"""Calling: one call of a held task goes out, and what became of it is written.

Intent before effect, the lease last before the socket, the outcome as the tool's effect class says.
The driver decides which call it is.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from runtime.core import commands as c
from runtime.core.checkpoint import Checkpoint
from runtime.core.effects import Effect, effect_now
from runtime.core.errors import LeaseLost, SignalboxError
from runtime.core.payloads import CODEC
from runtime.core.retry import ErrorKind, Failure, classify
from runtime.core.reviews import Kind
from runtime.core.story import Decision
from runtime.engine import calls
from runtime.engine.calls import Call
from runtime.engine.context import Finished
from runtime.engine.desk import Desk, NotWritten
from runtime.engine.house import House
from runtime.engine.ports import CrashPoint
from runtime.engine.requests import (
    CallTimedOut,
    Close,
    InTransaction,
    Outcome,
    Raised,
    Returned,
    RollBack,
    Steps,
)
from runtime.store.commits import Attached
from runtime.store.session import AGAIN, LOST, forget_connection
from runtime.telemetry import Slice
from runtime.tools.registry import AnyTool

_LOG = logging.getLogger("runtime.driver")
_COMMIT_WITHIN_S = 5.0
_AT_ONCE_MS = 3
"""A read that took longer is written before anything else: it may be worth keeping."""


class Writing(Protocol):
    """Decides a command and writes it; False for an ending that the inbox held up."""

    def __call__(
        self,
        command: c.Command,
        attached: Attached | None = None,
        *,
        dispatches: bool = False,
        keeps_deaths: bool = False,
    ) -> Steps[bool]:
        """Write it."""
        ...


@dataclass
class Caller:
    """Makes the calls of one held task.

    Args:
        house: The worker.
        desk: The task.
        slice: The span of this stretch of work.
        write: How everything about it is written.
        tools: The task's tools as deployed, by name.
        resumed: The next call may have been under way in other hands.
        plans_at_once: Whether the planner is so quick that an outcome may wait for it.
        call: The call that is out, for what the fence refuses.
        outcome: What it gave, until that is written.
    """

    house: House
    desk: Desk
    slice: Slice
    write: Writing
    tools: dict[str, AnyTool]
    resumed: bool
    plans_at_once: Callable[[], bool]
    call: Call | None = None
    outcome: Outcome = None

    def recover(self, call: Call) -> Steps[None]:
        """Find out about a call whose intent is written and whose outcome is not known."""
        entry = self.desk.ports.books.operation(call.operation_id)
        age_s = entry.age_s if entry else 0.0
        tool = call.tool
        effect = effect_now(
            tool.effect,
            age_s=age_s,
            key_ttl_s=tool.key_ttl_s,
            has_check=tool.check is not None,
        )
        if effect is Effect.KEYED:
            if not (yield from self.breaker_is_open(tool, None)):
                yield from self.dispatch(call)
        elif effect is Effect.CHECKED:
            yield from self._check(call)
        else:
            why = f"{tool.name} was dispatched and its outcome was lost; it must not happen twice"
            yield from self.write(c.Doubted(why))

    def _check(self, call: Call) -> Steps[None]:
        """Ask the tool's own check whether a dispatched call happened."""
        if not self.house.may_call(self.desk.claimed.owner):
            raise LeaseLost(self.desk.claimed.id, self.desk.claimed.epoch)
        outcome = yield calls.check_request(call)
        if isinstance(outcome, Raised):
            failure = classify(outcome.error, Effect.CHECKED)
            yield from self._fail(call, _unclear(failure, failure.message), 0)
            return
        assert isinstance(outcome, Returned)  # noqa: S101 (an outcome is one of the two)
        attempts = calls.policy_of(self.desk, call.tool).attempts
        if not outcome.value:
            yield from self.write(c.Checked(False, attempts))  # noqa: FBT003 (the command's first fact)
            return
        kept = calls.keep(self.desk, outcome.value)
        command = c.Checked(True, attempts, kept.digest, kept.summary)  # noqa: FBT003
        if (yield from self.write(command, calls.attached_to(call, kept))):
            self._remember(call, kept)

    def breaker_is_open(self, tool: AnyTool, decided: c.Decided | None) -> Steps[bool]:
        """Park the task while its tool's breaker rests; False if the call may go out."""
        wait_s = self.house.admit(self.desk, tool)
        if wait_s <= 0:
            return False
        yield from self.write(c.Parked(decided, wait_s))
        return True

    # --- making a call ---------------------------------------------------------------------------

    def dispatch(self, call: Call) -> Steps[None]:
        """Write the intent, then make the call."""
        self._must_hold(call)
        begin = c.Begin(call.decided)
        attached = Attached(same_digest=call.same)
        pending = self.desk.at.pending
        # Sending it anew is no progress: a call that ends every worker must not go on for ever.
        again = pending is not None and pending.dispatched
        try:
            yield from self.write(begin, attached, dispatches=True, keeps_deaths=again)
        except NotWritten as error:
            if error.reason == "lease":
                self._must_hold(call)
                return
            why = f"the ledger holds an outcome of {call.operation_id} that this task does not know"
            yield from self.write(c.Escalate(Kind.PLAN_INVALID, why))
            return
        self.desk.ports.crash(CrashPoint.AFTER_INTENT)
        yield from self.perform(replace(call, decided=None))

    def _must_hold(self, call: Call) -> None:
        """The last check before a call goes out.

        Raises:
            LeaseLost: The lease ran out and was not renewed; the call is not made.
        """
        if not self.house.may_call(self.desk.claimed.owner):
            self.call = call
            raise LeaseLost(self.desk.claimed.id, self.desk.claimed.epoch)

    def perform(self, call: Call) -> Steps[None]:
        """Make a call whose intent is written, or that needs none, and write its outcome."""
        self._must_hold(call)
        desk, clock = self.desk, self.desk.ports.clock
        try:
            request = calls.request_of(desk, call, self._wires(call))
        except SignalboxError as error:
            yield from self.write(c.Escalate(Kind.PLAN_INVALID, str(error)))
            return
        self.call, started_s = call, clock.boottime_s()
        span = self.slice.call(call.tool.name, call.tool.effect, call.call_id, call.attempt)
        outcome = yield request
        span.end(outcome.error if isinstance(outcome, Raised) else None)
        self.outcome = outcome
        took_ms = int((clock.boottime_s() - started_s) * 1000)
        if isinstance(request, InTransaction):
            yield from self._settle_local(call, outcome, took_ms)
        else:
            desk.ports.crash(CrashPoint.AFTER_CALL)
            yield from self._settle(call, outcome, took_ms)
        if not desk.is_ahead:
            self.call, self.outcome = None, None

    def catch_up(self) -> Steps[None]:
        """Write the outcome that is kept back, if there is one."""
        if self.desk.is_ahead:
            yield from self.desk.catch_up()
            self.call, self.outcome = None, None

    def _wires(self, call: Call) -> calls.Wires:
        desk, house = self.desk, self.house
        return calls.Wires(
            heartbeat=lambda value: house.progress(desk, call.call_id, value),
            cancelled=lambda: house.wanted(desk.claimed.id),
            progress=self._earlier_progress(call),
        )

    def _earlier_progress(self, call: Call) -> object:
        """Give what an earlier attempt reported, also one that died with its worker."""
        resumed, self.resumed = self.resumed, False
        if call.tool.wants_ctx and (resumed or call.attempt > 1):
            return self.desk.ports.books.progress(self.desk.claimed.id, call.call_id)
        return None

    def _settle(self, call: Call, outcome: Outcome, took_ms: int) -> Steps[None]:
        if isinstance(outcome, Raised):
            failure = _failure(outcome.error, call)
            self.house.record(self.desk, call.tool, failure)
            yield from self._fail(call, failure, took_ms)
            return
        assert isinstance(outcome, Returned)  # noqa: S101 (an outcome is one of the two)
        self.house.record(self.desk, call.tool, None)
        kept = calls.keep(self.desk, outcome.value)
        command = c.Succeeded(call.decided, kept.digest, kept.summary, took_ms)
        if call.tool.effect is Effect.READ and took_ms < _AT_ONCE_MS and self.plans_at_once():
            self.desk.keep_back(command, calls.attached_to(call, kept))
            self._remember(call, kept)
            return
        if (yield from self.write(command, calls.attached_to(call, kept))):
            self._remember(call, kept)

    def _settle_local(self, call: Call, outcome: Outcome, took_ms: int) -> Steps[None]:
        """Write the step in the transaction of its own effect."""
        if isinstance(outcome, Raised):
            yield from self._fail(call, _failure(outcome.error, call), took_ms)
            return
        desk = self.desk
        desk.ports.crash(CrashPoint.IN_LOCAL_TRANSACTION)
        version, before, staged = desk.version, desk.at, desk.staged
        lost: Exception | None = None
        try:
            # From the step's write to its COMMIT the task's row is locked: a process that is
            # stopped just there must not keep the task from others until it wakes.
            desk.ports.books.hasten(_COMMIT_WITHIN_S)
            yield from self._settle(call, outcome, took_ms)
        except Exception as error:
            # Whatever is written about it must not go with the transaction, nor wait for it.
            yield RollBack()
            if not isinstance(error, (*LOST, *AGAIN)):
                raise
            lost = error
        else:
            try:
                yield Close()
            except Exception as error:  # noqa: BLE001 (told apart in the next lines)
                lost = error
        if lost is None or self._is_written_after_all(call, lost, version, before, staged):
            return
        if not isinstance(lost, (*LOST, *AGAIN)):
            # A constraint that is checked at COMMIT: the tool's own work was refused.
            yield from self._fail(call, _failure(lost, call), took_ms)

    def _is_written_after_all(
        self,
        call: Call,
        error: Exception,
        version: int,
        before: Checkpoint,
        staged: Decision | None,
    ) -> bool:
        """Find out what became of a local step; if nothing, everything is as it was before it."""
        desk = self.desk
        _LOG.warning("task %s: local step interrupted: %s", desk.claimed.id, error)
        forget_connection()
        if desk.resync(version, before, staged):
            return True
        desk.calls[:] = [one for one in desk.calls if one.call_id != call.call_id]
        desk.made = {made: by for made, by in desk.made.items() if by != call.call_id}
        return False

    def _remember(self, call: Call, kept: calls.Kept) -> None:
        tool = call.tool
        self.desk.calls.append(
            Finished(call.call_id, tool.name, "succeeded", kept.text, CODEC, kept.summary),
        )
        if tool.effect is not Effect.READ:
            self.desk.made[(tool.name, call.same)] = call.call_id

    def _fail(self, call: Call, failure: Failure, took_ms: int) -> Steps[None]:
        self.house.flush_progress(self.desk)
        desk, tool = self.desk, call.tool
        entry = None
        if tool.key_ttl_s is not None:
            entry = desk.ports.books.operation(call.operation_id)
        command = c.Failed(
            decided=call.decided,
            failure=failure,
            policy=calls.policy_of(desk, tool),
            fallback=calls.fallback_of(desk, call, self.tools),
            effect_now=effect_now(
                tool.effect,
                age_s=entry.age_s if entry else 0.0,
                key_ttl_s=tool.key_ttl_s,
                has_check=tool.check is not None,
            ),
            not_before_s=self.house.admit(desk, tool),
            took_ms=took_ms,
        )
        attached = Attached(
            arguments=call.text if call.decided is not None else None,
            same_digest=call.same,
        )
        given_up = len(desk.calls)
        if (yield from self.write(command, attached)) and desk.at.done > given_up:
            message = failure.message
            desk.calls.append(Finished(call.call_id, tool.name, "failed", None, CODEC, message))


def _failure(error: BaseException, call: Call) -> Failure:
    """Classify what a tool raised; a call that ran out of time is unknown, not failed."""
    if isinstance(error, CallTimedOut) and call.tool.effect not in (Effect.READ, Effect.LOCAL):
        return _unclear(classify(error, call.tool.effect), str(error))
    return classify(error, call.tool.effect)


def _unclear(failure: Failure, message: str) -> Failure:
    return Failure(ErrorKind.AMBIGUOUS, failure.after_s, message, failure.type_name)
