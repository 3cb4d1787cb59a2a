"""The sweep beside workers that are alive."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from runtime.store import claims, leases
from runtime.store.session import execute
from tests.support import sessions, work
from tests.support.sessions import Actor

pytestmark = pytest.mark.django_db(transaction=True)

GATE = 42


@contextmanager
def gated_clock() -> Iterator[None]:
    """Let every statement that asks for the time wait at a gate that tests can shut.

    Volatile, so that the running statement waits, with its snapshot, and not the planner.
    """
    define = "CREATE OR REPLACE FUNCTION runtime_now() RETURNS timestamptz LANGUAGE "
    execute(
        define + f"plpgsql VOLATILE AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared({GATE}); "
        "RETURN statement_timestamp(); END $$",
    )
    try:
        yield
    finally:
        execute(define + "sql STABLE PARALLEL SAFE AS $$ SELECT statement_timestamp() $$")


def test_a_task_that_a_living_worker_took_meanwhile_is_not_freed() -> None:
    """Between the sweep's look and its lock another sweep freed the task and a worker took it."""
    dead, living = work.hire(lease_s=0), work.hire()
    claimed = work.claim(work.submit(), dead)
    with gated_clock(), sessions.session() as gate:
        gate.execute("SELECT pg_advisory_lock(%s)", (GATE,))
        sweep = Actor(lambda: leases.bury(watching=True))
        sessions.wait_for_waiter(gate)
        gate.execute(
            "UPDATE runtime_task SET owner = %s, epoch = epoch + 2 WHERE id = %s",
            (living, claimed.id),
        )
        gate.execute("SELECT pg_advisory_unlock(%s)", (GATE,))

        assert sweep.result() == (1, 0)

    assert claims.standing(claimed.id) == (living, claimed.epoch + 2, 0)
