"""A demo for the console's first page, as the setting `SIGNALBOX_DEMO` names one."""

import os
from typing import Any

from runtime import api
from tests.agents_for_tests.clerk import NAME


class IsClosed(api.SignalboxError):
    """Nothing can be prepared."""

    http_status = 503

    def __str__(self) -> str:
        """Say so."""
        return "The shop is closed."


def is_open() -> bool:
    """Offer it always."""
    return True


def prepare() -> list[dict[str, Any]]:
    """Prepare two inputs."""
    if os.environ.get("DEMO_IS_CLOSED"):
        raise IsClosed
    return [{"order_id": "A1"}, {"order_id": "A2"}]


def submit(prepared: list[dict[str, Any]], by: str) -> int:
    """Submit them."""
    for one in prepared:
        api.submit(NAME, one, created_by=by)
    return len(prepared)
