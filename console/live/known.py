"""Who is behind a session, remembered for a moment for the parts of open pages.

An open page asks for parts several times a second; who asks, what they may and what they prefer is
read twice a second for all of them.  It is forgotten at once where somebody signs out or what they
may changes (`console.live.signals`), here and, by the hint that closes sockets, in other processes.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.middleware import get_user
from django.http import HttpRequest, HttpResponse

from console.live.marks import LONGEST_S, heard_in

type Next = Callable[[HttpRequest], HttpResponse]

_KEPT: Final = 500


@dataclass(frozen=True, slots=True)
class Known:
    """What was read of a session.

    Args:
        user: The account, with what it may.
        row: Its row in the list of sessions.
        preferences: What it prefers.
        read_ns: When, by this process's monotonic clock; before the reading began.
    """

    user: Any
    row: Any
    preferences: Any
    read_ns: int


class Memory:
    """Remembers sessions, each for half a second at most, and forgets them all at once."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._lock = Lock()
        self._forgotten = 0

    @property
    def epoch(self) -> int:
        """How often everything was forgotten: what was read in another epoch is not kept."""
        return self._forgotten

    def get(self, key: str, now_ns: int) -> Known | None:
        """Give what is remembered of a session."""
        known = self._known.get(key)
        return known if known and now_ns - known.read_ns <= LONGEST_S * 1e9 else None

    def keep(self, key: str, known: Known, epoch: int) -> None:
        """Remember a session, unless something was forgotten since it was read."""
        with self._lock:
            if epoch != self._forgotten:
                return
            self._known.pop(key, None)
            self._known[key] = known
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)

    def forget(self) -> None:
        """Read everybody anew."""
        with self._lock:
            self._forgotten += 1
            self._known.clear()


memory: Final = Memory()


class Recognise:
    """Knows who asks for a part without looking again, if it has just looked.

    Only requests that say what news they have heard: a page that has just done something itself
    does not, and is looked at.  Must hold: it stands behind Django's own authentication.
    """

    def __init__(self, get_response: Next) -> None:
        self._next = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Serve one request."""
        key = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "") if _may_recall(request) else ""
        if not key:
            return self._next(request)
        epoch, now_ns = memory.epoch, time.monotonic_ns()
        known = memory.get(key, now_ns)
        if known is not None:
            request.user, request.preferences = known.user, known.preferences  # type: ignore[attr-defined]
            request.signed_in = known.row  # type: ignore[attr-defined]
            return self._next(request)
        response = self._next(request)
        row = getattr(request, "signed_in", None)
        if row is not None and request.session.session_key == key:
            memory.keep(key, Known(get_user(request), row, request.preferences, now_ns), epoch)  # type: ignore[attr-defined]
        return response


def _may_recall(request: HttpRequest) -> bool:
    return (
        request.method == "GET"
        and request.headers.get("HX-Request") == "true"
        and "Authorization" not in request.headers
        and heard_in(request.headers.get("Signalbox-Mark", "")) is not None
    )
