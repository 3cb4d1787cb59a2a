"""Retries stand in the database: they survive every worker, and the breaker spends none."""

import pytest

from tests.support.engine import Site
from tests.support.engine_diary import Diary


def test_a_failure_is_tried_again_until_it_succeeds(site: Site, diary: Diary) -> None:
    task = site.script({"call": "flaky", "diary": str(diary), "failures": 2})

    site.worker()
    site.settle(task)

    assert site.result(task) == [3]
    assert [one["attempt"] for one in site.events(task, "tool_call_failed")] == [1, 2]
    site.check(task)


def test_a_pause_asked_for_by_the_downstream_survives_the_worker(site: Site, diary: Diary) -> None:
    """Hazard RP-07: not before the stated time, the lease is free, a restart is no way in."""
    task = site.script({"call": "flaky", "diary": str(diary), "failures": 1, "after_s": 120})
    first = site.worker()
    site.eventually(lambda: site.row(task).state == "retrying")
    site.eventually(lambda: site.row(task).owner is None)
    first.stop()

    site.shift_clock(110)
    second = site.worker()
    site.eventually(
        lambda: site.count("SELECT count(*) FROM runtime_worker WHERE state = 'running'")
    )
    assert 0 < (site.row(task).due_in_s or 0) <= 11
    second.stop()
    site.shift_clock(122)
    site.worker()
    site.settle(task)

    assert diary.count("tried") == 2
    assert site.result(task) == [2]
    site.check(task)


def test_the_attempts_made_before_a_crash_count_after_it(site: Site, diary: Diary) -> None:
    """Counters belong to the call and not to the worker."""
    task = site.script({"call": "flaky", "diary": str(diary), "failures": 9, "after_s": 50})
    for attempt in (1, 2):
        victim = site.worker()
        site.eventually(lambda n=attempt: diary.count("tried") == n)  # type: ignore[misc]
        site.eventually(lambda: site.row(task).owner is None)
        victim.kill()
        site.shift_clock(60 * attempt)

    site.worker()
    site.settle(task)

    assert diary.count("tried") == 3
    assert site.asks(task) == "retries_exhausted"
    site.check(task)


def test_a_permanent_refusal_is_tried_once(site: Site) -> None:
    task = site.script({"call": "refuse", "value": "no such account"})

    site.worker()
    site.settle(task)

    item = site.review(task)
    assert item is not None
    assert item[1] == "retries_exhausted"
    assert "no such account" in item[2]
    assert len(site.events(task, "tool_call_failed")) == 1


def test_after_the_last_attempt_the_fallback_stands_in(site: Site) -> None:
    # The planner is not asked between the two: one call of its script, two that ended.
    task = site.script({"call": "falls_back", "value": 7}, {}, {"echo results": True})

    site.worker()
    site.settle(task)

    assert site.result(task) == [["falls_back", "failed", None], ["echo", "succeeded", 7]]
    site.check(task)


def test_an_unsure_once_call_goes_to_a_person_after_one_attempt(site: Site, diary: Diary) -> None:
    task = site.script({"call": "unsure", "diary": str(diary)})

    site.worker()
    site.settle(task)

    assert site.asks(task) == "in_doubt"
    assert diary.count("sent") == 1


@pytest.mark.parametrize("decision", ["retry", "result", "abort"])
def test_a_person_settles_exhausted_retries(decision: str, site: Site, diary: Diary) -> None:
    task = site.script({"call": "flaky", "diary": str(diary), "failures": 3})
    site.worker()
    site.settle(task)
    assert site.asks(task) == "retries_exhausted"

    site.decide(task, decision, **({"result": "by hand"} if decision == "result" else {}))
    site.eventually(lambda: site.row(task).ended)

    ends = {"retry": [4], "result": ["by hand"], "abort": None}
    if ends[decision] is None:
        assert site.row(task).state == "terminated_aborted"
    else:
        assert site.result(task) == ends[decision]
    site.check(task)


def test_an_open_breaker_parks_the_tasks_without_spending_attempts_and_lets_them_return(
    site: Site, diary: Diary
) -> None:
    call = {"call": "resting", "diary": str(diary)}
    tasks = [site.script(call) for _ in range(8)]
    first = site.worker(threads=1)
    site.eventually(lambda: site.count(_OPEN) == 1)
    site.eventually(lambda: all(row.state == "retrying" for row in site.rows(tasks)))
    spent = diary.count("tried")
    assert spent == 5

    # The downstream is back, and so are the tasks once the breaker's pause is over.
    diary.open("up")
    first.stop()
    site.shift_clock(60)
    site.worker()
    site.settle(*tasks)

    assert all(row.state == "terminated_success" for row in site.rows(tasks))
    assert diary.count("tried") == spent + len(tasks)
    assert site.count(_OPEN) == 0
    site.check(*tasks)


def test_a_breaker_opened_by_one_worker_holds_back_another(site: Site, diary: Diary) -> None:
    tasks = [site.script({"call": "resting", "diary": str(diary)}) for _ in range(3)]
    first = site.worker(threads=1)
    site.eventually(lambda: site.count(_OPEN) == 1)
    first.stop()
    spent = diary.count("tried")

    site.worker()
    later = site.script({"call": "resting", "diary": str(diary)})
    site.eventually(lambda: site.row(later).state == "retrying")

    assert diary.count("tried") == spent
    site.check(later, *tasks)


_OPEN = "SELECT count(*) FROM runtime_breaker WHERE body->>'state' = 'open'"
