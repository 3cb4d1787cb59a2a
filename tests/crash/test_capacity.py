"""Slow waits hold no thread: two workers carry all tasks that are inside one slow call."""

import pytest

from tests.support.engine import Site
from tests.support.engine_programs import Programs

CONNECTIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
    "AND backend_type = 'client backend' AND application_name NOT LIKE 'shop %%'"
)
INSIDE = "SELECT count(*) FROM runtime_task WHERE owner IS NOT NULL"


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("number", "seconds"),
    [(300, 4.0), pytest.param(2000, 20.0, marks=pytest.mark.long)],
)
def test_two_workers_hold_all_tasks_inside_a_slow_async_tool(
    number: int, seconds: float, site: Site, programs: Programs
) -> None:
    calls = [{"call": "dwell", "seconds": seconds}, {"call": "echo", "value": 1}]
    tasks = [site.script(*calls) for _ in range(number)]
    workers = [programs.worker(SIGNALBOX_LEASE_S="15") for _ in range(2)]
    most_held, most_mb, most_connections = 0, 0.0, 0

    def all_ended() -> bool:
        nonlocal most_held, most_mb, most_connections
        most_held = max(most_held, site.count(INSIDE))
        most_mb = max(most_mb, sum(worker.memory_mb() for worker in workers))
        most_connections = max(most_connections, site.count(CONNECTIONS))
        rows = site.rows(tasks)
        return all(row.ended for row in rows)

    site.eventually(all_ended, 5 * seconds + 60)

    figures = f"held {most_held}, {most_mb:.0f} MB, {most_connections} connections"
    print(figures)  # noqa: T201 - the figures are what one runs the long form for (`-s`)
    assert most_held == number, figures
    assert most_mb < 2048, figures
    assert most_connections <= 50, figures
    assert {row.state for row in site.rows(tasks)} == {"terminated_success"}
    assert {row.epoch for row in site.rows(tasks)} == {1}
