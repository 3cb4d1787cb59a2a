"""Found at start when `SIGNALBOX_APPS` names this package, as the processes of browser tests do."""

from typing import Any, Final

from pydantic import BaseModel

from runtime.api import Agent, Plan, tool

PAINTER: Final = "painter"
QUESTION: Final = "Which colour shall it be?"


class Request(BaseModel):
    """What the painter is asked."""

    thing: str


@tool(effect="read")
def look(thing: str) -> str:
    """Look at a thing."""
    return f"{thing} is grey"


@tool(effect="keyed")
def paint(thing: str, colour: str, *, operation_id: str) -> str:
    """Paint a thing once."""
    return f"{thing} is {colour} ({operation_id[:6]})"


def plan(context: Any) -> Plan:
    """Look, ask for the colour, paint, finish."""
    thing = context.input["thing"]
    if context.result(look) is None:
        return Plan.call(look, thing=thing)
    colour = context.answer(QUESTION)
    if colour is None:
        return Plan.ask(QUESTION)
    if context.result(paint) is None:
        return Plan.call(paint, thing=thing, colour=str(colour))
    return Plan.finish({"painted": colour})


painter = Agent(PAINTER, role="Paints things", tools=[look, paint], planner=plan, input=Request)
