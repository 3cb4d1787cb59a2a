"""Runs the statements of ``sql/`` on Django's connection of the calling thread.

Statements are prepared on the server and bound there.  Not for coroutines: database work of the
engine is sync, off the event loop.  Inside ``transaction.atomic`` a statement joins the
transaction; outside, each one is a transaction of its own.
"""

import logging
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from django.db import InterfaceError, OperationalError, connection

_LOG = logging.getLogger("runtime.store")
SQL_DIR = Path(__file__).parent / "sql"

type Row = tuple[Any, ...]
type Params = Mapping[str, object] | Sequence[object]

# What a lost or demoted server answers: the connection is of no use any more, the statement may or
# may not have been carried out.  A read-only server is one of them: after a failover the old
# primary still answers reads (hazard DB-01).  Django wraps what happens while it connects, begins
# or commits in errors of its own, which are none of the driver's.
LOST = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.IdleInTransactionSessionTimeout,
    psycopg.errors.TransactionTimeout,
    OperationalError,
    InterfaceError,
)
# The statement was rolled back for the sake of others and may simply be sent again.
AGAIN = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)


class TogetherRefused(Exception):
    """Statements could not be run as one transaction; nothing of it is, each must come alone."""


@cache
def sql(name: str) -> str:
    """Read one statement."""
    return (SQL_DIR / f"{name}.sql").read_text()


@cache
def blocks(name: str) -> dict[str, str]:
    """Read a statement that is written as named blocks (``--: name``)."""
    parts = re.split(r"^--: (\w+)\n", sql(name), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


class _Local(threading.local):
    bound: psycopg.Connection[Any] | None = None
    raw: psycopg.Connection[Any] | None = None
    cursor: psycopg.Cursor[Row] | None = None
    numbered: psycopg.RawCursor[Row] | None = None
    is_lent: bool = False


_local = _Local()


def bind(raw: psycopg.Connection[Any] | None) -> None:
    """Have this thread use a connection of its own instead of Django's.

    For threads that need the server itself and no pooler in between: an advisory lock lives in a
    session.
    """
    _local.bound = raw
    _local.raw = _local.cursor = None


def _cursor() -> psycopg.Cursor[Row]:
    """Give this thread's cursor; one for all statements, a new one costs a tenth of a step."""
    local = _local
    # Django may have closed its connection meanwhile, and then it has closed this one; or has given
    # it back to a pool, and then it is somebody else's.
    if (
        local.cursor is not None
        and local.raw is not None
        and not local.raw.closed
        and not (local.is_lent and connection.connection is not local.raw)
    ):
        return local.cursor
    raw, local.is_lent = local.bound, False
    if raw is None:
        raw = connection.connection
        if raw is None or raw.closed:
            connection.ensure_connection()
            raw = connection.connection
        local.is_lent = bool(connection.settings_dict["OPTIONS"].get("pool"))
        # Django switches prepared statements off for its own cursors; ours live from them.
        raw.prepare_threshold = 1
    local.raw, local.cursor, local.numbered = raw, psycopg.Cursor(raw), psycopg.RawCursor(raw)
    return local.cursor


def execute(text: str, params: Params = ()) -> list[Row]:
    """Run a statement on this thread's connection and give its rows.

    Raises:
        psycopg.Error: As the driver raises it; see ``LOST`` and ``AGAIN``.
    """
    return _rows(_cursor(), text, params)


def execute_numbered(text: str, params: Sequence[object]) -> list[Row]:
    """Run a statement whose parameters are numbered (``$1``); see ``execute``."""
    _cursor()
    numbered = _local.numbered
    assert numbered is not None  # noqa: S101 (made together with the other cursor)
    return _rows(numbered, text, params)


def execute_together(
    statements: Sequence[tuple[str, Sequence[object]]], lock_wait_ms: int
) -> list[list[Row]]:
    """Run numbered statements as one transaction in one round trip; gives the rows of each.

    Must hold: no transaction is open on this thread.

    Args:
        statements: Texts and their parameters.
        lock_wait_ms: All of them fail when one waits longer than this for a lock.

    Raises:
        TogetherRefused: One of them failed and nothing is written.
        psycopg.Error: The connection was lost; all of it may be written, or nothing.
    """
    _cursor()
    raw = _local.raw
    assert raw is not None  # noqa: S101 (the cursor is made on it)
    cursors = []
    try:
        with raw.pipeline():
            # A pipeline is one transaction anyway, but what fails only at its end is not told.
            raw.execute("BEGIN", prepare=True)
            local = "SELECT set_config('lock_timeout', %s, true)"
            raw.execute(local, (f"{lock_wait_ms}ms",), prepare=True)
            for text, params in statements:
                cursor = psycopg.RawCursor(raw)
                cursor.execute(text, params, prepare=True)
                cursors.append(cursor)
            raw.execute("COMMIT", prepare=True)
    except Exception as error:
        broken = raw.broken
        # Where in the pipeline it stands now is nobody's guess; the server rolls back what is open.
        forget_connection()
        if broken:
            raise psycopg.OperationalError(str(error)) from error
        raise TogetherRefused from error
    return [cursor.fetchall() for cursor in cursors]


def in_transaction() -> bool:
    """Tell whether a transaction of Django's is open on this thread."""
    return bool(connection.in_atomic_block)


def _rows(cursor: psycopg.Cursor[Row], text: str, params: Params) -> list[Row]:
    cursor.execute(text, params, prepare=True)
    result = cursor.pgresult
    return cursor.fetchall() if result is not None and result.nfields else []


def run(name: str, params: Params = ()) -> list[Row]:
    """Run the statement of one file; see ``execute``."""
    return execute(sql(name), params)


def patiently[T](step: Callable[[], T]) -> T:
    """Run a read, or a write that may be sent twice, until the database answers.

    For workers that hold a task: what they have in memory must outlive an outage.  Inside a
    transaction nothing can be repeated, so there a lost connection is raised as everywhere.
    """
    pause_s = 0.02
    while True:
        try:
            return step()
        except (*LOST, *AGAIN) as error:
            if connection.in_atomic_block:
                raise
            _LOG.warning("waiting for the database: %s", error)
            forget_connection()
            threading.Event().wait(pause_s)
            pause_s = min(pause_s * 2, 1.0)


def unwrapped(error: Exception) -> Exception:
    """Give the driver's own error where Django has wrapped it in one of its coarser ones."""
    cause = error.__cause__
    return cause if isinstance(cause, psycopg.Error) else error


def give_up_idle_transaction(after_s: float) -> None:
    """Have the server end this transaction when we are silent for so long, from now on."""
    milliseconds = str(int(after_s * 1000))
    name = "idle_in_transaction_session_timeout"
    execute("SELECT set_config(%s, %s, true)", (name, milliseconds))


def forget_connection() -> None:
    """Drop this thread's connection, so that the next statement opens a new one."""
    _local.raw = _local.cursor = None
    raw = connection.connection
    if raw is not None:
        raw.close()
    # Inside a transaction Django must see the failure itself; outside it just reconnects.
    if not connection.in_atomic_block:
        connection.close()
