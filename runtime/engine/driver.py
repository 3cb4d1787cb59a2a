"""The driver: takes one held task as far as it can go.

A generator that reads like the life of a task.  Between two commits it yields what must be run and
is resumed with the outcome; all commits of the task pass through it, in order.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol
from uuid import UUID

from runtime.core import commands as c
from runtime.core.checkpoint import Checkpoint
from runtime.core.effects import Effect, effect_now
from runtime.core.error_text import safe_text
from runtime.core.errors import ArgumentsRefused, LeaseLost, PlanInvalid, SignalboxError
from runtime.core.payloads import CODEC
from runtime.core.plans import AnyPlan, AskPlan, CallPlan, FailPlan, FinishPlan, check_plan
from runtime.core.retry import ErrorKind, Failure, classify
from runtime.core.reviews import Kind
from runtime.core.states import TERMINAL, State
from runtime.core.story import Decision
from runtime.engine import calls
from runtime.engine.calls import Call
from runtime.engine.context import Finished
from runtime.engine.desk import Desk, NotWritten
from runtime.engine.letters import obey
from runtime.engine.ports import CrashPoint
from runtime.engine.requests import (
    CallTimedOut,
    Close,
    InTransaction,
    NextSlice,
    OnThread,
    Outcome,
    Raised,
    Returned,
    RollBack,
    Steps,
)
from runtime.store.journal import Attached
from runtime.store.session import (
    AGAIN,
    LOST,
    forget_connection,
)
from runtime.telemetry import Slice
from runtime.tools.agents import Agent
from runtime.tools.registry import AnyTool

_LOG = logging.getLogger("runtime.driver")
PLANNER_TIMEOUT_S = 30.0
_COMMIT_WITHIN_S = 5.0


class House(Protocol):
    """What a driver asks of the worker it runs in."""

    @property
    def stopping(self) -> bool:
        """Whether tasks are to be given back at their next commit."""
        ...

    def may_call(self, owner: UUID) -> bool:
        """Make sure that the lease holds, waiting for its renewal; False if it is lost."""
        ...

    def slice_over(self, since_s: float) -> bool:
        """Tell whether somebody else waits for this thread and our time is up."""
        ...

    def wanted(self, task_id: UUID) -> bool:
        """Tell whether somebody wants something of a task."""
        ...

    def progress(self, desk: Desk, call_id: str, progress: object) -> None:
        """Take progress of a running call; does not block."""
        ...

    def flush_progress(self, desk: Desk) -> None:
        """Write the progress that was taken, now."""
        ...

    def admit(self, desk: Desk, tool: AnyTool) -> float:
        """Ask the tool's breaker; gives the seconds to wait, 0 to go on."""
        ...

    def record(self, desk: Desk, tool: AnyTool, failure: Failure | None) -> None:
        """Tell the tool's breaker how a call went."""
        ...

    def refused(self, desk: Desk, what: str, call: Call | None, evidence: object) -> None:
        """Keep a write or call that the fence refused."""
        ...


