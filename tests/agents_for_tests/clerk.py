"""A small agent with one tool of each kind that a submitted manifest can go wrong about."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from runtime.api import Agent, Plan, tool

NAME = "test-clerk"


class Request(BaseModel):
    """What the clerk is asked."""

    model_config = ConfigDict(extra="forbid", strict=True)

    order_id: str
    note: str = ""


@tool(effect="read")
def look(order_id: str) -> str:
    """Look at an order."""
    return f"seen {order_id}"


@tool(effect="read", fallback="look")
def peek(order_id: str) -> str:
    """Look at an order in another way."""
    return f"peeked {order_id}"


@tool(effect="keyed", touches="money", requires="look")
def pay(order_id: str, *, operation_id: str) -> str:
    """Pay an order."""
    return f"paid {order_id} as {operation_id}"


def plan(context: Any) -> Plan:
    """Look, pay, finish."""
    order_id = context.input["order_id"]
    if context.result(look) is None:
        return Plan.call(look, order_id=order_id)
    if context.result(pay) is None:
        return Plan.call(pay, order_id=order_id)
    return Plan.finish({"paid": order_id})


clerk = Agent(
    NAME,
    role="Pays orders",
    tools=[look, peek, pay],
    planner=plan,
    input=Request,
    manifest={
        "limits": {"steps": 50},
        "approval": {"pay": {"waived": "it is no real money"}},
    },
)
