"""The rehearsal: drives one task with the engine's own driver, on paper, in no time.

It plays the worker: claims, runs what the driver asks for, dies where the test says so, sleeps by
moving the clock, and answers as the test's people.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.db import transaction

from runtime.core.apply import fold
from runtime.core.retry import Failure
from runtime.core.reviews import Kind
from runtime.engine.breakers import Breakers
from runtime.engine.calls import Call
from runtime.engine.desk import Desk
from runtime.engine.driver import Driver
from runtime.engine.loading import escalation, sit_down
from runtime.engine.ports import Ports
from runtime.engine.requests import (
    CallTimedOut,
    Close,
    InTransaction,
    NextSlice,
    OnLoop,
    OnThread,
    Outcome,
    Raised,
    Request,
    Returned,
    RollBack,
    Steps,
    Write,
)
from runtime.telemetry import Slice
from runtime.testing.clock import FakeClock
from runtime.testing.errors import Fenced, NeverEnds, NotPlayable, ScriptError
from runtime.testing.facts import Item
from runtime.testing.outcomes import Decide
from runtime.testing.paper import Paper
from runtime.testing.world import Broken, Died, World
from runtime.tools.agents import Agent
from runtime.tools.registry import AnyTool

_MOST_CLAIMS: Final = 1_000
_PERSON: Final = "human:test"

type Answers = Mapping[str, Any] | Callable[[str], Any]
type Decisions = Mapping[str, Any]


class House:
    """What a driver asks of the worker it runs in, when there is only this task."""

    stopping = False

    def __init__(self, ports: Ports, paper: Paper) -> None:
        """Take what is shared by all claims of the task."""
        self._paper = paper
        self._breakers = Breakers(ports)

    def may_call(self, _owner: UUID) -> bool:
        """A lease on paper does not run out."""
        return True

    def slice_over(self, _since_s: float) -> bool:
        """Nobody waits for this thread."""
        return False

    def is_quick(self, _name: str) -> bool:
        """Every outcome is written by itself, so that a test may break off behind it."""
        return False

    def wanted(self, _task_id: UUID) -> bool:
        """Nobody wants anything in the middle of a call."""
        return False

    def progress(self, _desk: Desk, call_id: str, progress: object) -> None:
        """Take progress of a running call."""
        if progress is not None:
            self._paper.note_progress(call_id, progress)

    def flush_progress(self, _desk: Desk) -> None:
        """It is written already."""

    def admit(self, desk: Desk, tool: AnyTool) -> float:
        """Ask the tool's breaker."""
        return self._breakers.admit((desk.claimed.namespace, tool.name))

    def record(self, desk: Desk, tool: AnyTool, failure: Failure | None) -> None:
        """Tell the tool's breaker how a call went."""
        self._breakers.record((desk.claimed.namespace, tool.name), failure)

    def refused(self, _desk: Desk, what: str, _call: Call | None, _evidence: object) -> None:
        """There is no other holder who could have fenced us.

        Raises:
            Fenced: Always.
        """
        raise Fenced(what)


