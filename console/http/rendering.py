"""Writing answers: JSON that every reader takes, never a bare NaN (hazard NJ-07)."""

import json
from datetime import UTC, datetime
from typing import Any, override
from uuid import UUID

from django.http import HttpRequest
from ninja.renderers import BaseRenderer


class Renderer(BaseRenderer):
    """The API's writer of bodies."""

    media_type = "application/json"

    @override
    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> Any:
        return line(data)


def line(data: Any) -> bytes:
    """Write one value on one line.

    Raises:
        ValueError: It holds NaN or an infinity, which no payload of ours does any more.
    """
    text = json.dumps(data, default=_odd, allow_nan=False, ensure_ascii=False)
    return text.encode(errors="replace")


def _odd(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(type(value).__name__)
