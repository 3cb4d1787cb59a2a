"""Moving the database's clock: leases and due times come without waiting.

Only a test's database has this: `runtime_now()` is replaced by one that adds what a one-row table
says, and put back afterwards.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from runtime.engine.ports import Ports
from runtime.store.session import execute
from runtime.store.tasks import database_now

_TRUE = "SELECT statement_timestamp()"
_SHIFTED = "SELECT statement_timestamp() + (SELECT s.by FROM test_shift s)"


class Shift:
    """The clock of the test's database."""

    def forward(self, seconds: float, *processes: Ports) -> None:
        """Move it on for everybody; the clocks of these processes hear of it."""
        execute("UPDATE test_shift SET by = by + %s", (timedelta(seconds=seconds),))
        for ports in processes:
            ports.clock.hear(database_now())


@contextmanager
def shiftable() -> Iterator[Shift]:
    """Give a clock that can be moved, until the end of the block."""
    execute("DROP TABLE IF EXISTS test_shift")
    execute("CREATE TABLE test_shift AS SELECT interval '0' AS by")
    _define(_SHIFTED)
    try:
        yield Shift()
    finally:
        _define(_TRUE)
        execute("DROP TABLE test_shift")


def _define(body: str) -> None:
    execute(
        "CREATE OR REPLACE FUNCTION runtime_now() RETURNS timestamptz "
        f"LANGUAGE sql STABLE PARALLEL SAFE AS $$ {body} $$",
    )
