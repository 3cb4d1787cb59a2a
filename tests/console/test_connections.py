"""A web process's connections are lent: what one request leaves behind is not another's."""

import threading
from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection, connections

from console.connections import keep_connections
from runtime.store.session import execute

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def lent() -> Iterator[None]:
    """Keep connections as the web command does, for one test."""
    settings = connections.settings["default"]
    before = (settings["CONN_HEALTH_CHECKS"], settings["OPTIONS"])
    connection.close()
    keep_connections()
    yield
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]
    settings["CONN_HEALTH_CHECKS"], settings["OPTIONS"] = before


def _pid() -> int:
    return int(execute("SELECT pg_backend_pid()")[0][0])


def test_a_connection_that_was_given_back_is_not_used_any_more(lent: None) -> None:
    _pid()
    connection.close()
    taken: list[int] = []
    has_one, done = threading.Event(), threading.Event()

    def other_request() -> None:
        taken.append(_pid())
        has_one.set()
        done.wait(20)
        connection.close()

    thread = threading.Thread(target=other_request)
    thread.start()
    try:
        assert has_one.wait(20)
        mine = _pid()
    finally:
        done.set()
        thread.join()

    assert mine not in taken


def test_a_connection_that_the_server_ended_is_not_lent(lent: None) -> None:
    ended = _pid()
    connection.close()
    known = connection.get_connection_params()
    with psycopg.connect(dbname=known["dbname"], host=known["host"], user=known["user"]) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (ended,))

    assert _pid() != ended
