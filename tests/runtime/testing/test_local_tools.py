"""A `local` tool that is really called: what it wrote stays only if its step is written."""

from collections.abc import Iterator
from typing import Any

import pytest

from runtime.api import Agent, Plan, Retryable, tool
from runtime.store.session import execute
from runtime.testing import Crash, run
from runtime.tools.agents import registry
from runtime.tools.context import ToolContext

pytestmark = pytest.mark.django_db(transaction=True)


@tool(effect="local")
def beat(name: str, fail: int = 0, *, ctx: ToolContext) -> str:
    """Leave a sign of life, and perhaps fail behind it."""
    with ctx.transaction():
        named = (f"{name} {beats()}",)
        execute("INSERT INTO runtime_pulse (name, at) VALUES (%s, runtime_now())", named)
    if ctx.attempt <= fail:
        raise Retryable
    return name


def plan(context: Any) -> Plan:
    """Beat once."""
    if context.result(beat) is None:
        return Plan.call(beat, **context.input)
    return Plan.finish(context.result(beat))


@pytest.fixture
def drummer() -> Iterator[Agent]:
    with registry.separate():
        yield Agent("test-drummer", role="Beats", tools=[beat], planner=plan)


def beats() -> int:
    return int(execute("SELECT count(*) FROM runtime_pulse")[0][0])


def test_what_it_wrote_stays_once_its_step_is_written(drummer: Agent) -> None:
    path = run(drummer, {"name": "a"}, tools="real")

    assert path.outcome == "succeeded"
    assert beats() == 1


@pytest.mark.parametrize("when", ["before_call", "after_call"])
def test_a_crash_before_the_commit_takes_it_back(drummer: Agent, when: str) -> None:
    path = run(drummer, {"name": "a"}, tools="real", crash_at=Crash("beat", when))

    assert (path.outcome, path.crashes) == ("succeeded", 1)
    assert beats() == 1
    assert [one.times for one in path.effects()] == [1]


def test_an_attempt_that_fails_leaves_nothing(drummer: Agent) -> None:
    path = run(drummer, {"name": "a", "fail": 2}, tools="real")

    assert path.calls("beat")[0].attempts == 3
    assert beats() == 1
