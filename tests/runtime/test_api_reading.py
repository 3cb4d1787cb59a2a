"""Reading: frozen rows, pages that lose and repeat nothing, and why from the database's facts."""

from dataclasses import FrozenInstanceError
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from runtime import api
from runtime.core.breaker import Breaker, BreakerState
from runtime.core.errors import BadIdentifier, UnknownTask
from runtime.core.reviews import Kind
from runtime.store import claims, health, leases
from runtime.store.tasks import database_now
from tests.agents_for_tests.clerk import NAME
from tests.agents_for_tests.hand import Hand

pytestmark = pytest.mark.django_db

ANN: dict[str, Any] = {"by": "human:ann", "reason": "because"}


def submit(**more: object) -> UUID:
    return api.submit(NAME, {"order_id": "A1"}, **more).id  # type: ignore[arg-type]


def why(task_id: UUID) -> str:
    return api.why(task_id).sentence


def test_rows_cannot_be_changed() -> None:
    view = api.task(submit())

    with pytest.raises(FrozenInstanceError):
        view.state = "planning"  # type: ignore[misc]


def test_a_task_in_a_workers_hands_and_a_free_one_are_found_by_the_same_state() -> None:
    """Steps touch no index of states, so the two are found in different ways."""
    free, held = submit(), submit()
    Hand(free).start().give_back()
    Hand(held).start()
    submit(namespace="other")

    page = api.tasks(state="planning")

    assert [view.id for view in page.rows] == [held, free]
    assert [view.owner is None for view in page.rows] == [False, True]


def test_pages_of_one_state_lose_and_repeat_nothing() -> None:
    ids = [submit() for _ in range(7)]
    for task_id in ids[::2]:
        Hand(task_id)

    seen: list[UUID] = []
    cursor = None
    while True:
        page = api.tasks(state="initialized", cursor=cursor, limit=2)
        seen += [view.id for view in page.rows]
        cursor = page.cursor
        if cursor is None:
            break

    assert seen == ids[::-1]


@pytest.mark.parametrize(
    ("q", "hits"),
    [
        ("order-7", 1),
        ("blue", 1),
        ("SEVENTH", 1),
        ("100%", 1),
        ("1_0", 0),
        ("k-7", 1),
        ("nothing", 0),
        ("\\", 0),
    ],
)
def test_search_finds_keys_titles_labels_and_input_words_literally(q: str, hits: int) -> None:
    submit()
    api.submit(
        NAME,
        {"order_id": "order-7", "note": "refund 100% of it"},
        title="The seventh",
        labels={"team": "blue"},
        key="k-7",
    )

    assert len(api.tasks(q=q).rows) == hits
    assert len(api.tasks(q=q, state="initialized").rows) == hits


def test_a_task_is_found_by_its_id() -> None:
    task_id = submit()
    submit()

    assert [view.id for view in api.tasks(q=str(task_id).upper()).rows] == [task_id]


@pytest.mark.parametrize("limit", [0, -1, 1001, True])
def test_a_limit_out_of_bounds_is_refused(limit: int) -> None:
    with pytest.raises(BadIdentifier, match="limit"):
        api.tasks(limit=limit)
    with pytest.raises(BadIdentifier, match="limit"):
        api.events(submit(), limit=limit)


def test_reading_reaches_into_no_other_namespace() -> None:
    task_id = submit()

    for read in (api.task, api.events, api.effects, api.step_results, api.why, api.refusals):
        with pytest.raises(UnknownTask):
            read(task_id, namespace="other")
    assert api.tasks(namespace="other").rows == ()


def test_events_come_in_order_after_a_number() -> None:
    hand = Hand(submit()).start().read().begin().succeed()
    task_id = hand.desk.claimed.id

    assert [event.seq for event in api.events(task_id, after=2, limit=2)] == [3, 4]


def test_completed_calls_are_read_with_their_values() -> None:
    hand = Hand(submit()).start().read(result={"n": 2**70}).begin().succeed(None)

    first, second = api.step_results(hand.desk.claimed.id)

    assert (first.tool, first.result, first.attempts) == ("look", {"n": 2**70}, 1)
    assert (second.tool, second.result, second.operation_id is None) == ("pay", None, False)


