"""The agents: what each may do and how far it reaches, who serves it, and how its tasks stand.

Definitions come from this process, which loads the same applications as the workers; whether a
worker knows an agent is what the workers say themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console import queries
from console.access import Permission, allowed, needs
from console.guard import is_fragment
from console.pages import schemas
from console.pages.words import FAMILIES, FAMILY_WORDS, LAMP_OF_FAMILY, Lamp
from console.pages.workers import STATES, state_of
from console.queries import agent_loads as reads
from console.queries.agent_loads import BreakerView, Load
from runtime import api
from runtime.api import AgentDescription, ToolDescription, WorkerView

_NONE: Final = Load()


@dataclass(frozen=True, slots=True)
class Count:
    """How many tasks of one family an agent has; the name is that of the list's filter."""

    name: str
    words: str
    lamp: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One agent in the list; without a definition this process does not know it."""

    name: str
    agent: AgentDescription | None
    counts: Sequence[Count]
    is_capped: bool
    serving: int
    writes: int


@dataclass(frozen=True, slots=True)
class ToolPart:
    """One tool of an agent with its breaker and the fields of its arguments."""

    tool: ToolDescription
    breaker: BreakerView | None
    fields: Sequence[schemas.Row]


@needs(Permission.VIEW_TASKS)
@require_safe
def agents(request: HttpRequest) -> HttpResponse:
    """Show them all, also those that have tasks and are not known here."""
    loads, crew = reads.loads(), _crew()
    known = api.agents()
    names = sorted({*known, *loads, *queries.agents()})
    context = {
        "lines": [_line(name, known, loads.get(name, _NONE), crew) for name in names],
        "may_submit": allowed(request.user, Permission.SUBMIT_TASKS),
    }
    part = "#inside" if is_fragment(request) else ""
    return render(request, f"agents/list.html{part}", context)


@needs(Permission.VIEW_TASKS)
@require_safe
def agent(request: HttpRequest, name: str) -> HttpResponse:
    """Show one agent: its tools, its limits, its workers, its tasks."""
    found = api.agent(name) if name in api.agents() else None
    load = reads.loads().get(name, _NONE)
    if found is None and not load.by_state and name not in queries.agents():
        raise Http404
    context: dict[str, Any] = {
        "name": name,
        "agent": found,
        "counts": _counts(load),
        "is_capped": load.is_capped,
        "crew": [(one, _lamp(one)) for one in _crew() if _serves(one, name, found)],
        "may_submit": allowed(request.user, Permission.SUBMIT_TASKS) and found is not None,
        "may_see_workers": allowed(request.user, Permission.VIEW_WORKERS),
    }
    if is_fragment(request):
        return render(request, "agents/agent.html#standing", context)
    if found is not None:
        context |= {"tools": _tools(found), "input_fields": schemas.rows(found.input_schema)}
    return render(request, "agents/agent.html", context)


def _crew() -> list[WorkerView]:
    """List the workers that live and take tasks by rank."""
    return [one for one in api.workers() if one.ended_at is None and one.kind == "worker"]


def _serves(worker: WorkerView, name: str, found: AgentDescription | None) -> bool:
    if name not in worker.agents:
        return False
    return found is None or found.queue in worker.queues


def _lamp(worker: WorkerView) -> Lamp:
    kind, words = STATES[state_of(worker)]
    return Lamp(kind, str(words))


def _line(name: str, known: Sequence[str], load: Load, crew: Sequence[WorkerView]) -> Line:
    found = api.agent(name) if name in known else None
    return Line(
        name=name,
        agent=found,
        counts=[count for count in _counts(load) if count.count],
        is_capped=load.is_capped,
        serving=sum(_serves(worker, name, found) for worker in crew),
        writes=sum(tool.is_write for tool in found.tools) if found else 0,
    )


def _counts(load: Load) -> list[Count]:
    by_state = load.by_state
    return [
        Count(
            family,
            str(FAMILY_WORDS[family]),
            LAMP_OF_FAMILY[family],
            sum(by_state.get(state, 0) for state in states),
        )
        for family, states in FAMILIES.items()
    ]


def _tools(found: AgentDescription) -> list[ToolPart]:
    stored = reads.breakers([tool.name for tool in found.tools])
    return [
        ToolPart(tool, stored.get(tool.name), schemas.rows(tool.schema)) for tool in found.tools
    ]
