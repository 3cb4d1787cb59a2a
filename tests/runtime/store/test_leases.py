"""Lives and deaths of workers, and what becomes of the tasks they hold."""

from uuid import UUID, uuid4

import psycopg
import pytest
from django.db import connection

from runtime.store import claims, leases
from runtime.store.session import execute
from tests.support import wide, work
from tests.support.shift import Shift

pytestmark = pytest.mark.django_db

LEASE_S = 15.0


def renew(worker: UUID) -> leases.Renewal | None:
    return leases.renew(worker, LEASE_S, held=3, memory_mb=50, state="draining")


def state_of(worker: UUID) -> tuple[object, ...]:
    text = "SELECT state, death, ended_at IS NOT NULL FROM runtime_worker WHERE id = %s"
    return execute(text, (worker,))[0]


def other_session() -> psycopg.Connection[tuple[object, ...]]:
    parameters = connection.get_connection_params()
    wanted = {
        key: parameters[key]
        for key in ("dbname", "user", "password", "host", "port")
        if key in parameters
    }
    return psycopg.connect(**wanted, autocommit=True)


# --- renewal ------------------------------------------------------------------------------------


def test_a_renewed_lease_lasts_from_now(shift: Shift) -> None:
    worker = work.hire(LEASE_S)
    shift.forward(10)

    renewal = renew(worker)

    assert renewal is not None
    left = "extract(epoch FROM expires_at - renewed_at)::float8, held, memory_mb, state"
    row = execute(f"SELECT {left} FROM runtime_worker WHERE renewed_at = %s", (renewal.now,))  # noqa: S608
    assert row == [(LEASE_S, 3, 50, "draining")]


def test_a_renewal_names_the_tasks_that_somebody_wants_something_of() -> None:
    worker = work.hire(LEASE_S)
    wanted, quiet = work.claim(work.submit(), worker), work.claim(work.submit(), worker)
    wide.deliver(wanted.id, "cancel", {})

    renewal = renew(worker)

    assert renewal is not None
    assert renewal.wanted == {wanted.id} != {quiet.id}


@pytest.mark.parametrize("state", ["dead", "stopped"])
def test_a_worker_that_is_over_renews_nothing(state: str) -> None:
    worker = work.hire(LEASE_S)
    execute("UPDATE runtime_worker SET state = %s, ended_at = runtime_now()", (state,))
    before = work.rows()

    assert renew(worker) is None
    assert work.rows() == before


def test_an_expired_lease_can_be_renewed_until_somebody_buries_it(shift: Shift) -> None:
    worker = work.hire(LEASE_S)
    shift.forward(LEASE_S + 1)

    assert renew(worker) is not None
    assert leases.bury(watching=True) == (0, 0)


# --- the sweep buries ---------------------------------------------------------------------------


def test_an_expired_lease_is_a_death_and_frees_the_tasks(shift: Shift) -> None:
    worker = work.hire(LEASE_S)
    claimed = work.claim(work.submit(), worker)
    shift.forward(LEASE_S + 1)

    assert leases.bury(watching=True) == (1, 1)

    assert state_of(worker) == ("dead", "its lease ran out", True)
    assert claims.standing(claimed.id) == (None, claimed.epoch + 1, 0)
    assert claims.claim(uuid4(), [work.QUEUE], [work.AGENT], 1)[0].epoch == claimed.epoch + 2


def test_after_an_outage_an_expired_lease_says_nothing(shift: Shift) -> None:
    worker = work.hire(LEASE_S)
    work.claim(work.submit(), worker)
    shift.forward(LEASE_S + 1)
    before = work.rows()

    assert leases.bury(watching=False) == (0, 0)
    assert work.rows() == before


def test_a_lease_that_holds_is_left_alone() -> None:
    work.claim(work.submit(), work.hire(LEASE_S))
    before = work.rows()

    assert leases.bury(watching=True) == (0, 0)
    assert work.rows() == before


