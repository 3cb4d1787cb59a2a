"""One event by itself: its key facts, its payload as text, and what belongs to the same call.

Payloads are foreign: shown as characters, bounded, and never opened by a browser as anything else.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from console.access import Permission, needs
from console.downloads import attachment
from console.guard import is_fragment
from console.pages import payloads
from console.pages.spoken import refusal
from console.pages.words import Lamp
from console.pages.words import size as size_of
from console.queries import events
from console.queries.events import CallRow, EventRow, OfTask, Related, Text
from runtime.core.errors import SignalboxError
from runtime.core.events import EventType as E
from runtime.core.payloads import ArtifactRef, decode

LAST: Final = 2**63 - 1
MOST_ARTIFACTS: Final = 20
_LOOKED_AT: Final = 20_000

_OUTCOMES: Final = frozenset(
    {
        E.TOOL_CALL_SUCCEEDED,
        E.TOOL_CALL_FAILED,
        E.TOOL_CALL_CANCELLED,
        E.TOOL_CALL_IN_DOUBT,
        E.TOOL_CALL_RECONCILED,
        E.STEP_SKIPPED,
    }
)
_OPENED_BY: Final[Mapping[E, frozenset[E]]] = {
    E.REVIEW_CLOSED: frozenset({E.REVIEW_REQUESTED}),
    E.HUMAN_ANSWERED: frozenset({E.REVIEW_REQUESTED}),
    E.HOLD_RELEASED: frozenset({E.HOLD_PLACED}),
    E.WAIT_TIMED_OUT: frozenset({E.WAIT_STARTED}),
    E.EXTERNAL_EVENT_RECEIVED: frozenset({E.WAIT_STARTED}),
    E.CHILD_FINISHED: frozenset({E.CHILD_SPAWNED}),
}
_LAMPS: Final[Mapping[str, str]] = {
    E.TASK_CREATED: "queued",
    E.MODEL_CALLED: "model",
    E.TOOL_CALL_SUCCEEDED: "done",
    E.TOOL_CALL_RECONCILED: "done",
    E.TOOL_CALL_CANCELLED: "ended",
    E.STEP_SKIPPED: "ended",
    E.RETRY_SCHEDULED: "retrying",
    E.WAIT_STARTED: "waiting",
    E.REVIEW_REQUESTED: "person",
    E.REVIEW_CLOSED: "done",
    E.HUMAN_ANSWERED: "person",
    E.HUMAN_APPROVED: "person",
    E.HUMAN_REJECTED: "person",
    E.HOLD_PLACED: "paused",
    E.CANCEL_REQUESTED: "ended",
    E.TASK_COMPLETED: "done",
    E.TASK_ABORTED: "ended",
}
_STOPS: Final = ("failed", "in_doubt", "rejected", "exhausted", "unreadable", "refused", "detected")


@dataclass(frozen=True, slots=True, kw_only=True)
class Large:
    """A payload that lies beside the journal; `is_here` is False when only its preview is left."""

    handle: str
    size: int
    kind: str
    preview: str
    digest: str
    is_here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One payload on the page.

    Args:
        name: In addresses: ``payload``, ``arguments``, ``result``.
        title: For people.
        text: As much as is shown.
        size: Of the stored whole, in words.
        note: How much is missing.
        problem: Why it could not be read; then `text` is what is stored.
        large: What it refers to.
        is_gone: Nothing of it is stored any more.
    """

    name: str
    title: str
    text: str = ""
    size: str = ""
    note: str = ""
    problem: str = ""
    large: tuple[Large, ...] = ()
    is_gone: bool = False


@needs(Permission.VIEW_TASKS)
@require_safe
def event(request: HttpRequest, task_id: UUID, seq: int) -> HttpResponse:
    """Show one event; an unknown number is told which ones there are."""
    task = _task(task_id)
    found = events.event(task_id, seq) if 0 < seq <= LAST else None
    if found is None:
        return render(request, "events/missing.html", {"task": task, "seq": seq}, status=404)
    call = events.call_of_event(task_id, found.call_id) if found.call_id else None
    value = _value(found.payload)
    context = {
        "task": task,
        "event": found,
        "lamp": Lamp(_lamp(found.type), found.type),
        "call": call,
        "previous": seq - 1 if seq > 1 else None,
        "following": seq + 1 if seq < task.last else None,
        **_facts(found, value, call, _related(task_id, found)),
    }
    if is_fragment(request):
        return render(request, "events/event.html#around", context)
    context["blocks"] = _blocks(task, found, call)
    return render(request, "events/event.html", context)


@needs(Permission.VIEW_TASKS)
@require_POST
def event_raw(request: HttpRequest, task_id: UUID, seq: int) -> HttpResponseBase:
    """Send a payload of an event as it is stored."""
    part = request.POST.get("part", "")
    if part not in {"payload", "arguments", "result"} or not 0 < seq <= LAST:
        raise Http404
    _task(task_id)
    chunks = events.payload_chunks(task_id, seq, part)
    if chunks is None:
        raise Http404
    return attachment(
        request,
        chunks,
        name=f"task-{task_id}-event-{seq}-{part}.json",
        of=f"task:{task_id}",
        what=f"{part} of event {seq}",
    )


@needs(Permission.VIEW_TASKS)
@require_POST
def artifact_raw(request: HttpRequest, task_id: UUID, handle: UUID) -> HttpResponseBase:
    """Send a large payload that a task refers to."""
    _task(task_id)
    chunks = events.artifact_chunks(task_id, handle)
    if chunks is None:
        raise Http404
    return attachment(
        request,
        chunks,
        name=f"artifact-{handle}.json",
        of=f"task:{task_id}",
        what=f"artifact {handle}",
    )


