"""Connections that break, stand still or are refused: what was decided is written all the same."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from runtime.store import leases
from runtime.store.session import execute
from tests.support import sessions, wide, work
from tests.support.sessions import Actor, wait_for_waiter

pytestmark = pytest.mark.django_db(transaction=True)

type Session = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def other(db: None) -> Iterator[Session]:
    """A second session, for what others do meanwhile."""
    with sessions.session() as raw:
        yield raw


def backend() -> int:
    pid: int = execute("SELECT pg_backend_pid()")[0][0]
    return pid


def test_a_connection_to_a_server_that_has_become_read_only_is_discarded() -> None:
    """Hazard DB-01: after a failover the old primary still answers reads."""
    desk = work.at_desk()
    execute("SET default_transaction_read_only = on")
    demoted = backend()

    assert desk.write(*work.read(desk))

    assert backend() != demoted
    work.check_whole(desk.claimed.id)


def test_a_session_that_was_ended_for_idling_does_not_stop_the_commit(other: Session) -> None:
    """Hazard DB-03."""
    desk = work.at_desk()
    idle = backend()
    execute("SET idle_session_timeout = '10ms'")
    sessions.wait_until(other, "NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = %s)", idle)

    assert desk.write(*work.read(desk))

    assert backend() != idle
    work.check_whole(desk.claimed.id)


def test_a_commit_whose_connection_is_cut_in_the_middle_is_written_once(other: Session) -> None:
    desk = work.at_desk()
    task_id, mine = desk.claimed.id, []
    decision, attached = work.read(desk)

    def write() -> bool:
        mine.append(backend())
        return desk.write(decision, attached)

    with other.transaction():
        other.execute("SELECT FROM runtime_task WHERE id = %s FOR UPDATE", (task_id,))
        worker = Actor(write)
        with sessions.session() as watch:
            wait_for_waiter(watch)
            watch.execute("SELECT pg_terminate_backend(%s)", (mine[0],))
            gone = "NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = %s)"
            sessions.wait_until(watch, gone, mine[0])

    assert worker.result() is True
    work.check_whole(task_id)


def test_a_deadlock_is_tried_again_and_fails_nobody(other: Session) -> None:
    """Hazard DB-07: 40P01 never surfaces as the failure of a task."""
    case = wide.ending()
    task_id, case.desk.attended = case.task_id, case.desk.attention
    text = "SELECT id FROM runtime_review WHERE task_id = %s"
    review_id = execute(text, (task_id,))[0][0]
    # The other one waits for longer than the worker, so that the worker is the one to give way.
    other.execute("SET deadlock_timeout = '1min'")
    with other.transaction():
        other.execute("SELECT FROM runtime_review WHERE id = %s FOR UPDATE", (review_id,))
        worker = Actor(lambda: case.desk.write(case.step.decision, case.step.attached))
        with sessions.session() as watch:
            wait_for_waiter(watch)
        other.execute("SELECT FROM runtime_task WHERE id = %s FOR UPDATE", (task_id,))

    assert worker.result() is True
    work.check_whole(task_id)


def test_a_hundred_tasks_that_end_while_their_owner_is_buried_meet_no_deadlock() -> None:
    """Hazard DB-07: the sweep locks in order of ids and skips what is locked."""
    owner = work.hire()
    desks = [work.at_desk(work.submit(), owner) for _ in range(100)]
    endings = [(desk, *work.finish(desk)) for desk in desks]

    def end_all() -> int:
        return sum(desk.write(end, attached) for desk, end, attached in reversed(endings))

    worker, sweep = Actor(end_all), Actor(lambda: leases.bury(watching=True))

    assert (worker.result(), sweep.result()) == (100, (0, 0))
