"""An agent with a tool of each effect class, whose planner does what the input says."""

from typing import Any

from runtime.api import Agent, Plan, tool
from runtime.tools.context import ToolContext
from runtime.tools.registry import AnyTool

RETRY = {"attempts": 3, "first_s": 0.01, "factor": 1.0, "cap_s": 3600.0}
UNKNOWN = "the real one must not be called"


@tool(effect="read")
def look(order_id: str) -> Any:
    """Look at an order."""
    raise NotImplementedError(UNKNOWN + order_id)


@tool(effect="read", attempts=2, fallback="look")
async def peek(order_id: str) -> Any:
    """Look at an order in another way."""
    raise NotImplementedError(UNKNOWN + order_id)


@tool(effect="local")
def note(order_id: str, *, ctx: ToolContext) -> Any:
    """Write an order down."""
    raise NotImplementedError(UNKNOWN + order_id + ctx.call_id)


@tool(effect="keyed", timeout_s=5)
async def pay(order_id: str, amount: int = 1, *, operation_id: str) -> Any:
    """Pay an order."""
    raise NotImplementedError(UNKNOWN + order_id + operation_id + str(amount))


@tool(effect="keyed", key_ttl_s=60)
def pay_soon(order_id: str, *, operation_id: str) -> Any:
    """Pay at a place that forgets our ids within a minute."""
    raise NotImplementedError(UNKNOWN + order_id + operation_id)


def find(operation_id: str) -> Any:
    """Tell whether a label was printed."""
    raise NotImplementedError(UNKNOWN + operation_id)


@tool(effect="checked", check=find)
def label(order_id: str, *, operation_id: str) -> Any:
    """Print a label."""
    raise NotImplementedError(UNKNOWN + order_id + operation_id)


@tool(effect="once")
def mail(order_id: str) -> Any:
    """Send a letter."""
    raise NotImplementedError(UNKNOWN + order_id)


@tool(effect="keyed", requires="look", same="order_id")
def close(order_id: str, why: str = "", *, operation_id: str) -> Any:
    """Close an order that was looked at."""
    raise NotImplementedError(UNKNOWN + order_id + operation_id + why)


@tool(effect="read", timeout_s=1)
async def add(numbers: list[int], *, ctx: ToolContext) -> Any:
    """Add numbers; a tool that can really be called."""
    ctx.heartbeat({"seen": ctx.attempt})
    return {"sum": sum(numbers), "attempt": ctx.attempt, "before": ctx.progress}


TOOLS: list[AnyTool] = [look, peek, note, pay, pay_soon, label, mail, close, add]


def plan(context: Any) -> Any:
    """Follow the input: one plan for each call that has ended and each answer given."""
    place = len(context.results) + len(context.events)
    if place >= len(context.input["do"]):
        return Plan.finish([[one.tool, one.outcome, one.value] for one in context.results])
    match context.input["do"][place]:
        case {"ask": question}:
            return Plan.ask(question)
        case {"fail": reason}:
            return Plan.fail(reason)
        case step:
            return _calls(step)


def _calls(step: Any) -> Any:
    match step:
        case {"all": names}:
            return Plan.calls([(name, {"order_id": "A1"}) for name in names])
        case {"call": name}:
            arguments = {key: value for key, value in step.items() if key != "call"}
            return Plan.call(name, **{"order_id": "A1", **arguments})
        case {"add": numbers}:
            return Plan.call(add, numbers=numbers)
        case name:
            return Plan.call(name, order_id="A1")


errands = Agent(
    "test-errands",
    role="Runs errands",
    tools=TOOLS,
    planner=plan,
    manifest={"retry": RETRY, "limits": {"steps": 30, "writes": 5, "deadline_s": 86_400}},
)
GOOD: dict[str, Any] = {one.name: {"done": one.name} for one in TOOLS}


def do(*steps: Any) -> dict[str, Any]:
    """Write an input."""
    return {"do": list(steps)}
