"""Agents: parts that must fit together at start, the registry, and a task's input."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field, field_validator

from runtime.core.errors import (
    AgentRefused,
    ApprovalNotPossible,
    InputRefused,
    UnknownAgent,
    UnknownTool,
)
from runtime.core.plans import Plan
from runtime.tools.agents import Agent, get_agent, registry
from runtime.tools.registry import tool


@pytest.fixture(autouse=True)
def own_registry() -> Iterator[None]:
    with registry.separate():
        yield


@tool(effect="read")
def look(order_id: str) -> str:
    return order_id


@tool(effect="keyed", touches="money", requires="look")
def refund(order_id: str, *, operation_id: str) -> str:
    return order_id + operation_id


@tool(effect="once", approval="always")
def shout() -> None: ...


def plan(context: object) -> Plan:
    return Plan.finish(context)


async def plan_async(context: object) -> Plan:
    return Plan.finish(context)


WAIVED = {"approval": {"refund": {"waived": "the shop's own limit applies"}}}


def agent(**parts: Any) -> Agent:
    return Agent(
        **{"name": "settler", "role": "Settles", "tools": [look], "planner": plan, **parts}
    )


def test_an_agent_is_found_by_its_name_once_it_is_defined() -> None:
    settler = agent(tools=[look, refund], manifest=WAIVED, description="Settles requests")

    assert get_agent("settler") is settler
    assert list(settler.tools) == ["look", "refund"]
    assert settler.tool("look") is look
    assert (settler.version, settler.queue) == (1, "default")


def test_an_unknown_agent_or_tool_is_answered_with_those_there_are() -> None:
    settler = agent()

    with pytest.raises(UnknownAgent, match="settler"):
        get_agent("setler")
    with pytest.raises(UnknownTool, match="look"):
        settler.tool("lok")


def test_the_manifest_names_role_and_tools_even_if_the_author_did_not() -> None:
    """Otherwise a submitted manifest could name a tool the agent does not have."""
    settler = agent(manifest={"limits": {"steps": 40}})

    assert settler.manifest.role == "Settles"
    assert settler.manifest.tools == ("look",)
    assert settler.manifest.limits.steps == 40
    assert settler.tool_hashes == {"look": look.definition_hash}


@tool(effect="read", fallback="second")
def first() -> None: ...


@tool(effect="read", fallback="first")
def second() -> None: ...


@tool(effect="read", requires="nothing")
def lonely() -> None: ...


@tool(effect="once", compensate="undo")
def done() -> None: ...


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"name": "a b"}, "letters, digits"),
        ({"name": 7}, "letters, digits"),
        ({"role": None}, "role must be a text"),
        ({"planner": "openai"}, "planner 'openai' is not available in this version"),
        ({"planner": None}, "plain `def plan"),
        ({"planner": plan_async}, "plain `def plan"),
        ({"queue": ""}, "queue"),
        ({"version": 0}, "version"),
        ({"version": "2"}, "version"),
        ({"input": dict}, "pydantic model class"),
        ({"tools": [plan]}, "plan is not a tool; decorate it"),
        ({"tools": [look, look]}, "two of its tools are named 'look'"),
        ({"tools": [refund], "manifest": WAIVED}, "requires of 'refund' names 'look'"),
        ({"queue": "9lives"}, "the first a letter"),
        ({"tools": [first]}, "fallback of 'first' names 'second'"),
        ({"tools": [first, second]}, "circle"),
        ({"tools": [lonely]}, "requires of 'lonely' names 'nothing'"),
        ({"tools": [done]}, "compensate of 'done' names 'undo'"),
        ({"manifest": {"tools": ["refund"]}}, "its manifest names 'refund'"),
        ({"manifest": {"limits": {"steps": 0}}}, "limits.steps"),
        ({"manifest": {"loop": {"warn": 3}}}, "'loop' is not available"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_definition_that_does_not_fit_together_stops_the_start(
    parts: dict[str, Any], why: str
) -> None:
    with pytest.raises(AgentRefused) as refused:
        agent(**parts)

    assert why in str(refused.value)
    assert registry.agents == {}


@pytest.mark.parametrize("asking", [refund, shout])
def test_a_tool_that_would_have_to_ask_a_person_needs_a_waiver_with_its_reason(asking: Any) -> None:
    with pytest.raises(ApprovalNotPossible, match=asking.name):
        agent(tools=[look, asking])

    settler = agent(
        tools=[look, asking], manifest={"approval": {asking.name: {"waived": "a demo"}}}
    )
    assert settler.manifest.waiver(asking.name) == "a demo"


def test_a_tool_the_manifest_leaves_out_needs_no_waiver() -> None:
    settler = agent(tools=[look, refund], manifest={"tools": ["look"]})

    assert list(settler.tool_hashes) == ["look"]


def test_another_agent_of_the_same_name_is_refused_and_the_first_one_stays() -> None:
    first_one = agent()

    with pytest.raises(AgentRefused, match="the name is taken by the agent at"):
        Agent("settler", role="Another", tools=[], planner=plan)

    assert get_agent("settler") is first_one


def test_a_module_that_is_imported_again_defines_its_agent_again(tmp_path: Path) -> None:
    source = (
        "from runtime.tools.agents import Agent\n"
        "a = Agent('again', role='', tools=[], planner=print)"
    )
    for _ in range(2):
        exec(compile(source, str(tmp_path / "m.py"), "exec"), {"__name__": "m"})  # noqa: S102

    assert get_agent("again").defined_at == ("m", 2)


class Request(BaseModel):
    order_id: str
    lines: list[int] = []
    note: str = Field("", alias="customerNote")

    @field_validator("note")
    @classmethod
    def crash(cls, value: str) -> str:
        if value == "crash":
            raise KeyError(value)
        return value


def test_an_input_is_stored_with_its_defaults_and_can_be_checked_again() -> None:
    settler = agent(input=Request)

    stored = settler.check_input({"order_id": "A1", "customerNote": "hi"})

    assert stored == {"order_id": "A1", "lines": [], "customerNote": "hi"}
    assert settler.check_input(stored) == stored


@pytest.mark.parametrize("data", [None, [], "{}", {1: 2}, 7], ids=repr)
def test_an_input_is_a_json_object_with_and_without_a_model(data: object) -> None:
    for settler in (agent(name="a"), agent(name="b", input=Request)):
        with pytest.raises(InputRefused, match="must be a JSON object"):
            settler.check_input(data)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({}, "order_id: missing"),
        ({"order_id": "secret", "lines": ["secret"]}, "lines.0"),
        ({"order_id": "A1", "customerNote": "crash"}, "KeyError"),
    ],
)
def test_an_input_that_does_not_fit_is_refused_without_repeating_it(
    data: dict[str, Any], why: str
) -> None:
    with pytest.raises(InputRefused) as refused:
        agent(input=Request).check_input(data)

    assert why in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_separate_registry_gives_way_to_the_former_one_also_after_an_error() -> None:
    before = agent(name="before")

    with pytest.raises(AgentRefused), registry.separate(before):
        agent(name="not a name")
    with registry.separate(before):
        agent(name="inside")
        assert sorted(registry.agents) == ["before", "inside"]

    assert sorted(registry.agents) == ["before"]


def test_agents_are_named_in_logs_without_their_parts() -> None:
    assert repr(agent()) == "Agent('settler', version=1)"