@pytest.mark.django_db(transaction=True)
def test_a_lock_that_was_seen_and_is_gone_is_a_death_at_once() -> None:
    worker = work.hire(LEASE_S)
    work.claim(work.submit(), worker)
    with other_session() as process:
        process.execute("SELECT pg_advisory_lock(runtime_lock_key(%s))", (worker,))
        alive = leases.bury(watching=False)
        process.execute("SELECT pg_advisory_unlock_all()")

    assert alive == (0, 0)
    assert leases.bury(watching=False) == (1, 1)
    assert state_of(worker) == ("dead", "its process is gone", True)


@pytest.mark.django_db(transaction=True)
def test_a_lock_seen_before_a_restart_of_the_server_says_nothing() -> None:
    worker = work.hire(LEASE_S)
    work.claim(work.submit(), worker)
    execute(
        "UPDATE runtime_worker SET lock_seen_since = pg_postmaster_start_time() - '1h'::interval"
    )

    assert leases.bury(watching=False) == (0, 0)
    assert state_of(worker)[0] == "running"


@pytest.mark.django_db(transaction=True)
def test_a_process_that_stands_still_past_its_lease_is_dead_although_its_lock_is_held(
    shift: Shift,
) -> None:
    worker = work.hire(LEASE_S)
    with other_session() as process:
        process.execute("SELECT pg_advisory_lock(runtime_lock_key(%s))", (worker,))
        leases.bury(watching=True)
        shift.forward(LEASE_S + 1)

        assert leases.bury(watching=True) == (1, 0)

    assert state_of(worker) == ("dead", "its lease ran out while its process stood still", True)


def test_the_tasks_of_a_worker_that_nobody_knows_are_freed() -> None:
    """Hazard CR-11: the row of the dead worker was pruned before the sweep came."""
    claimed = work.claim(work.submit(), uuid4())

    assert leases.bury(watching=False) == (0, 1)

    assert claims.standing(claimed.id) == (None, claimed.epoch + 1, 0)


def test_the_tasks_of_a_stopped_worker_are_freed() -> None:
    worker = work.hire(LEASE_S)
    work.claim(work.submit(), worker)

    leases.retire(worker)

    assert leases.bury(watching=False) == (0, 1)
    assert state_of(worker) == ("stopped", None, True)


def test_the_dead_are_freed_in_portions() -> None:
    worker = uuid4()
    for _ in range(3):
        work.claim(work.submit(), worker)

    portions = [leases.bury(watching=False, limit=2) for _ in range(3)]

    assert portions == [(0, 2), (0, 1), (0, 0)]


@pytest.mark.django_db(transaction=True)
def test_a_locked_task_is_freed_by_the_next_sweep() -> None:
    """Hazard DB-09."""
    claimed = work.claim(work.submit(), uuid4())
    with other_session() as committing, committing.transaction():
        committing.execute(
            "SELECT FROM runtime_task WHERE id = %s FOR NO KEY UPDATE", (claimed.id,)
        )
        during = leases.bury(watching=False)

    assert (during, leases.bury(watching=False)) == ((0, 0), (0, 1))


# --- one certain death --------------------------------------------------------------------------


def test_a_certain_death_frees_that_workers_tasks_only() -> None:
    dead, living = work.hire(LEASE_S), work.hire(LEASE_S)
    mine, others = work.claim(work.submit(), dead), work.claim(work.submit(), living)

    assert leases.bury_one(dead, "signal 9") == {work.QUEUE: [mine.id]}

    assert state_of(dead) == ("dead", "signal 9", True)
    assert claims.standing(mine.id) == (None, mine.epoch + 1, 0)
    assert claims.standing(others.id) == (living, others.epoch, 0)


def test_a_worker_that_stopped_of_its_own_will_did_not_die() -> None:
    worker = work.hire(LEASE_S)
    leases.retire(worker)
    before = work.rows()

    assert leases.bury_one(worker, "signal 9") == {}
    assert work.rows() == before


def test_nobody_dies_twice() -> None:
    worker = work.hire(LEASE_S)
    leases.bury_one(worker, "signal 9")
    before = work.rows()

    assert leases.bury_one(worker, "signal 15") == {}
    leases.retire(worker)

    assert work.rows() == before


# --- accusations --------------------------------------------------------------------------------


def test_a_death_counts_against_the_task_whose_code_was_running() -> None:
    task_id = work.submit()

    assert [leases.accuse(task_id, 1) for _ in range(2)] == [1, 2]


