"""Agents whose steps do nothing, so that only the runtime's own work is measured."""

import asyncio

from runtime.api import Agent, Plan, PlanContext, Retryable, tool

_LIMITS = {"limits": {"steps": 1_000_000, "writes": 1_000_000}}


@tool(effect="read")
def look(number: int) -> dict[str, int | str]:
    """Look something up, at once."""
    return {"number": number, "text": "a small result of a trivial step"}


@tool(effect="keyed")
def put(number: int, *, operation_id: str) -> dict[str, int | str]:
    """Write something that is de-duplicated elsewhere, at once."""
    return {"number": number, "operation_id": operation_id}


@tool(effect="read")
async def linger(number: int) -> dict[str, int]:
    """Look something up, in a tenth of a second."""
    await asyncio.sleep(0.1)
    return {"number": number}


@tool(effect="read")
def knock() -> None:
    """Find nobody in, for a month."""
    raise Retryable(after_s=30 * 86_400)


def plan_reads(context: PlanContext) -> Plan:
    """Look things up, one after the other."""
    done = len(context.results)
    return Plan.finish(done) if done >= context.input["steps"] else Plan.call(look, number=done)


def plan_writes(context: PlanContext) -> Plan:
    """Write things, one after the other."""
    done = len(context.results)
    return Plan.finish(done) if done >= context.input["steps"] else Plan.call(put, number=done)


def plan_lingering(context: PlanContext) -> Plan:
    """Look things up slowly, one after the other."""
    done = len(context.results)
    return Plan.finish(done) if done >= context.input["steps"] else Plan.call(linger, number=done)


def plan_stuck(context: PlanContext) -> Plan:
    """Stop in the way that the input names, after a look at something."""
    if not context.results:
        return Plan.call(look, number=0)
    match context.input["way"]:
        case "ask":
            return Plan.ask("Which of the two addresses is the right one?")
        case "retry":
            return Plan.call(knock)
        case _:
            return Plan.fail("The order is unknown.")


bench_read = Agent(
    "bench-read",
    role="Takes trivial read steps.",
    tools=[look],
    planner=plan_reads,
    manifest=_LIMITS,
    queue="bench",
)
bench_keyed = Agent(
    "bench-keyed",
    role="Takes trivial keyed steps.",
    tools=[put],
    planner=plan_writes,
    manifest=_LIMITS,
    queue="bench",
)
bench_linger = Agent(
    "bench-linger",
    role="Takes slow read steps.",
    tools=[linger],
    planner=plan_lingering,
    manifest=_LIMITS,
    queue="bench",
)
bench_stuck = Agent(
    "bench-stuck",
    role="Does not get on.",
    tools=[look, knock],
    planner=plan_stuck,
    manifest=_LIMITS,
    queue="bench",
)
bench_idle = Agent(
    "bench-idle",
    role="Waits for workers that nobody starts.",
    tools=[look],
    planner=plan_reads,
    manifest=_LIMITS,
    queue="bench-idle",
)
