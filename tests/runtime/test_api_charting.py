"""Charts read buckets: what happened when, to whom, and how long it took; and what is stuck."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runtime import api
from runtime.core.stuck import Stuck
from runtime.store import counting
from runtime.store.session import execute
from tests.agents_for_tests.clerk import NAME
from tests.agents_for_tests.hand import Hand

pytestmark = pytest.mark.django_db

HOUR_S = 3600


def submit() -> UUID:
    return api.submit(NAME, {"order_id": "A1"}).id


def hour(agent: str = "") -> api.Series:
    counting.count()
    return api.series(HOUR_S, 60, agent=agent)


def test_nothing_counted_gives_all_buckets_and_no_counts() -> None:
    found = hour()

    assert len(found.begins()) == 60
    assert found.slots == {}
    assert found.total.of("task_ended") == 0
    assert found.total.quantile("task_duration", 0.5) is None


def test_the_last_bucket_is_the_one_around_now() -> None:
    found = hour()

    last = found.begins()[-1]
    assert last <= found.computed_at < last + timedelta(seconds=60)


def test_what_a_task_went_through_stands_in_the_bucket_of_its_end() -> None:
    Hand(submit()).start().read().begin().succeed().finish()
    submit()

    found = hour()

    now = found.at(found.begins()[-1])
    assert (now.of("task_submitted"), now.of("task_ended", "terminated_success")) == (2, 1)
    assert now.of("tool_call", "succeeded") == 2
    assert now.of("tool_duration") == 2
    assert now.of("queue_wait") == 1
    assert found.total.quantile("task_duration", 0.95) is not None
    assert found.names["task", NAME].of("task_ended") == 1
    assert found.names["tool", "pay"].of("tool_call") == 1


def test_one_agent_is_told_from_others_and_tools_belong_to_all() -> None:
    Hand(submit()).start().read().finish()

    mine, other = hour(NAME), hour("another")

    assert (mine.total.of("task_ended"), other.total.of("task_ended")) == (1, 0)
    assert (mine.total.of("tool_call"), other.total.of("tool_call")) == (1, 1)


def test_a_namespace_sees_nothing_of_another() -> None:
    Hand(submit()).start().read().finish()
    counting.count()

    assert api.series(HOUR_S, 60, namespace="other").total.by == {}


@pytest.mark.parametrize("width_s", [60, 900, 3600])
def test_every_width_says_the_same(width_s: int) -> None:
    Hand(submit()).start().read().finish()
    counting.count()

    found = api.series(2 * HOUR_S, width_s)

    assert found.total.of("task_ended") == 1
    assert sum(slot.of("task_ended") for slot in found.slots.values()) == 1
    assert set(found.slots) <= set(found.begins())


def test_a_width_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="61"):
        api.series(HOUR_S, 61)


def test_reading_takes_as_many_queries_for_a_week_as_for_an_hour() -> None:
    with CaptureQueriesContext(connection) as short:
        api.series(HOUR_S, 60)
    with CaptureQueriesContext(connection) as long:
        api.series(7 * 24 * HOUR_S, 3600)

    assert len(long) == len(short)


# --- stuck --------------------------------------------------------------------------------------


def let_pass(task_id: UUID, seconds: int) -> None:
    execute(
        "UPDATE runtime_task SET due_at = due_at - make_interval(secs => %s) WHERE id = %s",
        (seconds, task_id),
    )


def stuck() -> dict[UUID, Stuck]:
    return {one.id: one.why for one in api.stuck_tasks()}


def test_a_due_task_without_a_worker_for_its_queue_is_stuck_after_a_minute() -> None:
    fresh, old = submit(), submit()
    let_pass(fresh, 30)
    let_pass(old, 90)

    assert stuck() == {old: Stuck.NO_WORKER}


def test_with_workers_at_work_a_task_may_wait_for_a_slot_for_some_minutes() -> None:
    Hand(submit())
    waits, overdue = submit(), submit()
    queue = api.get_agent(NAME).queue
    execute("UPDATE runtime_worker SET queues = ARRAY[%s]", (queue,))
    let_pass(waits, 90)
    let_pass(overdue, 400)

    assert stuck() == {overdue: Stuck.OVERDUE}


def test_what_waits_for_its_time_or_a_person_or_is_paused_is_not_stuck() -> None:
    asks, paused, later = submit(), submit(), submit()
    Hand(asks).start().ask("Which one?")
    let_pass(paused, 9_000)
    api.pause(paused, reason="wait", by="human:ann")
    let_pass(later, -9_000)

    assert stuck() == {}


def test_a_task_whose_worker_is_gone_and_that_nobody_freed_is_stuck() -> None:
    task = submit()
    Hand(task)
    execute("UPDATE runtime_worker SET expires_at = runtime_now() - interval '2 min'")

    assert stuck() == {task: Stuck.LOST}


def test_the_longest_stuck_comes_first_and_the_list_is_bounded() -> None:
    tasks = [submit() for _ in range(3)]
    for at, task_id in enumerate(tasks):
        let_pass(task_id, 1000 + at)

    assert [one.id for one in api.stuck_tasks(limit=2)] == [tasks[2], tasks[1]]
