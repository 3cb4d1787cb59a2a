"""A step rewrites its task's row on its own page and touches no index: a HOT update."""

from collections.abc import Callable

import pytest
from django.db import connection

from runtime.engine.desk import Desk
from runtime.store.session import execute
from tests.support import work

pytestmark = pytest.mark.django_db(transaction=True)

STEPS = 20


def reads(desk: Desk) -> None:
    for _ in range(STEPS):
        desk.write(*work.read(desk))


def writes(desk: Desk) -> None:
    for _ in range(STEPS // 2):
        desk.write(*work.begin(desk), dispatches=True)
        desk.write(*work.confirm(desk))


def counters() -> tuple[int, int]:
    """Give the updates and the HOT updates of the task table that the server has counted."""
    execute("SELECT pg_stat_force_next_flush()")
    connection.close()
    execute("SELECT pg_stat_clear_snapshot()")
    updates, hot = execute(
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'runtime_task'",
    )[0]
    return updates, hot


@pytest.mark.parametrize("steps", [reads, writes], ids=lambda steps: steps.__name__)
def test_steps_are_hot_updates(steps: Callable[[Desk], None]) -> None:
    desk = work.at_desk()
    updates, hot = counters()

    steps(desk)

    updates_now, hot_now = counters()
    assert updates_now - updates == STEPS
    assert hot_now - hot == STEPS


def test_a_renewed_lease_is_a_hot_update_of_a_row_without_moving_indexes() -> None:
    """An expiry that steps or renewals move is never indexed."""
    indexed = execute(
        "SELECT DISTINCT a.attname::text FROM pg_index i JOIN pg_attribute a "
        "ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) "
        "WHERE i.indrelid IN ('runtime_worker'::regclass, 'runtime_task'::regclass)",
    )

    moving = {"expires_at", "renewed_at", "version", "state", "checkpoint", "situation"}
    assert {name for (name,) in indexed} & moving == set()
