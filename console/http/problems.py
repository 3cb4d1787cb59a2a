"""Every error of the API in one shape: `application/problem+json` (RFC 9457).

``type`` names the kind for programs, ``detail`` is one sentence for people.  Nothing a caller sent
is repeated, because it may be anything: not JSON, not text, not theirs to see again.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import django.db
import psycopg
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from ninja import NinjaAPI, Schema
from ninja.errors import HttpError, ValidationError

from runtime.core.errors import SignalboxError, WrongUsage
from runtime.core.payloads import cut_text
from runtime.core.plain import jsonable

_LOG = logging.getLogger("console.http")
MEDIA_TYPE: Final = "application/problem+json"
_KIND: Final = "urn:signalbox:problem:"
_UNSEEN: Final = 500
"""What a caller did not cause is logged, and shown as no more than its kind."""
_TITLES: Final[dict[int, str]] = {
    400: "The request cannot be read",
    401: "Not signed in",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    413: "Too large",
    415: "Not JSON",
    422: "The request cannot be served",
    503: "Not available",
}
_MOST_PROBLEMS: Final = 50
_LONGEST_WHERE: Final = 200


class Problem(Schema):
    """What went wrong; members beside these say more, for instance the current state."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str


class Forbidden(WrongUsage):
    """The caller is known and may not do this."""

    http_status = 403
    code = "forbidden"
    sentence = "This is not allowed."


@dataclass(eq=False)
class Lacks(Forbidden):
    """The caller has not the right."""

    who: str
    permission: str

    code = "lacks_permission"
    sentence = "{who} may not {permission}."


@dataclass(eq=False)
class OutOfReach(Forbidden):
    """The token is not for this space; there may or may not be one of this name."""

    namespace: str

    code = "out_of_reach"
    sentence = "This token does not reach the namespace '{namespace}'."


@dataclass(eq=False)
class CsrfFailed(Forbidden):
    """No page of ours sent this."""

    cookie: str

    code = "csrf_failed"
    sentence = (
        "The CSRF check failed: send what the cookie '{cookie}' holds as the header X-CSRFToken, "
        "from a page of this console."
    )


class Unauthenticated(WrongUsage):
    """Nobody we know."""

    http_status = 401
    code = "unauthenticated"
    sentence = "Send an API token as `Authorization: Bearer …`, or sign in."


def problem(
    request: HttpRequest,
    status: int,
    code: str,
    detail: str,
    more: Mapping[str, Any] | None = None,
) -> HttpResponse:
    """Make the answer of an error.

    Args:
        request: The request.
        status: The HTTP status.
        code: The kind, for programs.
        detail: One sentence for people.
        more: Further members.
    """
    body = {
        "type": _KIND + code,
        "title": _TITLES.get(status, "Something failed"),
        "status": status,
        "detail": cut_text(detail, 2000),
        "instance": cut_text(request.path, 500),
        "code": code,
        **jsonable(more or {}),
    }
    response = HttpResponse(json.dumps(body), status=status, content_type=MEDIA_TYPE)
    if status == 401:  # noqa: PLR2004
        response["WWW-Authenticate"] = 'Bearer realm="signalbox"'
    if status == 503:  # noqa: PLR2004
        response["Retry-After"] = "2"
    return response


def of_error(
    request: HttpRequest, error: SignalboxError, more: Mapping[str, Any] | None = None
) -> HttpResponse:
    """Make the answer of an error of ours."""
    if error.http_status >= _UNSEEN:
        _LOG.error("%s %s: %s", request.method, request.path, error, exc_info=error)
    known = {**_MORE.get(error.code, lambda _error: {})(error), **(more or {})}
    return problem(request, error.http_status, error.code, str(error), known)


_MORE: Final[dict[str, Any]] = {
    "not_allowed_now": lambda e: {"state": e.state},
    "situation_moved": lambda e: {"expected": e.expected, "situation": e.actual},
    "review_closed": lambda e: {"closed_by": e.closed_by, "outcome": e.outcome, "at": e.at},
    "input_refused": lambda e: {"problems": e.problems},
    "manifest_refused": lambda e: {"problems": e.problems},
}


def add_handlers(ninja: NinjaAPI) -> None:
    """Have the API answer every error in this shape."""
    api: Any = ninja  # its handlers are typed for classes as well as for errors
    api.add_exception_handler(SignalboxError, of_error)
    api.add_exception_handler(ValidationError, _not_valid)
    api.add_exception_handler(HttpError, _of_ninja)
    api.add_exception_handler(Http404, _not_found)
    api.add_exception_handler(RequestDataTooBig, _too_large)
    api.add_exception_handler(SuspiciousOperation, _unreadable)
    api.add_exception_handler(UnreadablePostError, _unreadable)
    for away in (
        psycopg.OperationalError,
        psycopg.InterfaceError,
        django.db.OperationalError,
        django.db.InterfaceError,
    ):
        api.add_exception_handler(away, _away)


def _not_valid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    found = [
        {
            "where": cut_text(".".join(str(part) for part in one.get("loc", ())), _LONGEST_WHERE),
            "problem": cut_text(one.get("msg", ""), _LONGEST_WHERE),
        }
        for one in error.errors[:_MOST_PROBLEMS]
    ]
    first = found[0] if found else {"where": "request", "problem": "it is not valid"}
    detail = f"{first['where']}: {first['problem']}."
    return problem(request, 422, "not_valid", detail, {"problems": found})


def _of_ninja(request: HttpRequest, error: HttpError) -> HttpResponse:
    # The framework wraps what the reader of bodies raised.
    if isinstance(error.__cause__, SignalboxError):
        return of_error(request, error.__cause__)
    if error.status_code == 401:  # noqa: PLR2004
        return of_error(request, Unauthenticated())
    return problem(request, error.status_code, "http_error", f"{error}.")


def _not_found(request: HttpRequest, _error: Http404) -> HttpResponse:
    return problem(request, 404, "not_found", "There is nothing at this address.")


def _too_large(request: HttpRequest, _error: RequestDataTooBig) -> HttpResponse:
    return problem(request, 413, "too_large", "The body is larger than 25 MB.")


def _unreadable(request: HttpRequest, _error: Exception) -> HttpResponse:
    return problem(request, 400, "unreadable", "The request cannot be read.")


def _away(request: HttpRequest, error: Exception) -> HttpResponse:
    _LOG.warning("%s %s: the database is away: %s", request.method, request.path, error)
    return problem(request, 503, "database_away", "The database cannot be used now; try again.")
