"""The world of a test: stands behind every tool, plays its script, and counts what took effect.

It keeps the promises that the effect classes rest on: a downstream of `keyed` tools answers a known
operation id from its memory, and a check tells the truth unless the test scripts it otherwise.
"""

import asyncio
import inspect
from collections.abc import Callable, Mapping
from copy import copy, replace
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, NoReturn

from runtime.core.effects import MEANINGS, Effect
from runtime.engine.requests import CallTimedOut
from runtime.testing.clock import FakeClock
from runtime.testing.errors import NotPlayable, NotScripted, RanDry, UnknownName
from runtime.testing.outcomes import MOMENTS, Always, Crash, Hangs, Lost, Slow, real
from runtime.tools.agents import Agent
from runtime.tools.context import ToolContext
from runtime.tools.registry import AnyTool

_NOTHING: Final = object()


class Died(BaseException):
    """The worker's process ended; `counted` if the tool's own code was running."""

    def __init__(self, *, counted: bool) -> None:
        """Take whether the death counts against the call."""
        super().__init__()
        self.counted = counted


class Broken(BaseException):
    """An assertion of the test failed inside a scripted function: no retry may swallow it."""

    def __init__(self, error: AssertionError) -> None:
        """Take the assertion."""
        super().__init__(error)
        self.error = error


def _die(crash: Crash) -> NoReturn:
    raise Died(counted=crash.when == "in_call")


@dataclass(slots=True)
class Happened:
    """One effect on the world.

    Args:
        operation_id: What it is known by.
        result: What the tool returned for it.
        times: How often it took effect; more than 1 is a doubled effect.
    """

    tool: str
    operation_id: str
    arguments: dict[str, Any]
    result: Any
    at: datetime
    times: int = 1


@dataclass(frozen=True, slots=True)
class Sent:
    """One time a tool was called."""

    tool: str
    call_id: str
    operation_id: str
    attempt: int
    arguments: dict[str, Any]


