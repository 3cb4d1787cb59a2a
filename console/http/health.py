"""`/healthz` and `/readyz`, for whoever starts, stops and routes to this process.

Public, and in one word per part: what is wrong in detail stands in the log.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

import redis
from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from console.access import Permission, needs
from runtime import api

_LOG = logging.getLogger("console.http.health")
FRESH_S: Final = 1.0
"""An answer is given again for so long, so that nobody can make us write without end."""
_TIMEOUT_S: Final = 2.0
type Parts = dict[str, str]


@needs(Permission.PUBLIC)
@require_safe
def healthz(_request: HttpRequest) -> JsonResponse:
    """Tell that this process answers."""
    return JsonResponse({"status": "ok"})


@needs(Permission.PUBLIC)
@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    """Tell whether the database takes a write, Valkey answers, and a sweep is at work."""
    parts = _known.parts()
    ready = all(word == "ok" for word in parts.values())
    body = {"status": "ok" if ready else "not ready", **parts}
    return JsonResponse(body, status=200 if ready else 503, headers={"Cache-Control": "no-store"})


class _Known:
    """The last answer, for as long as it is fresh."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parts: Parts = {}
        self._at_s = 0.0

    def parts(self) -> Parts:
        with self._lock:
            now_s = time.monotonic()
            if not self._parts or now_s - self._at_s > FRESH_S:
                self._parts, self._at_s = look(), now_s
            return self._parts

    def forget(self) -> None:
        self._parts = {}


_known = _Known()


def look() -> Parts:
    """Ask every part now."""
    swept = "unknown"

    def database() -> None:
        nonlocal swept
        swept = "ok" if api.readiness().swept else "late"

    parts = {"database": _word("the database", database), "valkey": _word("Valkey", _ping)}
    return {**parts, "sweep": swept}


def _word(what: str, ask: Callable[[], object]) -> str:
    try:
        ask()
    except Exception as error:  # noqa: BLE001 (whatever it is, the part cannot be used)
        _LOG.warning("not ready: %s: %s", what, error)
        return "failed"
    return "ok"


def _ping() -> None:
    with redis.Redis.from_url(
        settings.VALKEY_URL, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S
    ) as client:
        client.ping()
