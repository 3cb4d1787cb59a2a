"""Real worker processes: stopped, told to stop, forgotten by the database."""

import signal

import pytest

from runtime.store.session import execute
from tests.support.engine import Site
from tests.support.engine_diary import Diary
from tests.support.engine_programs import Programs


def test_a_stopped_worker_process_finds_its_task_in_other_hands_and_leaves_it_there(
    site: Site, diary: Diary, programs: Programs
) -> None:
    """Hazard LD-01: the second claim has a higher epoch, the first holder writes nothing more."""
    write = {"call": "gated_write", "diary": str(diary), "gate": "middle"}
    pay = {"call": "pay", "diary": str(diary), "to": "a", "cents": 1}
    task = site.script({"call": "echo", "value": 1}, write, pay)
    old = programs.worker()
    site.eventually(lambda: diary.count("written"))
    epoch = site.row(task).epoch

    old.signal(signal.SIGSTOP)
    programs.worker()
    programs.sweep()
    site.eventually(lambda: diary.count("written") == 2)
    diary.open("middle")
    site.settle(task)
    journal = site.story(task)
    old.signal(signal.SIGCONT)
    site.eventually(lambda: site.refusals(task))

    assert old.stop() == 0
    assert site.row(task).epoch > epoch
    assert site.story(task) == journal
    assert len({line["operation_id"] for line in diary.lines("written")}) == 1
    assert [line["pid"] != old.pid for line in diary.lines("paid")] == [True]
    site.check(task)


def test_a_late_result_is_kept_as_evidence(site: Site, diary: Diary) -> None:
    call = {"call": "gated_write", "diary": str(diary), "gate": "middle"}
    task = site.script(call)
    old = site.worker()
    site.eventually(lambda: diary.count("written"))

    old.signal(signal.SIGSTOP)
    site.worker()
    site.sweep_until(lambda: diary.count("written") == 2)
    diary.open("middle")
    site.settle(task)
    old.signal(signal.SIGCONT)
    site.eventually(lambda: site.refusals(task))

    text = "SELECT what, operation_id, evidence, epoch < epoch_now FROM runtime_refusal"
    ((what, operation_id, evidence, is_older),) = execute(text)
    assert what == "an outcome of gated_write"
    assert operation_id == diary.lines("written")[0]["operation_id"]
    assert evidence == f'"{operation_id}"'
    assert is_older


@pytest.mark.parametrize("name", ["gated", "gated_async"])
def test_sigterm_in_the_middle_of_a_step_loses_nothing_and_costs_no_attempt(
    name: str, site: Site, diary: Diary, programs: Programs
) -> None:
    first = {"call": name, "diary": str(diary), "gate": "middle"}
    task = site.script(first, {"call": "echo", "value": 1})
    worker = programs.worker()
    site.eventually(lambda: diary.count("entered"))
    waiting = site.script({"call": "echo", "value": 2})
    site.settle(waiting)

    worker.signal(signal.SIGTERM)
    state = "SELECT count(*) FROM runtime_worker WHERE pid = %s AND state = 'draining'"
    site.eventually(lambda: site.count(state, worker.pid))
    unclaimed = site.script({"call": "echo", "value": 3})
    diary.open("middle")
    assert worker.wait() == 0

    row = site.row(task)
    assert row.owner is None
    assert row.deaths == 0
    assert (row.due_in_s or 0) <= 0
    assert [result[0] for result in site.results(task)] == [name]
    assert site.row(unclaimed).epoch == 0
    site.worker()
    site.settle(task, unclaimed)
    assert diary.count("entered") == 1
    attempts = "SELECT max(attempts) FROM runtime_stepresult WHERE task_id = %s"
    assert site.count(attempts, task) == 1
    site.check(task, unclaimed)


def test_a_step_that_outlasts_the_grace_goes_on_elsewhere(site: Site, diary: Diary) -> None:
    task = site.script({"call": "gated", "diary": str(diary), "gate": "middle"})
    worker = site.worker(grace_s=0.2)
    site.eventually(lambda: diary.count("entered"))

    assert worker.stop() == 0
    diary.open("middle")
    site.worker()
    (row,) = site.settle(task, sweep=True)

    assert row.state == "terminated_success"
    assert row.deaths == 0
    assert diary.count("entered") == 2


def test_a_worker_whose_row_is_gone_loses_its_tasks_and_begins_anew(
    site: Site, diary: Diary
) -> None:
    """Hazard CR-11 a: what a worker holds is seen without its row."""
    task = site.script({"call": "gated_async", "diary": str(diary), "gate": "middle"})
    worker = site.worker(queues=("test", "second"))
    site.eventually(lambda: diary.count("entered"))

    execute("DELETE FROM runtime_worker")
    site.worker()
    site.sweep_until(lambda: diary.count("entered") == 2)
    diary.open("middle")
    site.settle(task)
    later = site.script({"call": "echo", "value": 1}, queue="second")
    site.settle(later, sweep=True)

    assert not worker.ended()
    site.check(task, later)


def test_a_worker_restarted_on_the_same_host_does_not_keep_the_dead_ones_tasks_alive(
    site: Site, diary: Diary
) -> None:
    """Hazard CR-11 b: an incarnation is no host name."""
    task = site.script({"call": "gated", "diary": str(diary), "gate": "middle"})
    first = site.worker()
    site.eventually(lambda: diary.count("entered"))

    first.kill()
    diary.open("middle")
    site.worker()

    assert site.settle(task, sweep=True)[0].state == "terminated_success"
    assert site.count("SELECT count(DISTINCT host) FROM runtime_worker") == 1
    assert site.count("SELECT count(DISTINCT id) FROM runtime_worker") == 2


def test_workers_that_race_for_the_same_tasks_claim_each_once(site: Site, diary: Diary) -> None:
    """Hazard LD-03: one claim succeeds, for the others the doorbell was a false alarm."""
    for _ in range(3):
        site.worker()
    living = "SELECT count(*) FROM runtime_worker WHERE state = 'running'"
    site.eventually(lambda: site.count(living) == 3)

    pay = {"call": "pay", "diary": str(diary), "to": "a", "cents": 1}
    tasks = [site.script({"call": "echo_async", "value": n}, pay) for n in range(30)]
    site.settle(*tasks)

    assert {row.epoch for row in site.rows(tasks)} == {1}
    assert diary.count("paid") == 30
    site.check(*tasks)


def test_an_idle_worker_that_woke_up_late_works_on_as_another_incarnation(site: Site) -> None:
    worker = site.worker()
    alive = "SELECT count(*) FROM runtime_worker WHERE state = %s"
    site.eventually(lambda: site.count(alive, "running"))

    worker.signal(signal.SIGSTOP)
    site.sweep_until(lambda: site.count(alive, "dead"))
    worker.signal(signal.SIGCONT)
    site.eventually(lambda: site.count(alive, "running"))
    task = site.script({"call": "echo", "value": 1})

    assert site.settle(task)[0].state == "terminated_success"
