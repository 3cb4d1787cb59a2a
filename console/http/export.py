"""A task as JSON lines, streamed: neither we nor the reader hold all of it at once."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse

from console.http.rendering import line
from runtime import api
from runtime.core.plain import jsonable

MEDIA_TYPE: Final = "application/x-ndjson"
_ROWS: Final = 500
_BYTES: Final = 1024 * 1024


def stream(request: HttpRequest, view: api.TaskDetail) -> StreamingHttpResponse:
    """Make the answer; the last line tells that nothing is missing."""
    lines = _chunks(view)
    # Under ASGI an ordinary iterator would be read to its end before the first byte is sent.
    content = _asynchronous(lines) if isinstance(request, ASGIRequest) else lines
    response = StreamingHttpResponse(content, content_type=MEDIA_TYPE)
    response["Content-Disposition"] = f'attachment; filename="task-{view.id}.jsonl"'
    return response


def _chunks(view: api.TaskDetail) -> Iterator[bytes]:
    yield _line("task", view)
    events = 0
    for page in _events(view):
        events += len(page)
        yield b"".join(_line("event", event) for event in page)
    for step in _steps(view):
        yield _line("step", step)
    for effect in api.effects(view.id, namespace=view.namespace):
        yield _line("effect", effect)
    yield line({"kind": "end", "events": events}) + b"\n"


def _events(view: api.TaskDetail) -> Iterator[list[api.EventView]]:
    """Page through the journal up to where the task stood at the start."""
    after = 0
    while after < view.version:
        page = api.events(
            view.id, after=after, limit=_ROWS, max_bytes=_BYTES, namespace=view.namespace
        )
        page = [event for event in page if event.seq <= view.version]
        if not page:
            return
        yield page
        after = page[-1].seq


def _steps(view: api.TaskDetail) -> Iterator[api.StepView]:
    after = 0
    while page := api.step_results(view.id, after=after, limit=_ROWS, namespace=view.namespace):
        yield from (step for step in page if step.seq <= view.version)
        after = page[-1].position


def _line(kind: str, row: object) -> bytes:
    members: dict[str, Any] = jsonable(row)
    return line({"kind": kind, **members}) + b"\n"


async def _asynchronous(lines: Iterator[bytes]) -> AsyncIterator[bytes]:
    def following() -> bytes | None:
        return next(lines, None)

    while (chunk := await sync_to_async(following)()) is not None:
        yield chunk
