"""The short way of parts of pages through Django: one thread and one hop for each.

Django's own way from a server that waits to views that do not hops between the two six times and
makes a thread for each request; hundreds of open pages ask several times a second.  What names no
news it has heard goes Django's way: what a person asks for, such as a slow search, takes no thread.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix

from console.live.marks import heard_in
from console.live.names import MARK_HEADER
from console.live.shared import App, Receive, Send

#: As many as are answered at once; below what `console.connections` lends.
THREADS: Final = 8


class Lane:
    """Sends parts of open pages the short way, and everything else the usual one.

    That is also what an open page asks for before it has heard anything, right after it did
    something itself, and where another process told it the news.

    Args:
        others: What answers everything else.
    """

    def __init__(self, others: App) -> None:
        self._others = others
        self._parts = _Parts()

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        await (self._parts if _is_part(scope) else self._others)(scope, receive, send)


def _is_part(scope: Mapping[str, Any]) -> bool:
    """Tell whether an open page asks for a part of itself, after news of this process.

    That a script asks (`console.guard.is_fragment`) is not enough: htmx sends searches and exports.
    """
    if scope["method"] != "GET" or scope["path"].startswith("/api/"):
        return False
    headers = dict(scope["headers"])
    heard = headers.get(MARK_HEADER, b"").decode("latin-1")
    return headers.get(b"hx-request") == b"true" and heard_in(heard) is not None


class _Parts(ASGIHandler):
    """Django's handler, with middleware and view on one thread from beginning to end."""

    def __init__(self) -> None:
        super().__init__()
        pool = ThreadPoolExecutor(THREADS, "parts")
        self._answer = sync_to_async(self._answered, thread_sensitive=False, executor=pool)

    def load_middleware(self, is_async: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 (Django's)
        super().load_middleware(is_async=False)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        with closing(body):
            response = await self._answer(scope, body)
            await self.send_response(response, send)

    def _answered(self, scope: Any, body: Any) -> HttpResponseBase:
        """Answer one request, and give back what its thread borrowed."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, refused = self.create_request(scope, body)
        response = refused if request is None else self.get_response(request)
        assert response is not None  # noqa: S101 (Django gives one of the two)
        response.close()
        return response