def test_effects_are_told_while_they_are_under_way() -> None:
    hand = Hand(submit()).start().read().begin()
    task_id = hand.desk.claimed.id

    def words() -> list[str]:
        return [effect.word for effect in api.effects(task_id)]

    assert words() == ["running"]
    hand.fail()
    assert words() == ["retrying"]
    api.retry(task_id, **ANN)
    hand.again().begin()
    assert words() == ["retrying"]
    hand.doubt()
    assert words() == ["in doubt"]
    api.cancel(task_id, **ANN)
    assert words() == ["in doubt"]


def test_a_damaged_checkpoint_hides_a_task_from_nobody() -> None:
    task_id = submit()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE runtime_task SET checkpoint = '{'")

    assert not api.task(task_id).readable
    assert [view.id for view in api.tasks().rows] == [task_id]
    assert "cannot be read" in why(task_id)
    assert api.effects(task_id) == []


def test_why_follows_a_task_through_its_life() -> None:
    task_id = submit()
    assert (
        why(task_id) == "No worker serves its queue 'default': start one with `manage.py worker`."
    )

    hand = Hand(task_id).start()
    assert "The worker testhost:4711 is deciding on its next step" in why(task_id)

    hand.read().begin()
    assert "is calling pay" in why(task_id)

    hand.fail("no answer")
    assert why(task_id).startswith("Attempt 2 of pay comes ")
    assert why(task_id).endswith(" after it failed: no answer.")

    until = database_now().replace(year=2999)
    resting = Breaker(BreakerState.OPEN, 0, 1, until)
    health.store_breaker("default", "pay", resting.as_dict())
    assert why(task_id).startswith("pay rests after repeated failures")

    api.pause(task_id, by="human:ann", reason="lunch")
    assert why(task_id) == "human:ann paused it less than a second ago: lunch."
    api.resume(task_id, **ANN)
    api.retry(task_id, **ANN)
    assert "a worker takes it next" in why(task_id)

    hand.again().begin().doubt()
    assert "for a person to say whether a call happened: the connection was lost." in why(task_id)

    api.cancel(task_id, by="human:ann", reason="enough")
    assert why(task_id).endswith("cancelled by human:ann: enough.")


def test_why_knows_a_dead_worker_and_a_silent_one() -> None:
    dead, silent = Hand(submit()), Hand(submit(), lease_s=0.0)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE runtime_worker SET state = 'dead', ended_at = runtime_now(), "
            "death = 'its process is gone' WHERE id = %s",
            [dead.worker],
        )

    assert "is dead (its process is gone)" in why(dead.desk.claimed.id)
    assert "its lease ran out" in why(silent.desk.claimed.id)


def test_why_counts_what_ranks_before_a_task_and_knows_full_workers() -> None:
    busy = Hand(submit(), slots=1)
    leases.renew(busy.worker, 60, held=1, memory_mb=0, state="running")
    submit(priority=-1)
    task_id = submit()

    said = why(task_id)

    assert "one worker of its queue has no free slot, after one that ranks before it" in said


def test_why_knows_an_agent_that_is_gone() -> None:
    task_id = submit()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE runtime_task SET agent = 'retired'")

    assert "No process here knows its agent 'retired'" in why(task_id)


def test_refused_writes_are_listed_newest_first() -> None:
    task_id = submit()
    hand = Hand(task_id)
    for what in ("a step", "an outcome of pay"):
        leases.refuse(hand.desk.claimed, what, 9, evidence={"paid": True})

    newest, oldest = api.refusals(task_id)

    assert (newest.what, newest.epoch, newest.epoch_now) == ("an outcome of pay", 1, 9)
    assert oldest.evidence == {"paid": True}
    (worker,) = api.workers()
    assert worker.refusals == 2


def test_open_items_are_listed_the_longest_waiting_first() -> None:
    for kind in (Kind.PLAN_INVALID, Kind.KILLED_WORKER):
        Hand(submit()).start().escalate(kind)

    assert [item.kind for item in api.reviews()] == ["plan_invalid", "killed_worker"]
    assert api.reviews(status="closed") == []
    assert len(api.reviews(status=None)) == 2
    assert claims.due_queues() == []
