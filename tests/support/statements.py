"""What a piece of code sends to the database, whichever way it goes there: at the wire itself."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction
from psycopg.pq import Trace

_SENT = re.compile(r"^F\t\d+\t(?:Query|Execute)\t", re.MULTILINE)


class Count:
    """A number that is known after the block."""

    number = 0


#: Savepoints of the test's own, and prepared statements that make room for others.
_BESIDE = ("SAVEPOINT", "DEALLOCATE")


@contextmanager
def counted_statements() -> Iterator[Count]:
    """Count the statements that this thread's connection sends; savepoints do not count."""
    connection.ensure_connection()
    wire = connection.connection.pgconn
    count = Count()
    with tempfile.TemporaryFile("w+") as file:
        wire.trace(file.fileno())
        wire.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)
        try:
            yield count
        finally:
            wire.untrace()
        file.seek(0)
        sent = [line for line in file.read().splitlines() if _SENT.match(line)]
        count.number = len([line for line in sent if not any(word in line for word in _BESIDE)])


@contextmanager
def no_writes() -> Iterator[None]:
    """Have the server itself refuse every write; must hold: a transaction is under way."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL transaction_read_only = on")
        yield
        transaction.set_rollback(True)
