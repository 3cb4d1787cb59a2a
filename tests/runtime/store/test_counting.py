"""What has ended is counted exactly once: by one sweep or several, whole or interrupted."""

from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from runtime.core.effects import Effect
from runtime.engine.ports import Ports
from runtime.engine.sweep import Sweep
from runtime.store import counting, leases, measures
from runtime.store.session import execute
from tests.support import sessions, work
from tests.support.sessions import Actor

pytestmark = pytest.mark.django_db(transaction=True)


def end(*, reads: int = 1) -> UUID:
    """Take a task to its end: some reads, one write, a result."""
    desk = work.at_desk()
    for _ in range(reads):
        desk.write(*work.read(desk))
    desk.write(*work.begin(desk, Effect.KEYED), dispatches=True)
    desk.write(*work.confirm(desk))
    desk.write(*work.finish(desk))
    # However long the machine took for it.
    execute(
        "UPDATE runtime_task SET created_at = finished_at - interval '0.5 s' WHERE id = %s",
        (desk.claimed.id,),
    )
    execute(
        "UPDATE runtime_event SET at = (SELECT created_at + interval '0.75 s' FROM runtime_task "
        "WHERE id = task_id) WHERE task_id = %s AND type = 'task_started'",
        (desk.claimed.id,),
    )
    return desk.claimed.id


def totals() -> dict[tuple[str, ...], int]:
    """Give all totals by kind and label."""
    return {(one.kind, *one.label): one.count for one in measures.totals()}


def bucketed() -> dict[str, int]:
    """Add up the buckets by kind; they must say the same in every width."""
    rows = execute(
        "SELECT width_s, kind, sum(count)::int FROM runtime_bucket GROUP BY width_s, kind"
    )
    found = [
        {kind: number for width, kind, number in rows if width == width_s}
        for width_s in counting.KEPT_DAYS
    ]
    assert all(one == found[0] for one in found)
    return found[0]


def test_an_ended_task_is_counted_with_its_calls_and_only_once() -> None:
    end(reads=2)
    work.submit()

    first, second = counting.count(), counting.count()

    assert (first, second) == (3, 0)
    assert totals() == {
        ("task_submitted", work.AGENT): 2,
        ("task_ended", work.AGENT, "terminated_success"): 1,
        ("task_duration", work.AGENT, "0.5"): 1,
        ("queue_wait", work.AGENT, "1"): 1,
        ("tool_call", "look", "succeeded"): 2,
        ("tool_call", "pay", "succeeded"): 1,
        ("tool_duration", "look", "0.01"): 2,
        ("tool_duration", "pay", "0.01"): 1,
    }
    assert bucketed() == {
        "task_submitted": 2,
        "task_ended": 1,
        "task_duration": 1,
        "queue_wait": 1,
        "tool_call": 3,
        "tool_duration": 3,
    }


def test_retries_and_the_time_a_task_took_are_counted() -> None:
    task = end()
    execute("UPDATE runtime_stepresult SET attempts = 3, took_ms = 1500 WHERE tool = 'pay'")
    execute(
        "UPDATE runtime_task SET created_at = finished_at - interval '61 s' WHERE id = %s", (task,)
    )
    beyond = end()
    execute(
        "UPDATE runtime_task SET created_at = finished_at - interval '9 days' WHERE id = %s",
        (beyond,),
    )

    counting.count()

    found = {(one.kind, *one.label): one for one in measures.totals()}
    assert found["tool_retry", "pay"].count == 2
    assert found["tool_call", "pay", "succeeded"].sum == pytest.approx(1.501, abs=0.01)
    assert found["task_duration", work.AGENT, "120"].count == 1
    assert found["task_duration", work.AGENT, "-1"].count == 1
    assert found["task_ended", work.AGENT, "terminated_success"].sum == pytest.approx(777_661)


def test_more_than_one_round_takes_is_left_to_the_next() -> None:
    for _ in range(5):
        end()

    rounds = [counting.count(limit=2) for _ in range(4)]

    assert rounds == [4, 4, 2, 0]
    assert totals()["task_ended", work.AGENT, "terminated_success"] == 5


def test_a_count_that_was_interrupted_is_made_again_and_not_twice() -> None:
    end()

    with transaction.atomic():
        assert counting.count() == 2
        transaction.set_rollback(True)
    assert totals() == {}

    assert counting.count() == 2
    assert totals()["task_ended", work.AGENT, "terminated_success"] == 1


def test_a_second_sweep_leaves_counting_to_the_first() -> None:
    """Also when the first stands still in the middle: nobody waits, nothing counts twice."""
    end()
    with transaction.atomic():
        assert counting.count() == 2
        beside = Actor(counting.count)

        assert beside.result() == 0

    end()
    assert counting.count() == 2
    assert totals()["task_ended", work.AGENT, "terminated_success"] == 2


