"""What planners return, also at their worst; limits, preconditions and drift."""

import dataclasses
from typing import Any

import pytest

from runtime.tools.agents import registry
from tests.support.engine import Site
from tests.support.engine_diary import Diary

RUBBISH = [
    {"odd plan": "object"},
    {"odd plan": "nan"},
    {"odd plan": "deep"},
    {"odd plan": "raises faceless"},
    {"odd plan": "raises two arguments"},
    {"odd plan": "raises 12 MB"},
    {"odd plan": "raises exit"},
    {"odd plan": "raises interrupt"},
    {"odd plan": "raises stop iteration"},
    {"unknown": "form"},
    {"call": "no_such_tool"},
    {"call": "echo", "no_such_argument": 1},
    {"call": "pay", "to": 7},
    {"calls": []},
    {"ask": ""},
]


@pytest.mark.parametrize("step", RUBBISH, ids=str)
def test_rubbish_of_a_planner_goes_to_a_person_and_harms_nobody(
    step: dict[str, Any], site: Site
) -> None:
    task = site.script(step)
    other = site.script({"call": "echo", "value": 1})

    worker = site.worker()
    site.settle(task, other)

    item = site.review(task)
    assert item is not None
    assert item[1] == "plan_invalid"
    assert 0 < len(item[2]) < 10_000
    assert site.result(other) == [1]
    assert not worker.ended()
    site.check(task, other)


def test_a_planner_may_ask_and_fail_with_words_that_no_database_takes(site: Site) -> None:
    """The answer is found under the words that were asked."""
    odd = "Which of a\x00b and \ud835?"
    asking = site.script({"ask": odd}, {"answer of": odd})
    failing = site.script({"fail": odd * 10_000})
    site.worker()
    site.settle(asking, failing)

    site.decide(asking, "answer", answer="b")
    site.eventually(lambda: site.row(asking).state == "terminated_success")

    assert site.row(failing).state == "terminated_failed"
    (finished,) = site.events(asking, "task_completed")
    assert "b" in finished["summary"]
    site.check(asking, failing)


def test_a_rejected_plan_is_asked_for_again_when_a_person_says_so(site: Site) -> None:
    task = site.script({"call": "no_such_tool"})
    site.worker()
    site.settle(task)

    site.decide(task, "retry")
    site.eventually(lambda: len(site.events(task, "plan_rejected")) == 2)
    site.settle(task)

    assert site.asks(task) == "plan_invalid"
    site.check(task)


def test_a_task_of_an_agent_this_worker_does_not_know_is_left_alone(site: Site) -> None:
    agent = registry.get("test-script")
    stranger = site.script({"call": "echo", "value": 1})
    known = site.submit("test-hand", {"hand": "echo", "order_id": "x"})

    with registry.separate(registry.get("test-hand")):
        worker = site.worker()
    site.settle(known)

    assert site.row(stranger).state == "initialized"
    assert site.row(stranger).epoch == 0
    worker.stop()
    assert registry.get("test-script") is agent
    site.worker()
    assert site.settle(stranger)[0].state == "terminated_success"


@pytest.mark.parametrize(
    ("script", "limits", "says"),
    [
        ([{"call": "echo", "value": n} for n in range(9)], {"steps": 3}, "3 steps"),
        ([{"call": "pay_often"}] * 4, {"writes": 2}, "2 writes"),
    ],
)
def test_a_task_ends_at_its_limit_and_says_which(
    script: list[dict[str, Any]], limits: dict[str, int], says: str, site: Site, diary: Diary
) -> None:
    paid = {"diary": str(diary), "to": "a", "cents": 1}
    steps = [step | paid if step["call"] == "pay_often" else step for step in script]
    task = site.script(*steps, manifest={"limits": limits})

    site.worker()
    row = site.settle(task)[0]

    assert row.state == "terminated_failed"
    assert row.checkpoint.step == next(iter(limits.values()))
    assert diary.count("paid") == limits.get("writes", 0)
    reason = _reason(site, task)
    assert says in reason
    site.check(task)


def test_a_task_past_its_deadline_ends_also_out_of_a_pause(site: Site, diary: Diary) -> None:
    call = {"call": "flaky", "diary": str(diary), "failures": 9, "after_s": 3000}
    task = site.script(call, manifest={"limits": {"deadline_s": 60}})
    first = site.worker()
    site.eventually(lambda: site.row(task).state == "retrying" and not site.row(task).owner)
    first.stop()

    site.shift_clock(61)
    site.worker()
    row = site.settle(task)[0]

    assert row.state == "terminated_failed"
    assert "deadline" in _reason(site, task)
    site.check(task)


def test_waiting_for_a_person_uses_up_no_run_time(site: Site) -> None:
    """Hazard AP-11."""
    limits = {"limits": {"deadline_s": 60}}
    task = site.script({"ask": "go on?"}, {"call": "echo", "value": 1}, manifest=limits)
    first = site.worker()
    site.settle(task)
    first.stop()

    site.shift_clock(600)
    site.decide(task, "answer", answer="yes")
    site.worker()
    site.eventually(lambda: site.row(task).ended)

    assert site.result(task)[-1] == 1


