"""The timeline: a task's events told as steps, with their durations and what stood between.

Pure: events and results in, items out.  Events of one call become one item, so that an item may
change while the task moves; it keeps its key, by which a page replaces it in place.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from console.pages.words import Lamp, actor, kind_word, span
from runtime.api import EventView, StepView
from runtime.core.effects import MEANINGS, Effect
from runtime.core.events import EventType as E

FOLD_S: Final = 60.0
_TOO_LONG: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One line of the timeline.

    Args:
        key: Names the item on the page, whatever happens to it.
        seq: The first event it tells of; `last_seq` the last one.
        at: When it began.
        lamp: What it means.
        verb: Ours, in bold; `what` is foreign text, `aside` ours again.
        code: A tool's name, shown in monospace.
        effect: The effect class, if it is a call with an effect.
        seconds: How long it took, None while nobody knows.
        kind: Of the bar: ``call``, ``write``, ``wait``, ``person``, ``model``, or none.
        arguments: What a call was given, `result` what it gave; None for nothing to show.
        idle: How long nothing happened before it, if long enough to tell.
        review_id: The review item it is about.
    """

    key: str
    seq: int
    last_seq: int
    at: datetime
    ended_at: datetime | None = None
    lamp: Lamp
    verb: str = ""
    code: str = ""
    what: str = ""
    aside: str = ""
    effect: str = ""
    seconds: float | None = None
    kind: str = ""
    arguments: Any = None
    result: Any = None
    has_result: bool = False
    operation_id: str = ""
    call_id: str = ""
    idle: str = ""
    review_id: str = ""
    width: int = 0


@dataclass
class _Teller:
    """Tells events one by one; `results` and `arguments` are by call id."""

    results: Mapping[str, StepView]
    arguments: Mapping[str, Any]
    items: dict[str, Item] = field(default_factory=dict)

    def tell(self, event: EventView) -> None:
        kind = event.type
        if kind in _OF_CALLS and event.call_id:
            self._call(event, event.call_id)
        elif kind == E.PLAN_GENERATED:
            self._plan(event)
        elif kind in {E.REVIEW_REQUESTED, E.REVIEW_CLOSED, E.HUMAN_ANSWERED}:
            self._person(event)
        else:
            self._add(event, **_other(event))

    def _add(self, event: EventView, key: str | None = None, /, **parts: Any) -> None:
        name = key or f"event-{event.seq}"
        self.items[name] = Item(key=name, seq=event.seq, last_seq=event.seq, at=event.at, **parts)

    def _plan(self, event: EventView) -> None:
        calls = [call for call in _list(event.payload.get("calls")) if isinstance(call, dict)]
        names = ", ".join(str(call.get("tool", "?")) for call in calls)
        self._add(event, lamp=Lamp("moving", "planned"), verb="Planned", what=names)

    def _person(self, event: EventView) -> None:
        payload, review_id = event.payload, str(event.payload.get("review_id", ""))
        key = f"review-{review_id}"
        if event.type == E.REVIEW_REQUESTED:
            parts = {
                "verb": "Asked a person",
                "what": str(payload.get("question") or payload.get("why", "")),
                "aside": kind_word(str(payload.get("kind", ""))).lower(),
                "kind": "person",
                "review_id": review_id,
            }
            self._add(event, key, lamp=Lamp("person", "asked"), **parts)
            return
        item = self.items.get(key)
        if item is None:
            return
        if event.type == E.HUMAN_ANSWERED:
            said = {"result": payload.get("answer"), "has_result": True}
            self.items[key] = replace(item, last_seq=event.seq, **said)
            return
        by = f" by {actor(str(payload['by']))}" if payload.get("by") else ""
        self.items[key] = replace(
            item,
            last_seq=event.seq,
            lamp=Lamp("done", "settled"),
            aside=f"{item.aside} · {payload.get('decision')}{by}",
            seconds=(event.at - item.at).total_seconds(),
            ended_at=event.at,
        )

    def _call(self, event: EventView, call_id: str) -> None:
        key = f"call-{call_id}"
        item = self.items.get(key) or self._opened(event, key, call_id)
        change = _CHANGES[E(event.type)](item, event)
        self.items[key] = replace(item, **{"last_seq": event.seq, **change})

    def _opened(self, event: EventView, key: str, call_id: str) -> Item:
        payload, step = event.payload, self.results.get(call_id)
        effect = str(payload.get("effect") or (step.effect if step else ""))
        writes = effect in set(Effect) and MEANINGS[Effect(effect)].is_write
        arguments = payload.get("arguments", self.arguments.get(call_id))
        return Item(
            key=key,
            seq=event.seq,
            last_seq=event.seq,
            at=event.at,
            lamp=Lamp("moving", "called"),
            code=str(payload.get("tool") or (step.tool if step else "")),
            effect=effect,
            kind="write" if writes else "call",
            arguments=arguments,
            result=step.result if step else None,
            has_result=step is not None and step.result is not None,
            operation_id=str(payload.get("operation_id") or ""),
            call_id=call_id,
        )


def tell(
    events: Iterable[EventView],
    results: Mapping[str, StepView],
    arguments: Mapping[str, Any],
) -> list[Item]:
    """Tell events as items, in order.

    Args:
        events: Of one task, in order, without gaps.
        results: Completed calls by call id.
        arguments: Arguments that no event holds, by call id.
    """
    teller = _Teller(results, arguments)
    for event in events:
        teller.tell(event)
    items = sorted(teller.items.values(), key=lambda item: item.seq)
    longest_s = max((item.seconds or 0.0 for item in items), default=0.0)
    return [
        replace(item, idle=_idle(before, item), width=_width(item.seconds, longest_s))
        for before, item in zip([None, *items], items, strict=False)
    ]


