"""What every request gets: an id that joins it to logs and audit, its person's clock and words.

Neither decides who may do what; that is `console.guard`.
"""

import re
import uuid
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation

from console import sessions
from console.models import Preferences

_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")

_FOR_PROGRAMS = ("/api/", "/metrics", "/healthz", "/readyz")

type Next = Callable[[HttpRequest], HttpResponse]


class RequestId:
    """Gives every request an id; one that a proxy made is kept if it is a plain word."""

    def __init__(self, get_response: Next) -> None:
        self._next = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Serve one request."""
        given = request.headers.get("X-Request-ID", "")
        request.id = given if _ID.fullmatch(given) else uuid.uuid4().hex  # type: ignore[attr-defined]
        response = self._next(request)
        response["X-Request-ID"] = request_id(request)
        return response


def request_id(request: HttpRequest) -> str:
    """Give the id of a request."""
    return str(getattr(request, "id", ""))


class Personal:
    """Speaks a person's language, shows times in their zone, and nobody's page to anybody else.

    What programs read is English. Must hold: the session and its account are known by now.
    """

    def __init__(self, get_response: Next) -> None:
        self._next = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Serve one request."""
        mine = preferences(request)
        zone = ZoneInfo(mine.zone) if mine.zone else None
        language = _language(request, mine)
        with timezone.override(zone), translation.override(language):
            response = self._next(request)
        if response.get("Content-Type", "").startswith("text/html"):
            response.setdefault("Content-Language", language)
            # Nothing an operator saw may come back from a cache: not on Back, not for the next one.
            response.setdefault("Cache-Control", "no-store")
        return response


def preferences(request: HttpRequest) -> Preferences:
    """Give what the person of a request prefers; the defaults for anybody else."""
    known: Preferences | None = getattr(request, "preferences", None)
    if known is None:
        row = sessions.look(request)
        user: Any = row.user if row is not None else None
        # Read along with the session's row; an account that chose nothing has none.
        known = getattr(user, "preferences", None) or Preferences()
        request.signed_in = row  # type: ignore[attr-defined]
        request.preferences = known  # type: ignore[attr-defined]
    return known


def _language(request: HttpRequest, mine: Preferences) -> str:
    if request.path_info.startswith(_FOR_PROGRAMS):
        return "en"
    return mine.language or translation.get_language_from_request(request)
