"""One event: its facts, its payload as far as a page shows it, and what belongs to it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.core.files.storage import storages
from django.db.models import Case, F, Func, IntegerField, TextField, Value, When
from django.db.models.functions import Left

from console.queries.base import NAMESPACE
from runtime.core.events import EventType
from runtime.models import Artifact, ArtifactRef, Event, StepResult, Task

WHOLE_BYTES: Final = 1024 * 1024
"""Larger texts are not read whole for a page."""
BEGINNING_CHARS: Final = 64 * 1024
AROUND: Final = 500
"""Events before and after one in which those of the same call are looked for."""
MOST_RELATED: Final = 50
CHUNK: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Text:
    """A stored payload, as far as a page can use it.

    Args:
        text: The whole of it, or its beginning when it is larger than `WHOLE_BYTES`.
        size: Bytes of the whole.
        codec: How it was written.
        is_whole: Whether `text` is all of it.
    """

    text: str
    size: int
    codec: str
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """One event of a task."""

    seq: int
    type: str
    v: int
    at: datetime
    actor: str
    call_id: str | None
    cause: int | None
    event_id: str | None
    payload: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class OfTask:
    """The task an event belongs to; `last` is its newest event."""

    id: UUID
    agent: str
    title: str
    last: int


@dataclass(frozen=True, slots=True)
class Related:
    """An event of the same call."""

    seq: int
    type: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    """The completed call an event belongs to.

    Args:
        seq: The event that completed it.
        args_seq: The event whose payload holds the arguments, where this row does not.
        artifact: Where a large result lies.
    """

    tool: str
    effect: str
    outcome: str
    operation_id: str | None
    attempts: int
    took_ms: int
    seq: int
    args_seq: int | None
    artifact: str | None
    arguments: Text | None
    result: Text | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactRow:
    """A large payload of a task; `is_here` says whether its row is still there."""

    id: UUID
    digest: str
    size: int
    codec: str
    created_at: datetime


def task_of_event(task_id: UUID) -> OfTask | None:
    """Read the task whose event is asked for; None if there is none."""
    names = ("id", "agent", "version", "spec__title")
    row = Task.objects.filter(pk=task_id, namespace=NAMESPACE).values(*names).first()
    if row is None:
        return None
    title = row["spec__title"] or row["agent"]
    return OfTask(id=row["id"], agent=row["agent"], title=title, last=row["version"])


def event(task_id: UUID, seq: int) -> EventRow | None:
    """Read one event; None if the task has none of this number."""
    names = ("seq", "type", "v", "at", "actor", "call_id", "cause", "event_id", "codec")
    row = (
        Event.objects.filter(task_id=task_id, seq=seq)
        .annotate(**_bounded("payload"))
        .values(*names, "payload_text", "payload_size")
        .first()
    )
    if row is None:
        return None
    payload = _text(row, "payload", row.pop("codec"))
    assert payload is not None  # noqa: S101 (the column is never NULL)
    facts = {name: row[name] for name in names if name != "codec"}
    return EventRow(payload=payload, **facts)


def events_of_call(task_id: UUID, call_id: str, near: int) -> list[Related]:
    """List the events of a call that stand near one of them, in order."""
    rows = Event.objects.filter(
        task_id=task_id, seq__gte=near - AROUND, seq__lte=near + AROUND, call_id=call_id
    )
    found = rows.order_by("seq").values_list("seq", "type", "at")[:MOST_RELATED]
    return [Related(*row) for row in found]


def event_before(task_id: UUID, seq: int, types: Iterable[EventType]) -> Related | None:
    """Find the last event of some types before another, not far away."""
    rows = Event.objects.filter(
        task_id=task_id, seq__gte=seq - AROUND, seq__lt=seq, type__in=[str(one) for one in types]
    )
    found = rows.order_by("-seq").values_list("seq", "type", "at").first()
    return Related(*found) if found else None


def call_of_event(task_id: UUID, call_id: str) -> CallRow | None:
    """Read a completed call with the beginnings of its arguments and its result."""
    names = ("tool", "effect", "outcome", "operation_id", "attempts", "took_ms", "seq", "args_seq")
    texts = ("arguments_text", "arguments_size", "result_text", "result_size")
    row = (
        StepResult.objects.filter(task_id=task_id, call_id=call_id)
        .annotate(**_bounded("arguments"), **_bounded("result"))
        .values(*names, "artifact", "codec", *texts)
        .first()
    )
    if row is None:
        return None
    return CallRow(
        arguments=_text(row, "arguments", row["codec"]),
        result=_text(row, "result", row["codec"]),
        artifact=row["artifact"],
        **{name: row[name] for name in names},
    )


def _bounded(field: str) -> dict[str, Any]:
    size = Func(F(field), function="octet_length", output_field=IntegerField())
    beginning = Left(F(field), Value(BEGINNING_CHARS))
    small = When(**{f"{field}_size__lte": WHOLE_BYTES}, then=F(field))
    return {
        f"{field}_size": size,
        f"{field}_text": Case(small, default=beginning, output_field=TextField(null=True)),
    }


def _text(row: dict[str, Any], field: str, codec: str) -> Text | None:
    size, text = row[f"{field}_size"], row[f"{field}_text"]
    return None if text is None else Text(text, size, codec, size <= WHOLE_BYTES)


def artifacts(task_id: UUID, handles: Sequence[UUID]) -> dict[UUID, ArtifactRow]:
    """Read those of these artifacts that a task refers to and that are still there."""
    if not handles:
        return {}
    of_task = ArtifactRef.objects.filter(task_id=task_id, artifact_id__in=list(handles))
    rows = Artifact.objects.filter(id__in=of_task.values("artifact_id"), namespace=NAMESPACE)
    names = ("id", "digest", "size", "codec", "created_at")
    return {row["id"]: ArtifactRow(**row) for row in rows.values(*names)}


def payload_chunks(task_id: UUID, seq: int, part: str) -> Iterator[bytes] | None:
    """Give a stored payload piece by piece; None if there is none.

    Args:
        task_id: The task.
        seq: The event.
        part: ``payload``, or ``arguments`` or ``result`` of its call.
    """
    if part == "payload":
        row = Event.objects.filter(task_id=task_id, seq=seq).values_list("payload").first()
    else:
        calls = Event.objects.filter(task_id=task_id, seq=seq).values("call_id")
        results = StepResult.objects.filter(task_id=task_id, call_id__in=calls)
        row = results.values_list(part).first()
    return None if row is None or row[0] is None else _pieces(row[0].encode())


def artifact_chunks(task_id: UUID, handle: UUID) -> Iterator[bytes] | None:
    """Give a large payload piece by piece; None if the task has none, or it is gone."""
    if not ArtifactRef.objects.filter(task_id=task_id, artifact_id=handle).exists():
        return None
    rows = Artifact.objects.filter(id=handle, namespace=NAMESPACE)
    row = rows.values_list("data", "location").first()
    if row is None:
        return None
    data, location = row
    if location is None:
        return _pieces(bytes(data or b""))
    try:
        file = storages["artifacts"].open(location)
    except OSError:
        return None
    return file.chunks(CHUNK)


def _pieces(data: bytes) -> Iterator[bytes]:
    return (data[start : start + CHUNK] for start in range(0, max(len(data), 1), CHUNK))