def test_many_sweeps_at_once_count_each_task_once() -> None:
    for _ in range(12):
        end()

    def sweep() -> int:
        return sum(counting.count(limit=1) for _ in range(30))

    actors = [Actor(sweep) for _ in range(3)]
    taken = [actor.result() for actor in actors]
    rest = counting.count()

    assert sum(taken) + rest == 24
    assert totals()["task_ended", work.AGENT, "terminated_success"] == 12
    assert (bucketed()["task_ended"], bucketed()["task_submitted"]) == (12, 12)


def test_an_ending_that_commits_late_is_not_missed() -> None:
    """Its time lies before that of tasks that were counted already: a watermark would skip it."""
    with sessions.session(autocommit=False) as slow:
        late = work.submit()
        text, values = _terminate(late)
        slow.execute(text, values)
        end()
        assert counting.count() == 3
        slow.commit()

    assert counting.count() == 1
    assert totals()["task_ended", work.AGENT, "terminated_aborted"] == 1


def _terminate(task: UUID) -> tuple[Any, tuple[UUID]]:
    text = (
        "UPDATE runtime_task SET state = 'terminated_aborted', finished_at = runtime_now(), "
        "due_at = NULL WHERE id = %s"
    )
    return text.encode(), (task,)


def test_deaths_of_workers_and_refusals_of_the_fence_are_counted() -> None:
    killed, _living = work.hire(), work.hire()
    desk = work.at_desk()
    leases.bury_one(killed, "its process was killed")
    leases.refuse(desk.claimed, "a step", 2, evidence=None)

    counting.count()
    counting.count()

    found = totals()
    assert (found["worker_ended", "its process was killed"], found["refusal",]) == (1, 1)


def test_submissions_that_commit_late_are_counted_and_leave_nothing_behind() -> None:
    late = work.new_task()
    with sessions.session(autocommit=False) as slow:
        slow.execute(
            b"INSERT INTO runtime_tally (namespace, kind, name, at) "
            b"VALUES ('default', 'task_submitted', 'late', runtime_now() - interval '1 hour')"
        )
        work.submit()
        assert counting.count() == 1
        slow.commit()

    assert counting.count() == 1
    assert totals() == {("task_submitted", late.agent): 1, ("task_submitted", "late"): 1}
    assert execute("SELECT count(*) FROM runtime_tally")[0][0] == 0


def test_an_item_is_counted_when_it_opens_and_once_more_when_it_is_settled() -> None:
    desk = work.at_desk()
    desk.write(*work.ask(desk))
    task = desk.claimed.id

    counting.count()
    assert totals()["review_opened", work.AGENT, "question"] == 1
    assert "review_closed" not in bucketed()
    execute(
        "UPDATE runtime_review SET status = 'closed', decision = 'answer', decided_by = 'ann', "
        "decided_at = opened_at + interval '4 min', closed_at = opened_at + interval '5 min' "
        "WHERE task_id = %s",
        (task,),
    )
    counting.count()
    counting.count()

    found = totals()
    assert found["review_opened", work.AGENT, "question"] == 1
    assert found["review_closed", work.AGENT, "answer"] == 1
    assert found["review_wait", work.AGENT, "300"] == 1


def test_an_item_that_nobody_decided_says_nothing_about_how_long_people_take() -> None:
    desk = work.at_desk()
    desk.write(*work.ask(desk))
    execute("UPDATE runtime_review SET status = 'cancelled', closed_at = runtime_now()")

    counting.count()

    assert totals()["review_closed", work.AGENT, "withdrawn"] == 1
    assert "review_wait" not in bucketed()


def test_the_sweep_counts_and_forgets_what_is_old_narrow_buckets_first() -> None:
    end()
    sweep = Sweep(Ports(), 15.0)

    sweep.run_once()
    execute("UPDATE runtime_bucket SET began_at = began_at - interval '4 days'")
    counting.forget_old()

    rows = execute("SELECT DISTINCT width_s FROM runtime_bucket ORDER BY 1")
    assert [width_s for (width_s,) in rows] == [900, 3600]
    assert totals()["task_ended", work.AGENT, "terminated_success"] == 1


def test_labels_that_are_hostile_are_stored_as_they_are() -> None:
    task = end()
    name = 'a"]\\\n{x="1"} 💣'
    execute("UPDATE runtime_stepresult SET tool = %s WHERE task_id = %s", (name, task))

    counting.count()

    assert totals()["tool_call", name, "succeeded"] == 2
