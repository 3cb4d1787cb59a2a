"""For authors of agents: run one to its end in a test, and get its path as a value.

The engine's own driver and core decide every step, on books in memory and a clock that jumps over
waits: no database, network, thread or real pause.  Nothing of a running installation calls it.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from datetime import datetime, timedelta
from typing import Any

from runtime.engine.ports import Chance, NoHints, Ports
from runtime.engine.submit import Request, prepare
from runtime.testing.clock import START, FakeClock
from runtime.testing.errors import (
    NeverEnds,
    NotPlayable,
    NotScripted,
    RanDry,
    ScriptError,
    UnknownName,
)
from runtime.testing.facts import Item, Operation
from runtime.testing.outcomes import Crash, always, decide, hangs, lost, real, slow
from runtime.testing.paper import Paper
from runtime.testing.path import CallPath, Path
from runtime.testing.rehearsal import Answers, Decisions, Rehearsal
from runtime.testing.telling import path_of
from runtime.testing.world import Broken, Happened, World
from runtime.tools.agents import Agent, registry

__all__ = [
    "CallPath",
    "Crash",
    "Happened",
    "Item",
    "NeverEnds",
    "NotPlayable",
    "NotScripted",
    "Operation",
    "Path",
    "RanDry",
    "ScriptError",
    "UnknownName",
    "always",
    "decide",
    "hangs",
    "lost",
    "real",
    "run",
    "slow",
]


def run(  # noqa: PLR0913 (the facts of one test, each by its name)
    agent: Agent,
    input: dict[str, Any],  # noqa: A002 (the contract's name)
    *,
    tools: Mapping[str, Any] | str | None = None,
    answers: Answers | None = None,
    decisions: Decisions | None = None,
    checks: Mapping[str, Any] | None = None,
    manifest: Mapping[str, Any] | None = None,
    crash_at: str | Crash | Sequence[str | Crash] = (),
    seed: int = 0,
    start: datetime = START,
) -> Path:
    """Run an agent on one task until it ends, or until a person must be asked.

    Must hold: no event loop runs on this thread; call it from a `def` test.

    Args:
        agent: The agent; its planner, argument checks, preconditions and limits are the real ones.
        input: What the task is asked.
        tools: What comes of each tool's calls: a value, an exception, a function of the arguments,
            one of `lost`, `slow`, `hangs`, `always`, `real`; or a list of those, one per attempt.
            A tool without an outcome may not be called.  The word "real" instead of a mapping
            calls every tool itself.
        answers: Answers to the agent's questions by their wording, or a function that gives them;
            a question without an answer ends the path as `waiting`.
        decisions: Decisions on other review items, by tool or by kind of item: a word like
            "retry", a `decide(...)`, or a list of those.
        checks: What the checks of `checked` tools answer; without, they tell the truth.
        manifest: Narrows the agent's.
        crash_at: Where the worker dies: the name of a tool (after its first call, before our
            commit) or a `Crash`; it is taken up again at once.
        seed: Of the dice; the same seed gives the same path.
        start: The first instant; aware.

    Raises:
        ScriptError: The test says something that cannot be played.
        WrongUsage: Input or manifest are refused as a submit would refuse them.
    """
    clock = FakeClock(start)
    world = World(
        agent=agent,
        clock=clock,
        scripts={} if isinstance(tools, str) else dict(tools or {}),
        checks=dict(checks or {}),
        crashes=_crashes(crash_at),
        called=_all_real(tools),
    )
    paper = Paper(clock)
    ports = Ports(clock=clock, chance=Chance(seed), hints=NoHints(), books=paper)
    with registry.separate(agent):
        paper.create(prepare(_request(agent, input, manifest), ports, mark=""))
        staged = world.staged()
        rehearsal = Rehearsal(
            ports, clock, paper, world, staged, answers or {}, dict(decisions or {})
        )
        try:
            rehearsal.run()
        except Broken as broken:
            raise broken.error from None
    took_s = (clock.now() - start) / timedelta(seconds=1)
    return path_of(agent.name, paper, world, slept_s=rehearsal.slept_s, took_s=took_s)


def _all_real(tools: Mapping[str, Any] | str | None) -> bool:
    if isinstance(tools, str) and tools != "real":
        raise NotPlayable("tools=", repr(tools), 'a mapping by tool, or the word "real"')
    return isinstance(tools, str)


def _crashes(crash_at: str | Crash | Sequence[str | Crash]) -> tuple[Crash, ...]:
    listed = [crash_at] if isinstance(crash_at, str | Crash) else list(crash_at)
    return tuple(Crash(one) if isinstance(one, str) else copy(one) for one in listed)


def _request(agent: Agent, given: dict[str, Any], manifest: Mapping[str, Any] | None) -> Request:
    return Request(
        agent=agent.name,
        input=given,
        manifest=manifest,
        key=None,
        namespace="default",
        title="",
        labels={},
        priority=0,
        not_before=None,
        created_by="test",
    )
