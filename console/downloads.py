"""Payloads as files: text that no browser opens, streamed, each download in the audit.

Pages offer them by a form that posts: a download leaves a trace, and reading a page never writes.
"""

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse

from console import audit
from console.actions import act_of


def attachment(
    request: HttpRequest, chunks: Iterator[bytes], *, name: str, of: str, what: str
) -> StreamingHttpResponse:
    """Send bytes as a file, and note who took it.

    Args:
        request: Whose account takes it; must hold: it may.
        chunks: The content.
        name: Of the file; ours, never foreign text.
        of: The object it belongs to, as in the audit.
        what: What it is, for the audit.
    """
    audit.record(act_of(request, "payload.download", of), "done", what)
    # Under ASGI an ordinary iterator would be read to its end before the first byte is sent.
    content = _asynchronous(chunks) if isinstance(request, ASGIRequest) else chunks
    response = StreamingHttpResponse(content, content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "no-store"
    return response


async def _asynchronous(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    def following() -> bytes | None:
        return next(chunks, None)

    while (chunk := await sync_to_async(following)()) is not None:
        yield chunk
