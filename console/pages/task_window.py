"""The window of a task's journal that its page shows: so many events, with earlier and later ones.

The address says which window, in which order, through which lens, and whether failures alone.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.http import HttpRequest

from console import queries
from console.pages import payloads, timeline
from console.pages.payloads import Shown
from runtime import api
from runtime.api import EventView, StepView, TaskDetail
from runtime.core.plain import jsonable

WINDOW: Final = 200
LENSES: Final = ("steps", "events", "json")
_JSON_CHARS: Final = 512 * 1024
_JSON_BYTES: Final = 1024 * 1024
_DIGITS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Some events of a task, in order.

    Args:
        after: The event before the window.
        upto: The last event that was looked at.
        earlier: The window before begins behind this event; None when there is none.
        later: The window after does; None when there is none.
        hidden: Events that were left out because they are no failures.
    """

    lens: str
    is_descending: bool
    failures: bool
    after: int
    upto: int
    events: list[EventView]
    earlier: int | None
    later: int | None
    hidden: int = 0

    @property
    def is_at_end(self) -> bool:
        """Whether new events belong to it, at its lower end."""
        return self.later is None and not self.is_descending and not self.failures

    @property
    def grows(self) -> bool:
        """Whether the page's script adds new events to it by itself."""
        return self.is_at_end and self.lens != "json"


def number(text: str, otherwise: int) -> int:
    """Read a number of an address; anything else gives the other one."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < _DIGITS else otherwise


def window(task: TaskDetail, request: HttpRequest) -> Window:
    """Read the window that an address asks for."""
    asked = request.GET
    lens = asked.get("lens", "")
    chosen = Window(
        lens=lens if lens in LENSES else LENSES[0],
        is_descending=asked.get("order") == "desc",
        failures=asked.get("show") == "failures",
        after=0,
        upto=0,
        events=[],
        earlier=None,
        later=None,
    )
    return (_failures if chosen.failures else _all)(chosen, task, asked.get("after", ""))


def _all(chosen: Window, task: TaskDetail, asked: str) -> Window:
    after = min(number(asked, max(task.version - WINDOW, 0)), task.version)
    most_bytes = _JSON_BYTES if chosen.lens == "json" else None
    events = api.events(task.id, after=after, limit=WINDOW, max_bytes=most_bytes)
    upto = events[-1].seq if events else after
    return replace(
        chosen,
        after=after,
        upto=upto,
        events=events,
        earlier=max(after - WINDOW, 0) if after else None,
        later=upto if upto < task.version else None,
    )


def _failures(chosen: Window, task: TaskDetail, asked: str) -> Window:
    scanned = queries.SCANNED
    after = min(number(asked, max(task.version - scanned, 0)), task.version)
    events = queries.events_of(task.id, timeline.FAILURES, after, task.version, WINDOW)
    upto = events[-1].seq if len(events) == WINDOW else min(after + scanned, task.version)
    return replace(
        chosen,
        after=after,
        upto=upto,
        events=events,
        earlier=max(after - scanned, 0) if after else None,
        later=upto if upto < task.version else None,
        hidden=upto - after - len(events),
    )


def items(task: TaskDetail, events: Sequence[EventView]) -> list[timeline.Item]:
    """Tell events as steps, with the results and arguments that stand elsewhere."""
    steps = _steps(task, events)
    named = {event.call_id for event in events if "arguments" in event.payload}
    missing = [call_id for call_id in steps if call_id not in named]
    return timeline.tell(events, steps, queries.arguments_of(task.id, missing))


def _steps(task: TaskDetail, events: Sequence[EventView]) -> dict[str, StepView]:
    """Give the completed calls of these events; results of others are not read."""
    calls = {event.call_id for event in events if event.call_id}
    if not calls:
        return {}
    first, steps = queries.first_position(task.id, calls), {}
    for step in api.step_results(task.id, after=first - 1, limit=WINDOW) if first else []:
        if step.call_id in calls:
            steps[step.call_id] = step
    return steps


@dataclass(frozen=True, slots=True)
class Row:
    """One event of the list of all, with the event of the same call before it and after it."""

    event: EventView
    call: int | None
    result: int | None


def rows(events: Sequence[EventView]) -> list[Row]:
    """Join the events of each call: what was sent leads to how it ended, and back."""
    ends: dict[str, int] = {}
    begun: dict[str, int] = {}
    made = []
    for event in events:
        name = event.call_id
        if name is None:
            made.append(Row(event, None, None))
            continue
        made.append(Row(event, begun.get(name), None))
        begun[name] = event.seq
    for at in range(len(made) - 1, -1, -1):
        name = made[at].event.call_id
        if name is not None:
            made[at] = replace(made[at], result=ends.get(name))
            ends[name] = made[at].event.seq
    return made


def as_json(events: Sequence[EventView]) -> Shown:
    """Give events as indented JSON text, cut where it would be too much for a page."""
    text = json.dumps(jsonable(list(events)), indent=2, ensure_ascii=False)
    return payloads.shown(text, _JSON_CHARS)
