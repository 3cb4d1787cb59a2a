"""What all reads of pages share: the namespace, where counts stop, and the clock."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection

NAMESPACE: Final = "default"
COUNTED: Final = 1000
"""Counts stop here: nobody acts differently on 1,001."""
RECENT: Final = timedelta(hours=24)


def fetch(statement: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Run a statement of our own: for parts of open pages, where building one costs more."""
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def database_now() -> datetime:
    """Give the present by the clock that all instants come from."""
    found: datetime = fetch("SELECT runtime_now()")[0][0]
    return found