@dataclass
class Rehearsal:
    """One task from its creation to its end, or to where a person must be asked."""

    ports: Ports
    clock: FakeClock
    paper: Paper
    world: World
    agent: Agent
    answers: Answers
    decisions: Decisions
    slept_s: float = 0.0
    _decided: dict[str, int] = field(default_factory=dict)

    def run(self) -> None:
        """Play the whole path.

        Raises:
            ScriptError: The test says something that cannot be played.
        """
        house = House(self.ports, self.paper)
        with asyncio.Runner() as loop:
            for _ in range(_MOST_CLAIMS):
                self._drive(house, loop)
                if self.paper.ended or not self._next():
                    self._check_whole()
                    return
        raise NeverEnds(_MOST_CLAIMS, self.paper.checkpoint.state.value)

    def _next(self) -> bool:
        """Bring about what the task waits for; False if a person must be asked."""
        item = self.paper.open_item
        if item is not None:
            return self._settle(item)
        if self.paper.due_at is None:
            return False
        wait_s = (self.paper.due_at - self.clock.now()) / timedelta(seconds=1)
        self.slept_s += max(wait_s, 0.0)
        self.clock.jump(wait_s)
        return True

    # --- the worker -------------------------------------------------------------------------------

    def _drive(self, house: House, loop: asyncio.Runner) -> None:
        owner = self.ports.chance.uuid7(self.clock.now())
        claimed = self.paper.claim(owner)
        desk = sit_down(self.ports, claimed, f"worker:{owner}")
        driver = Driver(house, desk, self.agent, Slice(claimed.id, claimed.agent, str(owner)))
        try:
            self._play(driver.script(escalation(claimed)), loop)
        except Died as died:
            self.world.roll_back()
            self.paper.deaths += died.counted
            self.paper.due_at = self.clock.now()

    def _play(self, script: Steps[None], loop: asyncio.Runner) -> None:
        with suppress(StopIteration):
            request = script.send(None)
            while True:
                match request:
                    case Write(step):
                        request = script.send(_call(partial(self.paper.commit, step)))
                    case OnThread(run):
                        request = script.send(_call(run))
                    case OnLoop(run, timeout_s):
                        request = script.send(_call(partial(_wait, loop, run, timeout_s)))
                    case InTransaction(run):
                        request = self._in_transaction(run, script)
                    case NextSlice() | Close() | RollBack():
                        request = script.send(None)

    def _in_transaction(self, run: Callable[[], Any], script: Steps[None]) -> Request:
        """Run a `local` tool; what it did stays only if its step is written."""
        following: Request = Close()
        is_real = self.world.needs_database
        with transaction.atomic() if is_real else nullcontext():
            outcome = _call(run)
            if isinstance(outcome, Returned):
                following = script.send(outcome)
                while isinstance(following, Write):
                    following = script.send(_call(partial(self.paper.commit, following.step)))
            undone = isinstance(outcome, Raised) or isinstance(following, RollBack)
            if undone and is_real:
                transaction.set_rollback(True)
        if undone:
            self.world.roll_back()
        return script.send(outcome if isinstance(outcome, Raised) else None)

    # --- the people -------------------------------------------------------------------------------

    def _settle(self, item: Item) -> bool:
        decide = self._answer_to(item) if item.kind == Kind.QUESTION else self._decision_on(item)
        if decide is None:
            return False
        if decide.decision not in item.allowed:
            where = f"the decision on an item of kind {item.kind}"
            raise NotPlayable(where, repr(decide.decision), ", ".join(item.allowed))
        arguments = {}
        if decide.decision in {"answer", "result"}:
            arguments = {decide.decision: decide.result}
        payload = {
            "review_id": item.id,
            "decision": decide.decision,
            "reason": decide.reason,
            "arguments": arguments,
        }
        self.paper.deliver("settle", payload, _PERSON)
        return True

    def _answer_to(self, item: Item) -> Decide | None:
        if callable(self.answers):
            answer = self.answers(item.question)
            return None if answer is None else Decide("answer", answer)
        if item.question not in self.answers:
            return None
        return Decide("answer", self.answers[item.question])

    def _decision_on(self, item: Item) -> Decide | None:
        key = next((k for k in (item.tool, item.kind) if k in self.decisions), None)
        if key is None:
            return None
        scripted = self.decisions[key]
        if isinstance(scripted, list):
            number = self._decided.get(key, 0)
            self._decided[key] = number + 1
            scripted = scripted[number] if number < len(scripted) else None
        return Decide(scripted) if isinstance(scripted, str) else scripted

    def _check_whole(self) -> None:
        """The law of every journal holds on paper too."""
        assert fold(self.paper.events) == self.paper.checkpoint  # noqa: S101 (a law, not a test)


def _call(run: Callable[[], Any]) -> Outcome:
    try:
        return Returned(run())
    except (Died, Broken, ScriptError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 (a tool may raise anything, SystemExit too)
        return Raised(error)


def _wait(
    loop: asyncio.Runner, run: Callable[[], Coroutine[Any, Any, Any]], timeout_s: float
) -> Any:
    """Really wait for an `async` tool, as long as its time-out allows."""

    async def in_time() -> Any:
        patience = asyncio.timeout(timeout_s)
        try:
            async with patience:
                return await run()
        except TimeoutError as error:
            if not patience.expired():
                raise
            tool = "the tool"
            raise CallTimedOut(tool, timeout_s) from error

    return loop.run(in_time())
