"""The agents of the engine's tests; found at start when `SIGNALBOX_APPS` names this package."""

import os
import signal
import threading
from typing import Any

from runtime.core.plans import Plan
from runtime.tools.agents import Agent
from tests.support.engine_agents.hands import HANDS
from tests.support.engine_agents.manners import MANNERS
from tests.support.engine_diary import Diary
from tests.support.engine_zoo import ZOO

FAST = {"attempts": 3, "first_s": 0.01, "factor": 1.0, "cap_s": 3600.0}
MANIFEST: dict[str, Any] = {"retry": FAST, "limits": {"writes": 1000}}


def plan_hand(context: Any) -> Plan:
    """Look, do the one thing, look again, finish."""
    order_id, done = context.input["order_id"], len(context.results)
    steps = ("look", context.input["hand"], "look")
    if done < len(steps):
        return Plan.call(steps[done], order_id=order_id)
    return Plan.finish({"order_id": order_id, "calls": done})


def plan_script(context: Any) -> Any:
    """Follow the script in the input: one plan for each call that ended and each answer given."""
    script = context.input["script"]
    place = len(context.results) + len(context.events)
    if place >= len(script):
        return Plan.finish([call.value for call in context.results])
    return _read(script[place], context)


def _read(step: dict[str, Any], context: Any) -> Any:  # noqa: C901, PLR0911 - one line for each form
    match step:
        case {"call": name, **arguments}:
            return Plan.call(name, **arguments)
        case {"calls": items}:
            return Plan.calls([(item["call"], _without(item)) for item in items])
        case {"finish": result}:
            return Plan.finish(result)
        case {"ask": question}:
            return Plan.ask(question)
        case {"answer of": question}:
            return Plan.finish(context.answer(question))
        case {"fail": reason}:
            return Plan.fail(reason)
        case {"odd plan": animal}:
            return ZOO[animal].make()
        case {"loop": diary}:
            Diary(diary).note("looping")
            Diary(diary).pass_gate("hang")
        case {"kill": diary}:
            Diary(diary).note("killed")
            os.kill(os.getpid(), signal.SIGKILL)
            threading.Event().wait()
        case {"echo results": _}:
            return Plan.finish([[call.tool, call.outcome, call.value] for call in context.results])
    return step


def _without(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name != "call"}


hand = Agent("test-hand", role="Uses one hand", tools=HANDS, planner=plan_hand, manifest=MANIFEST)
script = Agent(
    "test-script",
    role="Follows a script",
    tools=(*HANDS, *MANNERS),
    planner=plan_script,
    manifest=MANIFEST,
)
