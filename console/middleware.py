"""What every request gets: an id that joins it to logs and audit, and its person's clock.

Neither decides who may do what; that is `console.guard`.
"""

import re
import uuid
from collections.abc import Callable
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from console.models import Preferences

_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")

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
    """Shows a signed-in person times in their zone, and nobody's page to anybody else.

    Must hold: the session and its account are known by now.
    """

    def __init__(self, get_response: Next) -> None:
        self._next = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Serve one request."""
        zone = preferences(request).zone
        with timezone.override(ZoneInfo(zone) if zone else None):
            response = self._next(request)
        if response.get("Content-Type", "").startswith("text/html"):
            # Nothing an operator saw may come back from a cache: not on Back, not for the next one.
            response.setdefault("Cache-Control", "no-store")
        return response


def preferences(request: HttpRequest) -> Preferences:
    """Give what the person of a request prefers; the defaults for anybody else."""
    known: Preferences | None = getattr(request, "preferences", None)
    if known is None:
        user = request.user
        known = (
            Preferences.objects.filter(user_id=user.pk).first() if user.is_authenticated else None
        )
        known = known or Preferences()
        request.preferences = known  # type: ignore[attr-defined]
    return known
