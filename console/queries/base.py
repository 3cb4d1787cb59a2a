"""What all reads of pages share: the namespace, where counts stop, and the clock."""

from datetime import datetime, timedelta
from typing import Final

from django.db import connection

NAMESPACE: Final = "default"
COUNTED: Final = 1000
"""Counts stop here: nobody acts differently on 1,001."""
RECENT: Final = timedelta(hours=24)


def database_now() -> datetime:
    """Give the present by the clock that all instants come from."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT runtime_now()")
        found: datetime = cursor.fetchone()[0]
        return found