@pytest.mark.parametrize(
    "spoil",
    [
        "version = version + 1",
        "state = 'terminated_failed', finished_at = runtime_now(), due_at = NULL",
    ],
)
def test_a_task_that_moved_on_is_innocent(spoil: str) -> None:
    task_id = work.submit()
    execute(f"UPDATE runtime_task SET {spoil}")  # noqa: S608
    before = work.rows()

    assert leases.accuse(task_id, 1) is None
    assert work.rows() == before


# --- evidence -----------------------------------------------------------------------------------


def test_a_refused_write_is_kept_as_evidence_and_moves_nothing() -> None:
    claimed = work.claim(work.submit())
    before = work.rows()

    leases.refuse(claimed, "an outcome", 5, operation_id="op", evidence={"paid": True})

    after = work.rows()
    assert {name for name in after if after[name] != before[name]} == {"runtime_refusal"}
    row = execute(
        "SELECT task_id, worker_id, epoch, epoch_now, what, evidence FROM runtime_refusal"
    )
    assert row == [(claimed.id, claimed.owner, 1, 5, "an outcome", '{"paid":true}')]


def test_free_slots_are_those_of_living_workers_of_the_queue() -> None:
    work.hire(LEASE_S)
    full, draining = work.hire(LEASE_S), work.hire(LEASE_S)
    execute("UPDATE runtime_worker SET held = 12 WHERE id = %s", (full,))
    execute("UPDATE runtime_worker SET state = 'draining' WHERE id = %s", (draining,))

    assert leases.free_slots(work.QUEUE) == 10
    assert leases.free_slots("other") == 0


# --- draining, and taking a task out of a worker's hands ---------------------------------------


def test_a_worker_reads_with_its_renewal_that_it_is_to_take_no_more() -> None:
    worker = work.hire(LEASE_S)

    asked = leases.drain(worker, wanted=True)
    drained = renew(worker)
    leases.drain(worker, wanted=False)
    again = renew(worker)

    assert asked == "host:1"
    assert drained is not None
    assert again is not None
    assert (drained.drain, again.drain) == (True, False)


def test_a_process_that_goes_on_as_another_incarnation_still_drains() -> None:
    worker = work.hire(LEASE_S)
    leases.drain(worker, wanted=True)
    fresh = uuid4()

    leases.register(
        leases.Incarnation(fresh, "host", 1, "worker", [work.QUEUE], 10, "1", before=worker),
        LEASE_S,
    )

    renewal = renew(fresh)
    assert renewal is not None
    assert renewal.drain


def test_only_the_living_can_be_asked_to_drain() -> None:
    worker = work.hire(LEASE_S)
    leases.retire(worker)

    assert leases.drain(worker, wanted=True) is None
    assert leases.drain(uuid4(), wanted=True) is None


@pytest.mark.parametrize("how", ["sweep", "recorder"])
def test_the_dead_leave_behind_what_they_held(how: str, shift: Shift) -> None:
    worker = work.hire(LEASE_S)
    claimed = work.claim(work.submit(), worker)
    shift.forward(LEASE_S + 1)

    if how == "sweep":
        leases.bury(watching=True)
    leases.bury_one(worker, "signal 9")

    left = execute("SELECT left_behind FROM runtime_worker WHERE id = %s", (worker,))
    assert left == [([claimed.id],)]


def test_a_seized_task_is_free_behind_a_new_fence_with_its_commands_unread() -> None:
    worker = work.hire(LEASE_S)
    claimed = work.claim(work.submit(), worker)
    wide.deliver(claimed.id, "cancel", {})

    taken = leases.seize("default", claimed.id, claimed.epoch)

    assert taken == (worker, work.QUEUE)
    assert claims.standing(claimed.id) == (None, claimed.epoch + 1, 1)
    assert claims.release(claimed.holder, 0) is False
    assert work.claim(claimed.id).attended == 0


def test_a_task_in_other_hands_than_those_on_the_screen_is_left_there() -> None:
    claimed = work.claim(work.submit(), work.hire(LEASE_S))
    before = work.rows()

    assert leases.seize("default", claimed.id, claimed.epoch - 1) is None
    assert leases.seize("elsewhere", claimed.id, claimed.epoch) is None
    assert work.rows() == before
