"""Several database sessions in one test: threads with connections of their own, and who waits."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection

DEADLINE_S = 20.0
_LOOK_S = 0.002


@contextmanager
def session(*, autocommit: bool = True) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """Give a session of its own on the test's database."""
    known = connection.get_connection_params()
    wanted = {
        name: known[name]
        for name in known
        if name in {"dbname", "user", "password", "host", "port"}
    }
    with psycopg.connect(**wanted, autocommit=autocommit) as raw:
        yield raw


class Actor:
    """A function on a thread with its own Django connection; its outcome is read with `result`."""

    def __init__(self, run: Callable[[], Any]) -> None:
        self._run = run
        self._value: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            self._value = self._run()
        except BaseException as error:  # noqa: BLE001 (told to the test's own thread)
            self._error = error
        finally:
            connection.close()

    def result(self) -> Any:
        """Wait for the function and give what it gave, or raise what it raised."""
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive(), "the actor did not end"
        if self._error is not None:
            raise self._error
        return self._value


def wait_until(watch: psycopg.Connection[tuple[Any, ...]], condition: str, *params: object) -> None:
    """Wait until a condition holds in the eyes of a session, or fail."""
    never = threading.Event()
    for _ in range(int(DEADLINE_S / _LOOK_S)):
        row = watch.execute(f"SELECT {condition}".encode(), params).fetchone()
        if row is not None and row[0]:
            return
        never.wait(_LOOK_S)
    pytest.fail(f"it never came true: {condition}")


def wait_for_waiter(watch: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Wait until some session of this database waits for a lock."""
    wait_until(
        watch,
        "EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() "
        "AND wait_event_type = 'Lock')",
    )