def test_a_write_waits_for_what_it_requires(site: Site, diary: Diary) -> None:
    task = site.script({"call": "guarded", "diary": str(diary)})

    site.worker()
    site.settle(task)

    item = site.review(task)
    assert item is not None
    assert "requires echo" in item[2]
    assert diary.count("paid") == 0


@pytest.mark.parametrize(("said", "paid"), [("yes", 1), ("no", 0)])
def test_a_precondition_is_held_against_the_results(
    said: str, paid: int, site: Site, diary: Diary
) -> None:
    steps = [{"call": "echo", "value": said}, {"call": "guarded", "diary": str(diary)}]
    alone, planned = site.script(*steps), site.script({"calls": steps})

    site.worker()
    site.settle(alone, planned)

    assert diary.count("paid") == 2 * paid
    assert site.asks(alone) == site.asks(planned) == (None if paid else "plan_invalid")
    site.check(alone, planned)


def test_a_precondition_that_raises_goes_to_a_person_with_its_words(
    site: Site, diary: Diary
) -> None:
    step = {"call": "guarded_badly", "diary": str(diary)}
    alone, planned = site.script(step), site.script({"calls": [step, step]})

    site.worker()
    site.settle(alone, planned)

    for task in (alone, planned):
        item = site.review(task)
        assert item is not None
        assert item[1] == "plan_invalid"
        assert "the precondition of guarded_badly raised LookupError: no such" in item[2]
    assert diary.count("paid") == 0
    site.check(alone, planned)


@pytest.mark.parametrize(
    ("name", "second", "asked"),
    [
        ("pay", {"to": "a", "cents": 1}, "repeated_write"),
        ("pay", {"to": "a", "cents": 2}, None),
        ("pay_once", {"to": "a", "cents": 2}, "repeated_write"),
        ("pay_once", {"to": "b", "cents": 1}, None),
        ("pay_often", {"to": "a", "cents": 1}, None),
    ],
)
def test_a_forgetful_planner_does_not_pay_twice(
    name: str, second: dict[str, Any], asked: str | None, site: Site, diary: Diary
) -> None:
    first = {"to": "a", "cents": 1}
    steps = [{"call": name, "diary": str(diary), **each} for each in (first, second)]
    alone, planned = site.script(*steps), site.script({"calls": steps})

    site.worker()
    site.settle(alone, planned)

    for task in (alone, planned):
        assert site.asks(task) == asked
    assert diary.count("paid") == (2 if asked else 4)
    site.check(alone, planned)


def test_a_repeated_write_also_counts_when_the_first_was_before_a_crash(
    site: Site, diary: Diary
) -> None:
    pay = {"call": "pay", "diary": str(diary), "to": "a", "cents": 1}
    gate = {"call": "gated", "diary": str(diary), "gate": "middle"}
    task = site.script(pay, gate, pay)
    victim = site.worker()
    site.eventually(lambda: diary.count("entered"))

    victim.kill()
    diary.open("middle")
    site.worker()
    site.settle(task, sweep=True)

    assert site.asks(task) == "repeated_write"
    assert diary.count("paid") == 1


@pytest.mark.parametrize(("decision", "paid"), [("retry", 2), ("result", 1), ("abort", 1)])
def test_a_person_decides_whether_to_pay_again(
    decision: str, paid: int, site: Site, diary: Diary
) -> None:
    pay = {"call": "pay", "diary": str(diary), "to": "a", "cents": 1}
    task = site.script(pay, pay)
    site.worker()
    site.settle(task)

    site.decide(task, decision, **({"result": "the first will do"} if decision == "result" else {}))
    site.eventually(lambda: site.row(task).ended)

    assert diary.count("paid") == paid
    site.check(task)


def test_tools_that_changed_since_the_task_was_pinned_are_recorded_once(
    site: Site, diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = {"call": "gated", "diary": str(diary), "gate": "middle"}
    task = site.script({"call": "echo", "value": 1}, gate, {"call": "echo", "value": 2})
    victim = site.worker()
    site.eventually(lambda: diary.count("entered"))
    victim.kill()

    agent = registry.get("test-script")
    newer = {"echo": dataclasses.replace(agent.tools["echo"], version=2)}
    monkeypatch.setattr(agent, "tools", {**agent.tools, **newer})
    diary.open("middle")
    site.worker()
    site.settle(task, sweep=True)

    drifts = site.events(task, "config_drift_detected")
    assert [one["changes"] for one in drifts] == [{"echo": "changed"}]
    assert site.row(task).state == "terminated_success"
    site.check(task)


def _reason(site: Site, task: object) -> str:
    from runtime.store.session import execute

    text = "SELECT outcome_reason FROM runtime_taskspec WHERE task_id = %s"
    return str(execute(text, (task,))[0][0])