@dataclass
class World:
    """What is behind the tools.

    Args:
        agent: The agent under test.
        clock: The test's.
        scripts: Outcomes by tool; a tool that is missing may not be called.
        checks: What checks answer, by tool; a check that is missing tells the truth.
        crashes: Where the worker dies.
        called: Tools that are really called although nothing is scripted: all, or none.
        die: How a worker dies here.
    """

    agent: Agent
    clock: FakeClock
    scripts: Mapping[str, Any]
    checks: Mapping[str, Any]
    crashes: tuple[Crash, ...]
    called: bool = False
    die: Callable[[Crash], None] = _die
    sent: list[Sent] = field(default_factory=list)
    effects: dict[str, Happened] = field(default_factory=dict)
    deaths: int = 0
    _played: dict[str, int] = field(default_factory=dict)
    _cut_off: dict[str, Any] = field(default_factory=dict)
    _died: dict[tuple[int, str], int] = field(default_factory=dict)
    _unsure: Happened | None = None

    def __post_init__(self) -> None:
        known = self.agent.tools
        for where, names in (("tools=", self.scripts), ("checks=", self.checks)):
            for name in names:
                if name not in known:
                    raise UnknownName(where, name, known)
        for crash in self.crashes:
            if crash.tool not in known:
                raise UnknownName("crash_at=", crash.tool, known)
            if crash.when not in MOMENTS:
                raise NotPlayable("Crash.when", repr(crash.when), ", ".join(MOMENTS))

    def staged(self) -> Agent:
        """Give the agent with this world behind its tools; definitions and hashes are its own."""
        staged = copy(self.agent)
        tools = {name: self._stand_in(tool) for name, tool in self.agent.tools.items()}
        vars(staged)["tools"] = MappingProxyType(tools)
        return staged

    def _stand_in(self, tool: AnyTool) -> AnyTool:
        if self._is_real(tool.name) and inspect.iscoroutinefunction(tool.function):

            async def function(*, operation_id: str, ctx: ToolContext, **arguments: Any) -> Any:
                self._before(tool, operation_id, ctx, arguments)
                result = await tool.function(**arguments, **_asked(tool, operation_id, ctx))
                return self._after(tool, operation_id, arguments, result)

        else:

            def function(*, operation_id: str, ctx: ToolContext, **arguments: Any) -> Any:  # type: ignore[misc]
                self._before(tool, operation_id, ctx, arguments)
                return self._play(tool, operation_id, ctx, arguments)

        stand_in = replace(
            tool,
            function=function,
            check=self._check(tool) if tool.check is not None else None,
            isolate=False,
            wants_operation_id=True,
            wants_ctx=True,
        )
        # The check's name is part of a definition, and this one only stands in for it.
        vars(stand_in)["definition_hash"] = tool.definition_hash
        return stand_in

    @property
    def needs_database(self) -> bool:
        """Whether a `local` tool is really called, whose work must be rolled back with its step."""
        tools = self.agent.tools.values()
        return any(one.effect is Effect.LOCAL and self._is_real(one.name) for one in tools)

    def _is_real(self, name: str) -> bool:
        return self.scripts.get(name, real if self.called else None) is real

    # --- one call ---------------------------------------------------------------------------------

    def _before(
        self, tool: AnyTool, operation_id: str, ctx: ToolContext, arguments: dict[str, Any]
    ) -> None:
        self._unsure = None
        self._crash(tool.name, "before_call", ctx.call_id)
        sent = Sent(tool.name, ctx.call_id, operation_id, ctx.attempt, dict(arguments))
        self.sent.append(sent)
        self._crash(tool.name, "in_call", ctx.call_id)

    def _after(
        self, tool: AnyTool, operation_id: str, arguments: dict[str, Any], result: Any
    ) -> Any:
        """Count what took effect; a `local` one only stays if its step is written."""
        self._take_effect(tool, operation_id, arguments, result)
        self._crash(tool.name, "after_call", self.sent[-1].call_id)
        return result

    def _take_effect(
        self, tool: AnyTool, operation_id: str, arguments: dict[str, Any], result: Any
    ) -> None:
        if not MEANINGS[tool.effect].is_write:
            return
        known = self.effects.get(operation_id)
        if known is not None:
            if not self._remembers(tool, known):
                known.times += 1
            return
        happened = Happened(tool.name, operation_id, dict(arguments), result, self.clock.now())
        self.effects[operation_id] = happened
        if tool.effect is Effect.LOCAL:
            self._unsure = happened

    def roll_back(self) -> None:
        """Take back the `local` effect whose transaction was not committed."""
        if self._unsure is not None:
            self.effects.pop(self._unsure.operation_id, None)
            self._unsure = None

    def _remembers(self, tool: AnyTool, known: Happened) -> bool:
        """Tell whether the downstream of a tool still knows an operation id."""
        if tool.effect is not Effect.KEYED:
            return False
        age_s = (self.clock.now() - known.at) / timedelta(seconds=1)
        return tool.key_ttl_s is None or age_s < tool.key_ttl_s

    def _play(
        self, tool: AnyTool, operation_id: str, ctx: ToolContext, arguments: dict[str, Any]
    ) -> Any:
        if self._is_real(tool.name):
            result = tool.function(**arguments, **_asked(tool, operation_id, ctx))
            return self._after(tool, operation_id, arguments, result)
        known = self.effects.get(operation_id)
        if known is not None and self._remembers(tool, known):
            return self._after(tool, operation_id, arguments, known.result)
        outcome = self._outcome(tool.name, ctx)
        try:
            return self._scripted(tool, outcome, ctx, arguments)
        except Exception:
            # The attempt has come to its end: the next one finds the next outcome.
            self._cut_off.pop(ctx.call_id, None)
            raise

    def _scripted(
        self, tool: AnyTool, outcome: Any, ctx: ToolContext, arguments: dict[str, Any]
    ) -> Any:
        too_late = False
        if isinstance(outcome, Slow):
            too_late = outcome.seconds >= tool.timeout_s
            self.clock.jump(min(outcome.seconds, tool.timeout_s))
            outcome = outcome.outcome
        if isinstance(outcome, Hangs):
            self.clock.jump(tool.timeout_s)
            raise CallTimedOut(tool.name, tool.timeout_s)
        is_lost = isinstance(outcome, Lost)
        said = _said(outcome.value if isinstance(outcome, Lost) else outcome, arguments, ctx)
        result = self._after(tool, ctx.operation_id, arguments, said)
        if is_lost:
            message = "the answer was lost on its way"
            raise ConnectionResetError(message)
        if too_late:
            raise CallTimedOut(tool.name, tool.timeout_s)
        return result

    def _outcome(self, name: str, ctx: ToolContext) -> Any:
        """Give what this attempt is scripted to come to.

        An attempt that is made again because the worker died finds the same outcome again.
        """
        script = self.scripts.get(name, _NOTHING)
        if script is _NOTHING:
            raise NotScripted(name)
        if not isinstance(script, list):
            return script
        if ctx.call_id not in self._cut_off:
            played = self._played.get(name, 0)
            if played >= len(script):
                raise RanDry(name, len(script), ctx.attempt)
            self._played[name] = played + 1
            self._cut_off[ctx.call_id] = script[played]
        return self._cut_off[ctx.call_id]

    # --- checks -----------------------------------------------------------------------------------

    def _check(self, tool: AnyTool) -> Callable[[str], Any]:
        def check(operation_id: str) -> Any:
            script = self.checks.get(tool.name, _NOTHING)
            if script is real or (script is _NOTHING and self._is_real(tool.name)):
                assert tool.check is not None  # noqa: S101 (the caller looked)
                return tool.check(operation_id)
            if script is _NOTHING:
                known = self.effects.get(operation_id)
                return known is not None and (known.result or True)
            return self._scripted_check(tool.name, script, operation_id)

        if inspect.iscoroutinefunction(tool.check) and self._is_real(tool.name):

            async def waiting(operation_id: str) -> Any:
                return await check(operation_id)

            return waiting
        return check

    def _scripted_check(self, name: str, script: Any, operation_id: str) -> Any:
        if isinstance(script, list):
            key = f"check of {name}"
            played = self._played.get(key, 0)
            if played >= len(script):
                raise RanDry(key, len(script), played + 1)
            self._played[key] = played + 1
            script = script[played]
        return _raised_or(script(operation_id) if _is_function(script) else script)

    # --- deaths -----------------------------------------------------------------------------------

    def _crash(self, tool: str, moment: str, call_id: str) -> None:
        for number, crash in enumerate(self.crashes):
            if (crash.tool, crash.when) != (tool, moment):
                continue
            if self._number(tool, call_id) != crash.call:
                continue
            died = self._died.get((number, call_id), 0)
            if died < crash.times:
                self._died[number, call_id] = died + 1
                self.deaths += 1
                self.die(crash)

    def _number(self, tool: str, call_id: str) -> int:
        """Say which call of its tool this is, from 1."""
        before = list(dict.fromkeys(one.call_id for one in self.sent if one.tool == tool))
        return before.index(call_id) + 1 if call_id in before else len(before) + 1


