"""The sweep itself dies, or meets another: nothing is freed twice and nobody is forgotten."""

import signal
import threading
from uuid import UUID

import pytest
from django.db import transaction

from runtime.engine.ports import CrashPoint as P
from runtime.engine.ports import Ports
from runtime.engine.sweep import Sweep
from runtime.store import leases
from tests.support.engine import LEASE_S, Crash, Site
from tests.support.engine_crash import Case, DieAt
from tests.support.engine_diary import Diary


@pytest.mark.parametrize("point", [P.BEFORE_SWEEP, P.IN_SWEEP, P.AFTER_SWEEP])
def test_a_sweep_killed_at_any_point_is_followed_by_another(
    point: P, site: Site, diary: Diary
) -> None:
    """Hazards CR-05 and CR-09."""
    task = _orphan(site, diary)
    crash = DieAt(Case(point, 1))

    dying = site.fork(lambda: Sweep(Ports(crash=crash), LEASE_S).run())
    assert dying.wait() == -signal.SIGKILL
    site.worker()
    (row,) = site.settle(task, sweep=True)

    assert row.state == "terminated_success"
    site.check(task)


def test_a_sweep_killed_while_it_holds_its_locks_lets_go_of_them(site: Site, diary: Diary) -> None:
    """Another sweep does not wait for it, and frees what it held once it is gone."""
    task = _orphan(site, diary)

    def hold() -> None:
        with transaction.atomic():
            leases.bury(watching=False)
            diary.note("holds")
            threading.Event().wait()

    holder = site.fork(hold)
    site.eventually(lambda: diary.count("holds"))
    assert site.sweep().freed == 0
    assert site.row(task).owner is not None
    holder.kill()

    site.eventually(lambda: site.sweep().freed)
    assert site.row(task).owner is None


def test_two_sweeps_at_once_free_each_task_once(site: Site, diary: Diary) -> None:
    """Hazard LD-05: the epoch grows by one for the death and by one for the next claim."""
    tasks = [_orphan(site, diary) for _ in range(3)]

    sweeps = [site.fork(lambda: Sweep(Ports(), LEASE_S).run()) for _ in range(2)]
    site.eventually(lambda: all(row.owner is None for row in site.rows(tasks)))

    assert [row.epoch for row in site.rows(tasks)] == [2, 2, 2]
    assert not any(sweep.ended() for sweep in sweeps)


def test_a_sweep_that_has_not_watched_for_a_lease_trusts_no_expired_one(
    site: Site, diary: Diary
) -> None:
    """After an outage every lease looks expired; the living get the time to renew theirs."""
    task = site.script({"call": "gated", "diary": str(diary), "gate": "middle"})
    worker = site.worker()
    site.eventually(lambda: diary.count("entered"))
    worker.signal(signal.SIGSTOP)
    gone = "SELECT count(*) FROM runtime_worker WHERE expires_at < runtime_now()"
    site.eventually(lambda: site.count(gone))

    assert site.sweep().dead == 0
    worker.signal(signal.SIGCONT)
    site.eventually(lambda: not site.count(gone))
    diary.open("middle")

    assert site.settle(task, sweep=True)[0].epoch == 1


def _orphan(site: Site, diary: Diary) -> UUID:
    """Create a task whose worker and witness are gone, as with the loss of a machine."""
    gate = f"orphan-{len(site.forks)}"
    before = diary.count("entered")
    task = site.script({"call": "gated", "diary": str(diary), "gate": gate})
    crash = DieAt(Case(P.BEFORE_RENEWAL, 1), blind=True)
    victim = site.worker(crash=_after(diary, before, crash), prepare_worker=crash.prepare)
    assert victim.wait() == -signal.SIGKILL
    assert site.row(task).owner is not None
    diary.open(gate)
    return task


def _after(diary: Diary, before: int, crash: DieAt) -> Crash:
    def strike(point: P) -> None:
        if diary.count("entered") > before:
            crash(point)

    return strike