def _task(task_id: UUID) -> OfTask:
    found = events.task_of_event(task_id)
    if found is None:
        raise Http404
    return found


def _lamp(kind: str) -> str:
    if kind in _LAMPS:
        return _LAMPS[kind]
    return "stop" if kind.endswith(_STOPS) else "moving"


# --- what belongs to it -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Belongs:
    of_call: tuple[Related, ...] = ()
    pair: Related | None = None
    opens: bool = False


def _related(task_id: UUID, found: EventRow) -> _Belongs:
    if found.call_id:
        of_call = tuple(events.events_of_call(task_id, found.call_id, found.seq))
        return _pair(found, of_call)
    openers = _OPENED_BY.get(E(found.type)) if found.type in set(E) else None
    if openers is None:
        return _Belongs()
    return _Belongs(pair=events.event_before(task_id, found.seq, openers))


def _pair(found: EventRow, of_call: tuple[Related, ...]) -> _Belongs:
    """Find what a call's event answers, or what answered it."""
    if found.type == E.TOOL_CALL_STARTED:
        later = (one for one in of_call if one.seq > found.seq)
        first = next((one for one in later if one.type in _OUTCOMES | {E.TOOL_CALL_STARTED}), None)
        answered = first if first and first.type in _OUTCOMES else None
        return _Belongs(of_call, answered, opens=True)
    earlier = [one for one in of_call if one.seq < found.seq and one.type == E.TOOL_CALL_STARTED]
    return _Belongs(of_call, earlier[-1] if earlier and found.type in _OUTCOMES else None)


def _facts(found: EventRow, value: Any, call: CallRow | None, near: _Belongs) -> dict[str, Any]:
    payload = value if isinstance(value, Mapping) else {}
    return {
        "tool": str(payload.get("tool") or (call.tool if call else "")),
        "effect": str(payload.get("effect") or (call.effect if call else "")),
        "attempt": _count(payload.get("attempt")),
        "attempts": _count(payload.get("of")),
        "seconds": _seconds(found, payload, near),
        "operation_id": str(payload.get("operation_id") or (call and call.operation_id) or ""),
        "review_id": _uuid(payload.get("review_id")),
        "pair": near.pair,
        "opens": near.opens,
        "of_call": near.of_call,
    }


def _count(value: object) -> int | None:
    return value if type(value) is int else None


def _uuid(value: object) -> UUID | None:
    try:
        return UUID(str(value)) if value else None
    except ValueError:
        return None


def _seconds(found: EventRow, payload: Mapping[str, Any], near: _Belongs) -> float | None:
    """Say how long what ended, or began, with this event took."""
    took_ms = payload.get("took_ms")
    if isinstance(took_ms, int | float) and took_ms > 0:
        return took_ms / 1000
    if near.pair is None:
        return None
    return abs((near.pair.at - found.at).total_seconds())


# --- payloads -----------------------------------------------------------------------------------


def _value(text: Text) -> Any:
    if not text.is_whole:
        return None
    try:
        return decode(text.text, text.codec)
    except SignalboxError:
        return None


def _blocks(task: OfTask, found: EventRow, call: CallRow | None) -> list[Block]:
    """Give the payloads of the page: the event's own, and of its call what no event holds."""
    blocks = [_block(task, "payload", _("Payload"), found.payload)]
    if call is None or call.seq != found.seq:
        return blocks
    if call.arguments is not None:
        blocks.append(_block(task, "arguments", _("Arguments of the call"), call.arguments))
    if call.result is not None:
        blocks.append(_block(task, "result", _("Result of the call"), call.result))
    elif call.artifact is not None:
        blocks.append(Block(name="result", title=_("Result of the call"), is_gone=True))
    return blocks


def _block(task: OfTask, name: str, title: str, stored: Text) -> Block:
    size = size_of(stored.size)
    if not stored.is_whole:
        note = _note(len(stored.text.encode()), size)
        return Block(name=name, title=title, text=stored.text, size=size, note=note)
    try:
        value = decode(stored.text, stored.codec)
    except SignalboxError as error:
        text = stored.text[: payloads.SHOWN_CHARS]
        note = _note(len(text.encode()), size) if len(text) < len(stored.text) else ""
        problem = refusal(error)
        return Block(name=name, title=title, text=text, size=size, note=note, problem=problem)
    shown = payloads.shown(value)
    note = _note(len(shown.text.encode()), size) if shown.note else ""
    large = _large(task, value)
    return Block(name=name, title=title, text=shown.text, size=size, note=note, large=large)


def _note(shown: int, size: str) -> str:
    return _("Showing %(shown)s of %(size)s.") % {"shown": size_of(shown), "size": size}


def _large(task: OfTask, value: Any) -> tuple[Large, ...]:
    refs = list(_refs(value))
    handles = [found for ref in refs if (found := _uuid(ref.handle))]
    here = events.artifacts(task.id, handles)
    return tuple(
        Large(
            handle=ref.handle,
            size=ref.size,
            kind=ref.kind,
            preview=ref.preview,
            digest=row.digest if row else "",
            is_here=row is not None,
        )
        for ref in refs
        for row in [here.get(_uuid(ref.handle) or UUID(int=0))]
    )


def _refs(value: Any) -> Iterator[ArtifactRef]:
    """Find references to large payloads; within bounds, because the value is anybody's."""
    waiting, looked_at, found = [value], 0, 0
    while waiting and looked_at < _LOOKED_AT and found < MOST_ARTIFACTS:
        one = waiting.pop()
        looked_at += 1
        if isinstance(one, ArtifactRef):
            found += 1
            yield one
        elif isinstance(one, Mapping):
            waiting.extend(one.values())
        elif isinstance(one, list | tuple | set | frozenset):
            waiting.extend(one)
