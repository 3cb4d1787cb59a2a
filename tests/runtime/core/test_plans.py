"""Plans: what a planner may say, and that everything else is refused as data."""

import re

import pytest

from runtime.core.errors import PlanInvalid
from runtime.core.plans import (
    LONGEST_REASON,
    AskPlan,
    Call,
    CallPlan,
    FailPlan,
    FinishPlan,
    Plan,
    check_plan,
)


def named(value: object) -> str:
    """Name a case the same in every process: no address of an object."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


class LooksLikeATool:
    """The only thing a plan reads of a tool is its name."""

    name = "get_order"


@pytest.mark.parametrize(
    ("plan", "value"),
    [
        (Plan.call("get_order", order_id="A1"), CallPlan((Call("get_order", {"order_id": "A1"}),))),
        (Plan.call(LooksLikeATool()), CallPlan((Call("get_order", {}),))),
        (Plan.finish({"refunded": True}), FinishPlan({"refunded": True})),
        (Plan.finish(), FinishPlan(None)),
        (Plan.ask("Which currency?"), AskPlan("Which currency?")),
        (Plan.fail("no such order"), FailPlan("no such order")),
    ],
)
def test_every_form_of_plan_is_a_value_that_passes_the_check(plan: Plan, value: Plan) -> None:
    assert plan == value
    assert check_plan(plan) == plan
    assert isinstance(plan, Plan)


def test_an_argument_may_be_called_tool_or_self_or_cls() -> None:
    plan = Plan.call("hammer", tool="nail", self=1, cls=2)

    assert plan.calls == (Call("hammer", {"tool": "nail", "self": 1, "cls": 2}),)


def test_several_calls_keep_their_order_in_both_forms() -> None:
    plan = Plan.calls([Plan.call("a", x=1), ("b", {"y": 2}), (LooksLikeATool(), {})])

    assert plan.calls == (Call("a", {"x": 1}), Call("b", {"y": 2}), Call("get_order", {}))


def test_a_later_change_of_the_planners_dict_does_not_reach_the_plan() -> None:
    arguments: dict[str, object] = {"x": 1}

    plan = Plan.calls([("a", arguments)])
    arguments["x"] = 2

    assert plan.calls == (Call("a", {"x": 1}),)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, "None"),
        ("get_order", "type str"),
        ({"tool": "get_order"}, "type dict"),
        (Plan, "type type"),
        (Plan(), "type Plan"),
        (CallPlan(()), "names none"),
        (CallPlan([Call("a", {})]), "names none"),  # type: ignore[arg-type]
        (CallPlan(("a",)), "must be a Call"),  # type: ignore[arg-type]
        (CallPlan((Call(7, {}),)), "tool name must be a text"),  # type: ignore[arg-type]
        (CallPlan((Call("a", [{"prev": 1}]),)), "named values"),  # type: ignore[arg-type]
        (CallPlan((Call("a", {1: 2}),)), "named values"),  # type: ignore[dict-item]
        (AskPlan(""), "question is empty"),
        (FailPlan(None), "reason must be a text"),  # type: ignore[arg-type]
    ],
    ids=named,
)
def test_whatever_else_a_planner_returns_is_refused_with_its_type_named(
    value: object, why: str
) -> None:
    with pytest.raises(PlanInvalid) as refused:
        check_plan(value)

    assert why in str(refused.value)


def test_an_async_planner_is_told_to_be_a_plain_function() -> None:
    async def plan() -> Plan:
        return Plan.finish()

    with pytest.raises(PlanInvalid, match="plain `def`"):
        check_plan(plan())


def test_a_refusal_never_repeats_the_value_that_came() -> None:
    with pytest.raises(PlanInvalid) as refused:
        check_plan("card 4111 1111 1111 1111")

    assert "4111" not in str(refused.value)


@pytest.mark.parametrize(
    "items",
    [[], (), None, "a", {"a": 1}, [7], [("a",)], [("a", [1])], [("", {})], [("a", {1: 2})]],
    ids=named,
)
def test_a_list_of_calls_is_refused_where_it_is_built(items: object) -> None:
    with pytest.raises(PlanInvalid):
        Plan.calls(items)  # type: ignore[arg-type]


@pytest.mark.parametrize("tool", [None, 7, "", object()], ids=named)
def test_a_call_without_a_tool_name_is_refused_where_it_is_built(tool: object) -> None:
    with pytest.raises(PlanInvalid):
        Plan.call(tool)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [None, "", "  \n", 7], ids=named)
def test_an_empty_question_or_reason_is_refused_where_it_is_built(text: object) -> None:
    with pytest.raises(PlanInvalid):
        Plan.ask(text)  # type: ignore[arg-type]
    with pytest.raises(PlanInvalid):
        Plan.fail(text)  # type: ignore[arg-type]


def test_the_texts_of_a_plan_can_be_stored() -> None:
    """Hazards TO-01, TO-17: a planner builds them from whatever a tool or a model gave it."""
    assert check_plan(Plan.ask("a\x00b\ud835")) == AskPlan("a\ufffdb\ufffd")
    assert check_plan(Plan.fail("a\x00b\udc81")) == FailPlan("a\ufffdb\ufffd")


def test_a_reason_is_bounded() -> None:
    plan = check_plan(Plan.fail("x" * 1_000_000))

    assert isinstance(plan, FailPlan)
    assert len(plan.reason) == LONGEST_REASON
