"""What is true of every answer of the API, also of those that no operation of it made.

A middleware: addresses that do not exist, methods that are not taken and errors nobody foresaw are
answered in the API's own shape.
"""

from collections.abc import Awaitable, Callable
from typing import Final, cast

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from console.http.problems import MEDIA_TYPE, problem

PREFIX: Final = "/api/v1/"
_ERRORS: Final = 400
_SAYINGS: Final[dict[int, tuple[str, str]]] = {
    400: ("bad_request", "The request cannot be read."),
    403: ("forbidden", "This is not allowed."),
    404: ("not_found", "There is nothing at this address."),
    405: ("method_not_allowed", "This address does not take this method."),
}
_FAILED: Final = ("failed", "Something failed on our side; it is in the log under the request id.")

type Next = Callable[[HttpRequest], HttpResponseBase]
type AsyncNext = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


@sync_and_async_middleware
def api_edge(get_response: Next | AsyncNext) -> Next | AsyncNext:
    """Finish the answers of the API."""
    if iscoroutinefunction(get_response):

        async def finish_later(request: HttpRequest) -> HttpResponseBase:
            return _finished(request, await cast("AsyncNext", get_response)(request))

        return finish_later

    def finish(request: HttpRequest) -> HttpResponseBase:
        return _finished(request, cast("Next", get_response)(request))

    return finish


def _finished(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    if not request.path.startswith(PREFIX):
        return response
    is_ours = response.headers.get("Content-Type", "").startswith(MEDIA_TYPE)
    if response.status_code >= _ERRORS and not is_ours and isinstance(response, HttpResponse):
        _reword(request, response)
    # What one caller may see is nobody else's, and nothing of it is kept.
    response.headers.setdefault("Cache-Control", "no-store")
    return response


def _reword(request: HttpRequest, response: HttpResponse) -> None:
    """Exchange the body, and leave every header that others have set."""
    code, detail = _SAYINGS.get(response.status_code, _FAILED)
    made = problem(request, response.status_code, code, detail)
    response.content = made.content
    response["Content-Type"] = MEDIA_TYPE
    response["Content-Length"] = str(len(made.content))
