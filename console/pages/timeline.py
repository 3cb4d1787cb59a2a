"""The timeline: a task's events told as steps, with their durations and what stood between.

Pure: events and results in, items out.  Each attempt of a call is one item, made of several events,
so that an item may change while the task moves; it keeps its key, by which a page replaces it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from django.utils.translation import gettext as _

from console.pages.event_words import TOO_LONG, by, other
from console.pages.words import Lamp, actor, kind_word, span
from runtime.api import EventView, StepView
from runtime.core.effects import MEANINGS, Effect
from runtime.core.events import EventType as E

FOLD_S: Final = 60.0

#: The events that tell of something that went wrong.
FAILURES: Final = (
    E.TOOL_CALL_FAILED,
    E.TOOL_CALL_IN_DOUBT,
    E.PLAN_REJECTED,
    E.WAIT_TIMED_OUT,
    E.TOKEN_REFUSED,
    E.LOOP_DETECTED,
    E.BUDGET_EXHAUSTED,
    E.CHECKPOINT_UNREADABLE,
    E.COMPENSATION_FAILED,
    E.ACCEPTANCE_FAILED,
    E.TASK_FAILED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One line of the timeline.

    Args:
        seq: The first event it tells of, by which a page knows it; `last_seq` the last one.
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
        earlier: The item of the attempt before, `later` that of the one after.
    """

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
    earlier: int | None = None
    later: int | None = None

    @property
    def has_more(self) -> bool:
        """Whether there is more to say than fits its line."""
        return bool(self.code or self.review_id or self.last_seq != self.seq)


@dataclass
class _Teller:
    """Tells events one by one; `results` and `arguments` are by call id."""

    results: Mapping[str, StepView]
    arguments: Mapping[str, Any]
    items: dict[int, Item] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    """The item of each call's last attempt."""
    over: set[int] = field(default_factory=set)
    """Attempts that have ended."""
    reviews: dict[str, int] = field(default_factory=dict)

    def tell(self, event: EventView) -> None:
        kind = event.type
        if kind == E.RETRY_SCHEDULED:
            self._add(event, **_wait(event))
        elif kind in _OF_CALLS and event.call_id:
            self._call(event, event.call_id)
        elif kind == E.PLAN_GENERATED:
            self._plan(event)
        elif kind in {E.REVIEW_REQUESTED, E.REVIEW_CLOSED, E.HUMAN_ANSWERED}:
            self._person(event)
        else:
            self._add(event, **other(event))

    def _add(self, event: EventView, /, **parts: Any) -> None:
        self.items[event.seq] = Item(seq=event.seq, last_seq=event.seq, at=event.at, **parts)

    def _plan(self, event: EventView) -> None:
        calls = [call for call in _list(event.payload.get("calls")) if isinstance(call, dict)]
        names = ", ".join(str(call.get("tool", "?")) for call in calls)
        self._add(event, lamp=Lamp("moving", _("planned")), verb=_("Planned"), what=names)

    def _person(self, event: EventView) -> None:
        payload, review_id = event.payload, str(event.payload.get("review_id", ""))
        if event.type == E.REVIEW_REQUESTED:
            self.reviews[review_id] = event.seq
            parts = {
                "verb": _("Asked a person"),
                "what": str(payload.get("question") or payload.get("why", "")),
                "aside": str(kind_word(str(payload.get("kind", "")))).lower(),
                "kind": "person",
                "review_id": review_id,
            }
            self._add(event, lamp=Lamp("person", _("asked")), **parts)
            return
        seq = self.reviews.get(review_id)
        if seq is None:
            return
        item = self.items[seq]
        change = (
            {"result": payload.get("answer"), "has_result": True}
            if event.type == E.HUMAN_ANSWERED
            else _settled(item, event)
        )
        self.items[seq] = replace(item, last_seq=event.seq, **change)

    def _call(self, event: EventView, call_id: str) -> None:
        kind, seq = E(event.type), self.calls.get(call_id)
        if seq is None or kind is E.TOOL_CALL_STARTED or (kind in _ENDS and seq in self.over):
            seq = self._open(event, call_id, seq)
        item = self.items[seq]
        if kind in _ENDS:
            self.over.add(seq)
        self.items[seq] = replace(item, **{"last_seq": event.seq, **_CHANGES[kind](item, event)})

    def _open(self, event: EventView, call_id: str, earlier: int | None) -> int:
        """Begin an attempt; one that never ended before it is told as what it is."""
        if earlier is not None:
            before = replace(self.items[earlier], later=event.seq)
            lost = before if earlier in self.over else replace(before, **_lost())
            self.items[earlier] = lost
        self.calls[call_id] = event.seq
        self.items[event.seq] = self._opened(event, call_id, earlier)
        return event.seq

    def _opened(self, event: EventView, call_id: str, earlier: int | None) -> Item:
        payload, step = event.payload, self.results.get(call_id)
        effect = str(payload.get("effect") or (step.effect if step else ""))
        writes = effect in set(Effect) and MEANINGS[Effect(effect)].is_write
        before = self.items[earlier].arguments if earlier is not None else None
        arguments = payload.get("arguments", self.arguments.get(call_id, before))
        return Item(
            seq=event.seq,
            last_seq=event.seq,
            at=event.at,
            lamp=Lamp("moving", _("called")),
            code=str(payload.get("tool") or (step.tool if step else "")),
            effect=effect,
            kind="write" if writes else "call",
            arguments=arguments,
            operation_id=str(payload.get("operation_id") or ""),
            call_id=call_id,
            earlier=earlier,
        )

    def end(self) -> list[Item]:
        """Give the items; what a call gave stands with its last attempt."""
        for call_id, seq in self.calls.items():
            step = self.results.get(call_id)
            if step is not None and step.result is not None:
                self.items[seq] = replace(self.items[seq], result=step.result, has_result=True)
        return sorted(self.items.values(), key=lambda item: item.seq)