def _idle(before: Item | None, item: Item) -> str:
    if before is None:
        return ""
    gap_s = (item.at - (before.ended_at or before.at)).total_seconds()
    return span(gap_s) if gap_s >= FOLD_S else ""


def _width(seconds: float | None, longest_s: float) -> int:
    if not seconds or longest_s <= 0:
        return 0
    # The square root keeps short calls visible beside one that took an hour.
    return max(2, round(100 * math.sqrt(seconds / longest_s)))


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else []


# --- calls --------------------------------------------------------------------------------------


def _started(item: Item, event: EventView) -> dict[str, Any]:
    attempt = event.payload.get("attempt", 1)
    again = f"attempt {attempt}" if isinstance(attempt, int) and attempt > 1 else ""
    return {"lamp": Lamp("moving", "called"), "aside": again or item.aside}


def _succeeded(item: Item, event: EventView) -> dict[str, Any]:
    took_ms = event.payload.get("took_ms")
    seconds = took_ms / 1000 if isinstance(took_ms, int) else None
    return {
        "lamp": Lamp("done", "succeeded"),
        "what": str(event.payload.get("summary", "")),
        "seconds": seconds,
        "ended_at": event.at,
        "aside": item.aside if item.aside.startswith("attempt") else "",
    }


def _failed(_item: Item, event: EventView) -> dict[str, Any]:
    payload = event.payload
    said = f"{payload.get('error', 'failed')}: {payload.get('message', '')}"
    of = f"attempt {payload.get('attempt', '?')} of {payload.get('of', '?')} failed"
    return {
        "lamp": Lamp("stop", "failed"),
        "what": said[:_TOO_LONG],
        "aside": of,
        "ended_at": event.at,
    }


def _retries(item: Item, event: EventView) -> dict[str, Any]:
    since, until = event.payload.get("since"), event.payload.get("until")
    why = event.payload.get("why") or item.aside
    return {
        "lamp": Lamp("retrying", "retrying"),
        "aside": f"{why} · tried again after {_between(since, until)}",
    }


def _between(since: object, until: object) -> str:
    try:
        gap = datetime.fromisoformat(str(until)) - datetime.fromisoformat(str(since))
    except ValueError:
        return "a while"
    return span(gap.total_seconds())


def _doubted(_item: Item, event: EventView) -> dict[str, Any]:
    return {"lamp": Lamp("stop", "in doubt"), "aside": str(event.payload.get("why", ""))}


def _reconciled(_item: Item, event: EventView) -> dict[str, Any]:
    payload = event.payload
    happened = "it happened" if payload.get("happened") else "it did not happen"
    return {
        "lamp": Lamp("done", "found out"),
        "what": str(payload.get("summary", "")),
        "aside": f"{happened}, says {actor(str(payload.get('by', '?')))}",
        "ended_at": event.at,
    }


def _dropped(_item: Item, event: EventView) -> dict[str, Any]:
    return {"lamp": Lamp("ended", "not made"), "aside": "not made any more", "ended_at": event.at}


_CHANGES: Final = {
    E.TOOL_CALL_STARTED: _started,
    E.TOOL_CALL_SUCCEEDED: _succeeded,
    E.TOOL_CALL_FAILED: _failed,
    E.TOOL_CALL_IN_DOUBT: _doubted,
    E.TOOL_CALL_RECONCILED: _reconciled,
    E.STEP_SKIPPED: _reconciled,
    E.TOOL_CALL_CANCELLED: _dropped,
    E.RETRY_SCHEDULED: _retries,
}
_OF_CALLS: Final = frozenset(_CHANGES)


# --- everything else ----------------------------------------------------------------------------


def _other(event: EventView) -> dict[str, Any]:
    lamp, verb = _WORDS.get(event.type, (Lamp("queued", event.type), event.type.replace("_", " ")))
    payload = event.payload if isinstance(event.payload, dict) else {}
    said = payload.get("reason") or payload.get("summary") or payload.get("why") or ""
    by = payload.get("by") or (event.actor if event.actor.startswith("human:") else "")
    aside = f"by {actor(str(by))}" if by else ""
    return {"lamp": lamp, "verb": verb, "what": str(said)[:_TOO_LONG], "aside": aside}


_WORDS: Final[dict[str, tuple[Lamp, str]]] = {
    E.TASK_CREATED: (Lamp("queued", "created"), "Submitted"),
    E.TASK_STARTED: (Lamp("moving", "started"), "Started"),
    E.MODEL_CALLED: (Lamp("model", "model"), "Asked the model"),
    E.PLAN_REJECTED: (Lamp("stop", "rejected"), "Plan rejected"),
    E.HOLD_PLACED: (Lamp("paused", "paused"), "Paused"),
    E.HOLD_RELEASED: (Lamp("moving", "resumed"), "Resumed"),
    E.CANCEL_REQUESTED: (Lamp("ended", "cancel"), "Cancel requested"),
    E.RETRY_SCHEDULED: (Lamp("retrying", "retrying"), "Retry scheduled"),
    E.BUDGET_EXHAUSTED: (Lamp("stop", "limit"), "Limit used up"),
    E.CONFIG_DRIFT_DETECTED: (Lamp("waiting", "drift"), "Deployed otherwise than pinned"),
    E.CHECKPOINT_UNREADABLE: (Lamp("stop", "unreadable"), "Checkpoint unreadable"),
    E.WAIT_STARTED: (Lamp("waiting", "waits"), "Waits"),
    E.TASK_COMPLETED: (Lamp("done", "done"), "Reached its goal"),
    E.TASK_FAILED: (Lamp("stop", "failed"), "Failed"),
    E.TASK_ABORTED: (Lamp("ended", "ended"), "Ended"),
}
