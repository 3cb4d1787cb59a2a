"""The driver: takes one held task as far as it can go.

A generator that reads like the life of a task.  Between two commits it yields what must be run and
is resumed with the outcome; all commits of the task pass through it, in order.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from runtime.core import commands as c
from runtime.core.effects import Effect
from runtime.core.error_text import safe_text
from runtime.core.errors import ArgumentsRefused, LeaseLost, PlanInvalid, SignalboxError
from runtime.core.plans import AnyPlan, AskPlan, CallPlan, FailPlan, FinishPlan, check_plan
from runtime.core.reviews import Kind
from runtime.core.states import TERMINAL, State
from runtime.engine import calls
from runtime.engine.calling import Caller
from runtime.engine.calls import Call
from runtime.engine.desk import Desk
from runtime.engine.house import House
from runtime.engine.letters import obey
from runtime.engine.requests import (
    NextSlice,
    OnThread,
    Raised,
    Returned,
    Steps,
)
from runtime.store.commits import Attached
from runtime.telemetry import Slice
from runtime.tools.agents import Agent
from runtime.tools.registry import AnyTool

_LOG = logging.getLogger("runtime.driver")
PLANNER_TIMEOUT_S = 30.0


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
    _calling: Caller = field(init=False)
    _since_s: float = 0.0
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
        resumed = self.desk.claimed.epoch > 1
        self._calling = Caller(
            self.house,
            self.desk,
            self.slice,
            self._write,
            self._tools,
            resumed=resumed,
            plans_at_once=partial(self.house.is_quick, self._planner),
        )
        try:
            if first is not None:
                yield from self._write(first)
            if not self.desk.parked and self.desk.at.state is not State.INITIALIZED:
                # A deploy may have come between the claim before and this one.
                self._look_for_drift()
            yield from self._live()
        except LeaseLost as lost:
            call, outcome = self._calling.call, self._calling.outcome
            evidence = outcome.value if isinstance(outcome, Returned) else None
            what = "an outcome" if outcome is not None else "a step"
            _LOG.info("task %s: %s", self.desk.claimed.id, lost)
            self.house.refused(self.desk, what, call, evidence)

    # --- the loop --------------------------------------------------------------------------------

    def _live(self) -> Steps[None]:
        desk, house = self.desk, self.house
        while not desk.parked and desk.at.state not in TERMINAL:
            if desk.is_ahead and not self._goes_on_planning():
                yield from self._catch_up()
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

    def _goes_on_planning(self) -> bool:
        """Tell whether nothing stands between the outcome of a read and the planner's next word."""
        desk, house = self.desk, self.house
        return (
            desk.at.state is State.PLANNING
            and desk.attention == desk.attended
            and not (desk.held or house.stopping or house.slice_over(self._since_s))
        )

    def _catch_up(self) -> Steps[None]:
        """Write the outcome that is kept back, if there is one, by itself."""
        if self.desk.is_ahead:
            yield from self._calling.catch_up()
            self.after_commit()

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

    @property
    def _planner(self) -> str:
        return f"planner of {self.agent.name}"

    # --- planning --------------------------------------------------------------------------------

    def _plan(self) -> Steps[None]:
        context = self.desk.context()
        planner = self.agent.planner
        outcome = yield OnThread(
            lambda: check_plan(planner(context)), PLANNER_TIMEOUT_S, self._planner
        )
        if isinstance(outcome, Raised):
            yield from self._catch_up()
            yield from self._reject(_said(outcome.error))
            return
        assert isinstance(outcome, Returned)  # noqa: S101 (an outcome is one of the two)
        if not isinstance(outcome.value, FinishPlan | FailPlan):
            yield from self._catch_up()
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
        if (yield from self._calling.breaker_is_open(tool, decided)):
            return
        if tool.effect not in (Effect.READ, Effect.LOCAL):
            yield from self._calling.dispatch(call)
        else:
            yield from self._calling.perform(call)

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
            yield from self._calling.recover(call)
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
        if (yield from self._calling.breaker_is_open(tool, None)):
            return
        if tool.effect in (Effect.READ, Effect.LOCAL):
            yield from self._calling.perform(call)
        else:
            yield from self._calling.dispatch(call)

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
            yield from self._calling.recover(call)
        elif not (yield from self._calling.breaker_is_open(tool, None)):
            yield from self._calling.dispatch(call)


def _said(error: BaseException) -> str:
    """Say what a planner did wrong."""
    if isinstance(error, SignalboxError):
        return str(error)
    return f"the planner {_raised(error)}"


def _raised(error: BaseException) -> str:
    return f"raised {type(error).__name__}: {safe_text(error)}"