def tell(
    events: Iterable[EventView],
    results: Mapping[str, StepView],
    arguments: Mapping[str, Any],
) -> list[Item]:
    """Tell events as items, in order.

    Args:
        events: Of one task, in order.
        results: Completed calls by call id.
        arguments: Arguments that no event holds, by call id.
    """
    teller = _Teller(results, arguments)
    for event in events:
        teller.tell(event)
    items = teller.end()
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


def _started(_item: Item, event: EventView) -> dict[str, Any]:
    attempt = event.payload.get("attempt", 1)
    said = ""
    if event.payload.get("redispatch"):
        said = _("sent again under the same operation id")
    elif isinstance(attempt, int) and attempt > 1:
        said = _("attempt %(attempt)s") % {"attempt": attempt}
    return {"lamp": Lamp("moving", _("called")), "aside": said}


def _lost() -> dict[str, Any]:
    return {"lamp": Lamp("ended", _("lost")), "aside": _("nobody wrote how this attempt ended")}


def _succeeded(item: Item, event: EventView) -> dict[str, Any]:
    return {
        "lamp": Lamp("done", _("succeeded")),
        "what": str(event.payload.get("summary", "")),
        "seconds": _took_s(event),
        "ended_at": event.at,
        "aside": item.aside,
    }


def _took_s(event: EventView) -> float | None:
    took_ms = event.payload.get("took_ms")
    return took_ms / 1000 if isinstance(took_ms, int) else None


def _failed(_item: Item, event: EventView) -> dict[str, Any]:
    payload = event.payload
    said = f"{payload.get('error', _('failed'))}: {payload.get('message', '')}"
    of = {"attempt": payload.get("attempt", "?"), "of": payload.get("of", "?")}
    return {
        "lamp": Lamp("stop", _("failed")),
        "what": said[:TOO_LONG],
        "aside": _("attempt %(attempt)s of %(of)s failed") % of,
        "seconds": _took_s(event) or None,
        "ended_at": event.at,
    }


def _doubted(_item: Item, event: EventView) -> dict[str, Any]:
    return {"lamp": Lamp("stop", _("in doubt")), "aside": str(event.payload.get("why", ""))}


def _reconciled(_item: Item, event: EventView) -> dict[str, Any]:
    payload = event.payload
    said = (
        _("it happened, says %(who)s")
        if payload.get("happened")
        else _("it did not happen, says %(who)s")
    )
    return {
        "lamp": Lamp("done", _("found out")),
        "what": str(payload.get("summary", "")),
        "aside": said % {"who": actor(str(payload.get("by", "?")))},
        "ended_at": event.at,
    }


def _skipped(_item: Item, event: EventView) -> dict[str, Any]:
    who = {"who": actor(str(event.payload.get("by", "?")))}
    return {
        "lamp": Lamp("done", _("given by hand")),
        "what": str(event.payload.get("summary", "")),
        "aside": _("not made; %(who)s gave the result") % who,
        "ended_at": event.at,
    }


def _dropped(_item: Item, event: EventView) -> dict[str, Any]:
    aside = _("not made any more")
    return {"lamp": Lamp("ended", _("not made")), "aside": aside, "ended_at": event.at}


_CHANGES: Final = {
    E.TOOL_CALL_STARTED: _started,
    E.TOOL_CALL_SUCCEEDED: _succeeded,
    E.TOOL_CALL_FAILED: _failed,
    E.TOOL_CALL_IN_DOUBT: _doubted,
    E.TOOL_CALL_RECONCILED: _reconciled,
    E.STEP_SKIPPED: _skipped,
    E.TOOL_CALL_CANCELLED: _dropped,
}
_OF_CALLS: Final = frozenset(_CHANGES)
_ENDS: Final = frozenset({E.TOOL_CALL_SUCCEEDED, E.TOOL_CALL_FAILED})


# --- waits and people ---------------------------------------------------------------------------


def _wait(event: EventView) -> dict[str, Any]:
    payload = event.payload
    seconds = _between_s(payload.get("since"), payload.get("until"))
    reason = str(payload.get("reason") or payload.get("why") or "")
    is_now = seconds == 0
    return {
        "lamp": Lamp("retrying", _("retrying")),
        "verb": _("Tried again at once") if is_now else _("Waited before the next attempt"),
        "what": reason[:TOO_LONG],
        "aside": by(payload.get("by")),
        "seconds": seconds or None,
        "kind": "wait",
        "call_id": event.call_id or "",
    }


def _between_s(since: object, until: object) -> float | None:
    try:
        gap = datetime.fromisoformat(str(until)) - datetime.fromisoformat(str(since))
    except (ValueError, TypeError):
        return None
    return gap.total_seconds()


def _settled(item: Item, event: EventView) -> dict[str, Any]:
    payload = event.payload
    told = {
        "kind": item.aside,
        "decision": payload.get("decision"),
        "who": actor(str(payload.get("by") or "")),
    }
    said = "%(kind)s · %(decision)s"
    if payload.get("by"):
        said = _("%(kind)s · %(decision)s by %(who)s")
    return {
        "lamp": Lamp("done", _("settled")),
        "aside": said % told,
        "seconds": (event.at - item.at).total_seconds(),
        "ended_at": event.at,
    }
