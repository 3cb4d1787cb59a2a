"""Every kind of tool on its good day, and what a step leaves in the tables."""

from typing import Any

import pytest
from django.db import connection

from runtime.examples.aftersales.control import ShopDesk
from tests.support.engine import Site
from tests.support.engine_diary import Diary
from tests.support.engine_shop import order, seen

WRITES = ["enter", "refund", "refund_async", "label", "label_async", "mail", "mail_async"]


@pytest.mark.parametrize("hand", ["look", "look_async", *WRITES])
def test_every_effect_class_happens_once_and_its_result_is_kept(
    hand: str, site: Site, desk: ShopDesk
) -> None:
    order_id = order(desk)
    task = site.submit("test-hand", {"hand": hand, "order_id": order_id})

    site.worker()
    row = site.settle(task)[0]

    assert row.state == "terminated_success"
    assert site.result(task) == {"order_id": order_id, "calls": 3}
    assert [tool for tool, _, _ in site.results(task)] == ["look", hand, "look"]
    assert seen(desk, order_id, hand) == (1 if hand in WRITES else 0)
    assert site.effects(task) == ([(hand, "confirmed")] if hand in WRITES else [])
    site.check(task)


def test_a_read_of_a_script_planner_is_one_event_and_one_commit(site: Site) -> None:
    task = site.script({"call": "echo", "value": 1}, {"call": "echo_async", "value": 2})

    site.worker()
    site.settle(task)

    assert site.story(task) == [
        "task_created",
        "task_started",
        "tool_call_succeeded",
        "tool_call_succeeded",
        "task_completed",
    ]


def test_the_calls_of_one_plan_run_in_order_and_see_each_others_results(site: Site) -> None:
    """Hazard TA-03."""
    calls = [{"call": "echo", "value": n} for n in range(5)]
    task = site.script({"calls": calls})

    site.worker()
    site.settle(task)

    assert site.result(task) == [0, 1, 2, 3, 4]
    site.check(task)


def test_writes_of_one_plan_get_an_operation_each(site: Site, diary: Diary) -> None:
    """Hazard DS-09: two updates of one record in one task are two effects."""
    to = [{"call": "pay", "diary": str(diary), "to": "a", "cents": n} for n in (1, 2)]
    task = site.script({"calls": to})

    site.worker()
    site.settle(task)

    paid = diary.lines("paid")
    assert [line["cents"] for line in paid] == [1, 2]
    assert len({line["operation_id"] for line in paid}) == 2
    site.check(task)


def test_a_result_reads_the_same_before_and_after_a_recovery(site: Site, diary: Diary) -> None:
    first = {"call": "zoo", "animal": "tuple"}
    gate = {"call": "gated", "diary": str(diary), "gate": "middle"}
    task = site.script(first, gate, {"echo results": True})
    victim = site.worker()
    site.eventually(lambda: diary.count("entered"))
    before = site.results(task)

    victim.kill()
    diary.open("middle")
    site.worker()
    site.settle(task, sweep=True)

    assert site.result(task)[0] == ["zoo", "succeeded", before[0][2]]


@pytest.mark.parametrize(
    ("script", "outcome"),
    [([{"fail": "no way"}], "terminated_failed"), ([{"finish": 7}], "terminated_success")],
)
def test_a_plan_may_end_the_task_at_once(
    script: list[dict[str, Any]], outcome: str, site: Site
) -> None:
    task = site.script(*script)

    site.worker()

    assert site.settle(task)[0].state == outcome


def test_a_question_parks_the_task_until_its_answer(site: Site) -> None:
    task = site.script({"ask": "which one?"}, {"call": "echo", "value": 1})
    site.worker()
    site.settle(task)
    assert site.review(task) is not None

    site.decide(task, "answer", answer="the blue one")
    site.eventually(lambda: site.row(task).ended)

    assert site.story(task).count("human_answered") == 1
    assert site.row(task).state == "terminated_success"
    site.check(task)


def test_a_paid_step_before_a_question_is_not_paid_again_after_it(site: Site, diary: Diary) -> None:
    """Hazards DS-01 and DS-03: nothing before a pause runs again, also after one more crash."""
    pay = {"call": "pay", "diary": str(diary), "to": "a", "cents": 1}
    gate = {"call": "gated", "diary": str(diary), "gate": "end"}
    task = site.script(pay, {"ask": "go on?"}, gate)
    victim = site.worker()
    site.settle(task)

    site.decide(task, "answer", answer=True)
    site.eventually(lambda: diary.count("entered"))
    victim.kill()
    diary.open("end")
    site.worker()
    site.settle(task, sweep=True)

    assert diary.count("paid") == 1
    site.check(task)


def test_isolated_tools_run_in_a_process_of_their_own(site: Site, diary: Diary) -> None:
    task = site.script({"call": "apart", "diary": str(diary)})
    worker = site.worker()

    site.settle(task)

    (pid,) = site.result(task)
    assert pid == diary.lines("apart")[0]["pid"]
    assert pid != worker.pid


def test_local_work_commits_with_its_step_and_goes_with_its_failure(site: Site) -> None:
    """The first two attempts write and fail: their rows are gone, one row and one step remain."""
    task = site.script({"call": "enter_late", "order_id": "local-1", "fails_before": 2})

    site.worker()
    site.settle(task)

    with connection.cursor() as cursor:
        cursor.execute("SELECT attempt FROM engine_test_effect WHERE order_id = 'local-1'")
        rows = cursor.fetchall()
    assert rows == [(3,)]
    assert site.result(task) == [3]
    site.check(task)


def test_local_work_that_only_the_commit_refuses_is_a_failure_of_its_tool(site: Site) -> None:
    """Django's own foreign keys are checked there."""
    task = site.script({"call": "enter_twice", "order_id": "twice-1"})

    site.worker()
    site.settle(task)

    item = site.review(task)
    assert item is not None
    assert item[1] == "retries_exhausted"
    assert "twice-1" in item[2]
    assert site.count("SELECT count(*) FROM engine_test_deferred") == 0
    site.check(task)


def test_a_retry_sees_the_last_progress_of_the_attempt_before(site: Site, diary: Diary) -> None:
    """Hazard RP-09."""
    task = site.script({"call": "count_down", "diary": str(diary)})

    site.worker()
    site.settle(task)

    assert site.result(task) == [1]
    assert [line["given"] for line in diary.lines("attempt")] == [None, 1]


def test_the_attempt_after_a_crash_sees_the_progress_of_the_dead_one(
    site: Site, diary: Diary
) -> None:
    task = site.script({"call": "report_and_wait", "diary": str(diary)})
    victim = site.worker()
    text = "SELECT count(*) FROM runtime_progress WHERE task_id = %s"
    site.eventually(lambda: site.count(text, task))

    victim.kill()
    site.worker()
    site.settle(task, sweep=True)

    assert site.result(task) == [{"page": 7}]


def test_a_cancelled_task_tells_its_tool_which_returns_early(site: Site, diary: Diary) -> None:
    """Hazards LD-13 and LD-15: the cancel wins, and the late result changes nothing."""
    task = site.script({"call": "until_cancelled", "diary": str(diary)}, {"finish": 1})
    site.worker()
    site.eventually(lambda: diary.count("entered"))

    site.tell(task, "cancel", {"reason": "enough"})
    row = site.settle(task)[0]

    assert row.state == "terminated_aborted"
    site.check(task)