def _said(value: Any, arguments: dict[str, Any], ctx: ToolContext) -> Any:
    """Turn one scripted outcome into what the tool does."""
    if isinstance(value, Always):
        return value.value
    if not _is_function(value):
        return _raised_or(value)
    try:
        said = value(**arguments, **_wanted(value, ctx))
        return _raised_or(asyncio.run(said) if inspect.iscoroutine(said) else said)
    except AssertionError as error:
        raise Broken(error) from error


def _raised_or(value: Any) -> Any:
    if isinstance(value, BaseException):
        raise value
    if isinstance(value, type) and issubclass(value, BaseException):
        raise value
    return value


def _is_function(value: object) -> bool:
    return callable(value) and not isinstance(value, type)


def _asked(tool: AnyTool, operation_id: str, ctx: ToolContext) -> dict[str, Any]:
    """Give the tool what it declared to want."""
    extra: dict[str, Any] = {}
    if tool.wants_operation_id:
        extra["operation_id"] = operation_id
    if tool.wants_ctx:
        extra["ctx"] = ctx
    return extra


def _wanted(function: Callable[..., Any], ctx: ToolContext) -> dict[str, Any]:
    """Give a scripted function what of the two it names."""
    names = inspect.signature(function).parameters
    offered = {"operation_id": ctx.operation_id, "ctx": ctx}
    return {name: value for name, value in offered.items() if name in names}