@dataclass
class Driver:
    """One task under way in one worker.

    Args:
        house: The worker.
        desk: The held task.
        agent: Its agent as deployed.
        slice: The span of this stretch of work.
        after_commit: Told after each commit; an isolated worker stops after the first.
    """

    house: House
    desk: Desk
    agent: Agent
    slice: Slice
    after_commit: Callable[[], None] = lambda: None
    _call: Call | None = None
    _outcome: Outcome = None
    _since_s: float = 0.0
    _resumed: bool = False
    _tools: dict[str, AnyTool] = field(default_factory=dict)

    def script(self, first: c.Command | None = None) -> Steps[None]:
        """Run the task until it waits, ends or is taken away.

        Args:
            first: Decided and written before anything else: what was found wrong at the claim.
        """
        allowed = self.desk.manifest.tools
        deployed = self.agent.tools
        self._tools = {n: t for n, t in deployed.items() if allowed is None or n in allowed}
        self._since_s = self.desk.ports.clock.boottime_s()
        # Only the first call after a claim can have been under way in other hands.
        self._resumed = self.desk.claimed.epoch > 1
        try:
            if first is not None:
                yield from self._write(first)
            if not self.desk.parked and self.desk.at.state is not State.INITIALIZED:
                # A deploy may have come between the claim before and this one.
                self._look_for_drift()
            yield from self._live()
        except LeaseLost as lost:
            evidence = self._outcome.value if isinstance(self._outcome, Returned) else None
            what = "an outcome" if self._outcome is not None else "a step"
            _LOG.info("task %s: %s", self.desk.claimed.id, lost)
            self.house.refused(self.desk, what, self._call, evidence)

    # --- the loop --------------------------------------------------------------------------------

    def _live(self) -> Steps[None]:
        desk, house = self.desk, self.house
        while not desk.parked and desk.at.state not in TERMINAL:
            if desk.attention != desk.attended and not (yield from obey(desk)):
                return
            if desk.parked:
                return
            if house.stopping:
                desk.release()
                return
            if desk.held:
                if desk.park():
                    return
                self.desk.look_again()
                continue
            if house.slice_over(self._since_s):
                yield NextSlice()
                self._since_s = desk.ports.clock.boottime_s()
            yield from self._step()

    def _step(self) -> Steps[None]:
        match self.desk.at.state:
            case State.INITIALIZED:
                self.desk.stage(c.Start(str(self.desk.claimed.owner)))
                self._look_for_drift()
            case State.PLANNING:
                if not (yield from self._is_used_up()):
                    yield from self._plan()
            case State.WAITING_TOOL_CALL:
                yield from self._pending()
            case State.RETRYING:
                yield from self._retry()
            case _:
                if not self.desk.park():
                    self.desk.look_again()

    def _write(
        self,
        command: c.Command,
        attached: Attached | None = None,
        *,
        dispatches: bool = False,
        keeps_deaths: bool = False,
    ) -> Steps[bool]:
        """Decide a command and write it; False for an ending that the inbox held up."""
        decision = self.desk.decide(command)
        written = yield from self.desk.writing(
            decision, attached or Attached(), dispatches=dispatches, keeps_deaths=keeps_deaths
        )
        if written:
            self.after_commit()
        return written

    # --- limits ----------------------------------------------------------------------------------

    def _is_used_up(self) -> Steps[bool]:
        return (yield from self._over_its_deadline()) or (yield from self._out_of_steps())

    def _over_its_deadline(self) -> Steps[bool]:
        deadline = self.desk.at.deadline
        if deadline is None or self.desk.ports.clock.now() < datetime.fromisoformat(deadline):
            return False
        reason = "its deadline passed"
        yield from self._write(c.GiveUp(reason), Attached(end_reason=reason, end_search=reason))
        return True

    def _out_of_steps(self) -> Steps[bool]:
        allowed = self.desk.manifest.limits.steps
        return self.desk.at.step >= allowed and (yield from self._exhaust("steps", allowed))

    def _out_of_writes(self) -> Steps[bool]:
        allowed = self.desk.manifest.limits.writes
        return self.desk.at.writes >= allowed and (yield from self._exhaust("writes", allowed))

    def _exhaust(self, limit: str, allowed: int) -> Steps[bool]:
        reason = f"its limit of {allowed} {limit} is used up"
        command = c.Exhaust(limit, str(allowed))
        yield from self._write(command, Attached(end_reason=reason, end_search=reason))
        return True

    def _look_for_drift(self) -> None:
        """Record once that tools are deployed differently from how they were pinned."""
        pinned: dict[str, str] = self.desk.pinned["tool_hashes"]
        deployed = self.agent.tool_hashes
        changes = {
            name: "gone" if name not in deployed else "changed"
            for name, digest in pinned.items()
            if deployed.get(name) != digest
        }
        if self.desk.pinned["agent_version"] != str(self.agent.version):
            changes["agent"] = f"version {self.agent.version}"
        if not changes:
            return
        named = "; ".join(f"{name} {what}" for name, what in sorted(changes.items()))
        if self.desk.at.drift != named[:200]:
            self.desk.stage(c.Drifted(changes, named[:200]))

    # --- planning --------------------------------------------------------------------------------

    def _plan(self) -> Steps[None]:
        context = self.desk.context()
        planner = self.agent.planner
        outcome = yield OnThread(
            lambda: check_plan(planner(context)), PLANNER_TIMEOUT_S, f"planner of {self.agent.name}"
        )
        if isinstance(outcome, Raised):
            yield from self._reject(_said(outcome.error))
            return
        assert isinstance(outcome, Returned)  # noqa: S101 (an outcome is one of the two)
        try:
            yield from self._follow(outcome.value)
        except (PlanInvalid, ArgumentsRefused) as error:
            yield from self._reject(str(error))

    def _reject(self, why: str) -> Steps[None]:
        yield from self._write(c.RejectPlan(why))

    def _follow(self, plan: AnyPlan) -> Steps[None]:
        match plan:
            case FinishPlan(result):
                yield from self._finish(result)
            case FailPlan(reason):
                ending = Attached(end_reason=reason, end_search=reason)
                yield from self._write(c.GiveUp(reason), ending)
            case AskPlan(question):
                yield from self._write(c.AskHuman(question))
            case CallPlan(calls=planned) if len(planned) == 1:
                tool = self._tool(planned[0].tool)
                call = calls.name_call(self.desk, tool, planned[0].arguments)
                yield from self._first_attempt(tool, call)
            case CallPlan(calls=planned):
                named = []
                for ordinal, one in enumerate(planned):
                    tool = self._tool(one.tool)
                    named.append(calls.name_call(self.desk, tool, one.arguments, ordinal).decided)
                yield from self._write(c.PlanCalls(tuple(named)))

    def _finish(self, result: object) -> Steps[None]:
        kept = calls.keep(self.desk, result)
        attached = Attached(
            end_result=kept.text,
            end_reason=kept.summary,
            end_search=kept.summary[:500],
        )
        yield from self._write(c.Finish(kept.digest, kept.summary), attached)

    def _tool(self, name: str) -> AnyTool:
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(sorted(self._tools))
            why = f"the plan calls {name!r}, which is not one of this task's tools ({known})"
            raise PlanInvalid(why)
        return tool

    def _missing(self, tool: AnyTool) -> Steps[str | None]:
        """Say which precondition of a tool does not hold, or None."""
        context, when = self.desk.context(), tool.when
        for name in tool.requires:
            if not context.succeeded(name):
                return f"{tool.name} requires {name}, which has not succeeded in this task"
        if when is None:
            return None
        outcome = yield OnThread(
            lambda: bool(when(context)), PLANNER_TIMEOUT_S, f"condition of {tool.name}"
        )
        if isinstance(outcome, Raised):
            return f"the precondition of {tool.name} {_raised(outcome.error)}"
        assert isinstance(outcome, Returned)  # noqa: S101 (an outcome is one of the two)
        if not outcome.value:
            return f"{tool.name} may not be called now: its precondition does not hold"
        return None

    def _first_attempt(self, tool: AnyTool, named: calls.Named) -> Steps[None]:
        """Make a call that was decided just now."""
        missing = yield from self._missing(tool)
        if missing is not None:
            raise PlanInvalid(missing)
        call, decided = calls.fresh_call(self.desk, tool, named), named.decided
        if tool.effect is not Effect.READ:
            if (yield from self._out_of_writes()):
                return
            before = self._repeats(tool, call)
            if before is not None:
                yield from self._write(c.Repeats(decided, before))
                return
        if (yield from self._breaker_is_open(tool, decided)):
            return
        if tool.effect not in (Effect.READ, Effect.LOCAL):
            yield from self._dispatch(call)
        else:
            yield from self._perform(call)

    def _repeats(self, tool: AnyTool, call: Call) -> str | None:
        if tool.repeatable:
            return None
        return self.desk.made.get((tool.name, call.same))

    # --- the pending call ------------------------------------------------------------------------

    def _pending(self) -> Steps[None]:
        pending = self.desk.at.pending
        assert pending is not None  # noqa: S101 (the state says so)
        tool = self._tools.get(pending.tool)
        if tool is None or tool.effect is not pending.effect:
            why = f"the pending call needs {pending.tool}, which is not deployed as it was pinned"
            yield from self._write(c.Escalate(Kind.PLAN_INVALID, why))
            return
        call = calls.pending_call(self.desk, tool)
        if pending.dispatched:
            yield from self._recover(call)
            return
        missing = yield from self._missing(tool)
        if missing is not None:
            yield from self._write(c.Escalate(Kind.PLAN_INVALID, missing))
            return
        if tool.effect is not Effect.READ and not pending.again:
            if (yield from self._out_of_writes()):
                return
            before = self._repeats(tool, call)
            if before is not None:
                why = f"{tool.name} was confirmed before with the same arguments (call {before})"
                yield from self._write(c.Escalate(Kind.REPEATED_WRITE, why))
                return
        if (yield from self._breaker_is_open(tool, None)):
            return
        if tool.effect in (Effect.READ, Effect.LOCAL):
            yield from self._perform(call)
        else:
            yield from self._dispatch(call)

    def _retry(self) -> Steps[None]:
        desk, wait = self.desk, self.desk.at.wait
        assert wait is not None and wait.until is not None  # noqa: S101, PT018 (the state says so)
        if (yield from self._over_its_deadline()):
            return
        if desk.ports.clock.now() < datetime.fromisoformat(wait.until):
            if not desk.park():
                self.desk.look_again()
            return
        pending = desk.at.pending
        tool = self._tools.get(pending.tool) if pending else None
        if tool is None or pending is None:
            name = pending.tool if pending else "a call"
            why = f"the retry needs {name}, which is not deployed any more"
            yield from self._write(c.Escalate(Kind.PLAN_INVALID, why))
            return
        call = calls.pending_call(desk, tool)
        if pending.dispatched:
            yield from self._recover(call)
        elif not (yield from self._breaker_is_open(tool, None)):
            yield from self._dispatch(call)

    def _recover(self, call: Call) -> Steps[None]:
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
            if not (yield from self._breaker_is_open(tool, None)):
                yield from self._dispatch(call)
        elif effect is Effect.CHECKED:
            yield from self._check(call)
        else:
            why = f"{tool.name} was dispatched and its outcome was lost; it must not happen twice"
            yield from self._write(c.Doubted(why))

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
            yield from self._write(c.Checked(False, attempts))  # noqa: FBT003 (the command's first fact)
            return
        kept = calls.keep(self.desk, outcome.value)
        command = c.Checked(True, attempts, kept.digest, kept.summary)  # noqa: FBT003
        if (yield from self._write(command, calls.attached_to(call, kept))):
            self._remember(call, kept)

    def _breaker_is_open(self, tool: AnyTool, decided: c.Decided | None) -> Steps[bool]:
        wait_s = self.house.admit(self.desk, tool)
        if wait_s <= 0:
            return False
        yield from self._write(c.Parked(decided, wait_s))
        return True

    # --- making a call ---------------------------------------------------------------------------

    def _dispatch(self, call: Call) -> Steps[None]:
        """Write the intent, then make the call."""
        self._must_hold(call)
        begin = c.Begin(call.decided)
        attached = Attached(same_digest=call.same)
        pending = self.desk.at.pending
        # Sending it anew is no progress: a call that ends every worker must not go on for ever.
        again = pending is not None and pending.dispatched
        try:
            yield from self._write(begin, attached, dispatches=True, keeps_deaths=again)
        except NotWritten as error:
            if error.reason == "lease":
                self._must_hold(call)
                return
            why = f"the ledger holds an outcome of {call.operation_id} that this task does not know"
            yield from self._write(c.Escalate(Kind.PLAN_INVALID, why))
            return
        self.desk.ports.crash(CrashPoint.AFTER_INTENT)
        yield from self._perform(replace(call, decided=None))

    def _must_hold(self, call: Call) -> None:
        """The last check before a call goes out.

        Raises:
            LeaseLost: The lease ran out and was not renewed; the call is not made.
        """
        if not self.house.may_call(self.desk.claimed.owner):
            self._call = call
            raise LeaseLost(self.desk.claimed.id, self.desk.claimed.epoch)

    def _perform(self, call: Call) -> Steps[None]:
        self._must_hold(call)
        desk, clock = self.desk, self.desk.ports.clock
        try:
            request = calls.request_of(desk, call, self._wires(call))
        except SignalboxError as error:
            yield from self._write(c.Escalate(Kind.PLAN_INVALID, str(error)))
            return
        self._call, started_s = call, clock.boottime_s()
        span = self.slice.call(call.tool.name, call.tool.effect, call.call_id, call.attempt)
        outcome = yield request
        span.end(outcome.error if isinstance(outcome, Raised) else None)
        self._outcome = outcome
        took_ms = int((clock.boottime_s() - started_s) * 1000)
        if isinstance(request, InTransaction):
            yield from self._settle_local(call, outcome, took_ms)
        else:
            desk.ports.crash(CrashPoint.AFTER_CALL)
            yield from self._settle(call, outcome, took_ms)
        self._call, self._outcome = None, None

    def _wires(self, call: Call) -> calls.Wires:
        desk, house = self.desk, self.house
        return calls.Wires(
            heartbeat=lambda value: house.progress(desk, call.call_id, value),
            cancelled=lambda: house.wanted(desk.claimed.id),
            progress=self._earlier_progress(call),
        )

    def _earlier_progress(self, call: Call) -> object:
        """Give what an earlier attempt reported, also one that died with its worker."""
        resumed, self._resumed = self._resumed, False
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
        if (yield from self._write(command, calls.attached_to(call, kept))):
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
            fallback=calls.fallback_of(desk, call, self._tools),
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
        if (yield from self._write(command, attached)) and desk.at.done > given_up:
            message = failure.message
            desk.calls.append(Finished(call.call_id, tool.name, "failed", None, CODEC, message))


def _failure(error: BaseException, call: Call) -> Failure:
    """Classify what a tool raised; a call that ran out of time is unknown, not failed."""
    if isinstance(error, CallTimedOut) and call.tool.effect not in (Effect.READ, Effect.LOCAL):
        return _unclear(classify(error, call.tool.effect), str(error))
    return classify(error, call.tool.effect)


def _unclear(failure: Failure, message: str) -> Failure:
    return Failure(ErrorKind.AMBIGUOUS, failure.after_s, message, failure.type_name)


def _said(error: BaseException) -> str:
    """Say what a planner did wrong."""
    if isinstance(error, SignalboxError):
        return str(error)
    return f"the planner {_raised(error)}"


def _raised(error: BaseException) -> str:
    return f"raised {type(error).__name__}: {safe_text(error)}"


__all__ = ["Driver", "House"]
