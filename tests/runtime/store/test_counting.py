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
    return desk.claimed.id


def totals() -> dict[tuple[str, ...], int]:
    """Give all totals by kind and label."""
    return {(one.kind, *one.label): one.count for one in measures.totals()}


def bucketed() -> dict[str, int]:
    """Add up the buckets of all minutes by kind."""
    rows = execute("SELECT kind, sum(count)::int FROM runtime_bucket GROUP BY kind")
    return dict(rows)


def test_an_ended_task_is_counted_with_its_calls_and_only_once() -> None:
    end(reads=2)
    work.submit()

    first, second = counting.count(), counting.count()

    assert (first, second) == (1, 0)
    assert totals() == {
        ("task_ended", work.AGENT, "terminated_success"): 1,
        ("task_duration", work.AGENT, "1"): 1,
        ("tool_call", "look", "succeeded"): 2,
        ("tool_call", "pay", "succeeded"): 1,
    }
    assert bucketed() == {"task_ended": 1, "task_duration": 1, "tool_call": 3}


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
    assert found["task_duration", work.AGENT, "300"].count == 1
    assert found["task_duration", work.AGENT, "-1"].count == 1
    assert found["task_ended", work.AGENT, "terminated_success"].sum == pytest.approx(777_661)


def test_more_than_one_round_takes_is_left_to_the_next() -> None:
    for _ in range(5):
        end()

    rounds = [counting.count(limit=2) for _ in range(4)]

    assert rounds == [2, 2, 1, 0]
    assert totals()["task_ended", work.AGENT, "terminated_success"] == 5


def test_a_count_that_was_interrupted_is_made_again_and_not_twice() -> None:
    end()

    with transaction.atomic():
        assert counting.count() == 1
        transaction.set_rollback(True)
    assert totals() == {}

    assert counting.count() == 1
    assert totals()["task_ended", work.AGENT, "terminated_success"] == 1


def test_a_second_sweep_leaves_counting_to_the_first() -> None:
    """Also when the first stands still in the middle: nobody waits, nothing counts twice."""
    end()
    with transaction.atomic():
        assert counting.count() == 1
        beside = Actor(counting.count)

        assert beside.result() == 0

    end()
    assert counting.count() == 1
    assert totals()["task_ended", work.AGENT, "terminated_success"] == 2


def test_many_sweeps_at_once_count_each_task_once() -> None:
    for _ in range(12):
        end()

    def sweep() -> int:
        return sum(counting.count(limit=1) for _ in range(30))

    actors = [Actor(sweep) for _ in range(3)]
    taken = [actor.result() for actor in actors]
    rest = counting.count()

    assert sum(taken) + rest == 12
    assert totals()["task_ended", work.AGENT, "terminated_success"] == 12
    assert bucketed()["task_ended"] == 12


def test_an_ending_that_commits_late_is_not_missed() -> None:
    """Its time lies before that of tasks that were counted already: a watermark would skip it."""
    with sessions.session(autocommit=False) as slow:
        late = work.submit()
        text, values = _terminate(late)
        slow.execute(text, values)
        end()
        assert counting.count() == 1
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

    assert totals() == {("worker_ended", "its process was killed"): 1, ("refusal",): 1}


def test_the_sweep_counts_and_forgets_old_minutes() -> None:
    end()
    sweep = Sweep(Ports(), 15.0)

    sweep.run_once()
    execute("UPDATE runtime_bucket SET minute = minute - interval '93 days'")
    counting.forget_old()

    assert bucketed() == {}
    assert totals()["task_ended", work.AGENT, "terminated_success"] == 1


def test_labels_that_are_hostile_are_stored_as_they_are() -> None:
    task = end()
    name = 'a"]\\\n{x="1"} 💣'
    execute("UPDATE runtime_stepresult SET tool = %s WHERE task_id = %s", (name, task))

    counting.count()

    assert totals()["tool_call", name, "succeeded"] == 2
