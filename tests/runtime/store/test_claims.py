"""Taking tasks and giving them back: who gets what, and what each guard refuses."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from runtime.core.reviews import Kind
from runtime.store import broken, claims, inbox, tasks
from runtime.store.commits import Holder
from runtime.store.session import execute
from tests.support import wide, work
from tests.support.shift import Shift

pytestmark = pytest.mark.django_db


def claim(owner: UUID | None = None, limit: int = 10, **other: Any) -> list[UUID]:
    facts = {"queues": [work.QUEUE], "agents": [work.AGENT]} | other
    taken = claims.claim(owner or uuid4(), facts["queues"], facts["agents"], limit)
    return [claimed.id for claimed in taken]


def change(task_id: UUID, what: str, *params: object) -> None:
    execute(f"UPDATE runtime_task SET {what} WHERE id = %s", (*params, task_id))  # noqa: S608


# --- claims by rank -----------------------------------------------------------------------------


def test_a_claimed_task_is_its_owners_at_a_higher_epoch() -> None:
    task_id, owner = work.submit(), uuid4()

    (claimed,) = claims.claim(owner, [work.QUEUE], [work.AGENT], 1)

    assert (claimed.id, claimed.owner, claimed.epoch) == (task_id, owner, 1)
    assert claims.standing(task_id) == (owner, 1, 0)


def test_a_claim_gives_what_it_wrote() -> None:
    work.submit()

    (claimed,) = claims.claim(uuid4(), [work.QUEUE], [work.AGENT], 1)

    columns = (
        "id, version, situation, checkpoint, checkpoint_sum, attention, attended, held, deaths"
    )
    row = execute(f"SELECT {columns} FROM runtime_task")[0]  # noqa: S608
    assert row == tuple(getattr(claimed, name) for name in columns.split(", "))


def test_urgent_tasks_go_first_then_the_longest_due() -> None:
    late, urgent, early = work.submit(), work.submit(priority=-5), work.submit()
    change(early, "due_at = due_at - interval '1 minute'")

    order = [claim(limit=1)[0] for _ in range(3)]

    assert order == [urgent, early, late]


def test_several_queues_are_ranked_as_one() -> None:
    slow = [work.submit(queue="slow", priority=priority) for priority in (1, 3)]
    fast = [work.submit(queue="fast", priority=priority) for priority in (2, 4)]

    first = claim(limit=2, queues=["slow", "fast"])
    rest = claim(limit=9, queues=["slow", "fast"])

    assert set(first) == {slow[0], fast[0]}
    assert set(rest) == {slow[1], fast[1]}


def test_a_queue_that_is_named_twice_is_claimed_from_once() -> None:
    task_id = work.submit()

    assert claim(queues=[work.QUEUE, work.QUEUE]) == [task_id]


def test_no_more_are_taken_than_there_is_room_for() -> None:
    for _ in range(5):
        work.submit()

    assert len(claim(limit=3)) == 3
    assert len(claim(limit=3)) == 2


@pytest.mark.parametrize(
    "what",
    [
        "owner = gen_random_uuid(), epoch = 1",
        "held = true",
        "due_at = NULL",
        "due_at = runtime_now() + interval '1 minute'",
        "queue = 'other'",
        "agent = 'unknown'",
        "codec = codec + 1",
        "deaths = 2",
        "state = 'terminated_failed', finished_at = runtime_now(), due_at = NULL",
    ],
)
def test_a_claim_leaves_what_is_not_its_own(what: str) -> None:
    change(work.submit(), what)
    before = work.rows()

    assert claim() == []
    assert work.rows() == before


def test_a_waiting_task_is_taken_when_its_time_has_come(shift: Shift) -> None:
    task_id = work.submit()
    change(task_id, "due_at = runtime_now() + interval '1 hour'")
    early = claim()

    shift.forward(3601)

    assert (early, claim()) == ([], [task_id])


def test_a_suspect_is_left_to_the_isolated_lane() -> None:
    ordinary, suspect = work.submit(), work.submit()
    change(suspect, "deaths = %s", claims.SUSPECT_DEATHS)

    assert claim() == [ordinary]
    assert claims.find_suspect([work.QUEUE], [work.AGENT]) == suspect


def test_a_task_with_one_death_more_is_taken_by_anybody_to_ask_a_person() -> None:
    task_id = work.submit()
    change(task_id, "deaths = %s", claims.SUSPECT_DEATHS + 1)

    assert claims.find_suspect([work.QUEUE], [work.AGENT]) is None
    assert claim() == [task_id]


# --- claims by name -----------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["held = true", "due_at = NULL", "deaths = 2", "queue = 'other'"])
def test_a_lever_takes_paused_and_waiting_tasks_too(what: str) -> None:
    task_id = work.submit()
    change(task_id, what)

    claimed = claims.claim_one(uuid4(), task_id)

    assert claimed is not None
    assert (claimed.id, claimed.epoch) == (task_id, 1)


@pytest.mark.parametrize(
    "what",
    [
        "owner = gen_random_uuid(), epoch = 1",
        "codec = codec + 1",
        "state = 'terminated_failed', finished_at = runtime_now(), due_at = NULL",
    ],
)
def test_a_claim_by_name_refuses_what_cannot_be_held(what: str) -> None:
    task_id = work.submit()
    change(task_id, what)
    before = work.rows()

    assert claims.claim_one(uuid4(), task_id) is None
    assert work.rows() == before


def test_the_epoch_grows_over_a_tasks_whole_life() -> None:
    """Hazard LD-09: also after releases, deaths and cleared-up workers."""
    task_id, seen = work.submit(), []

    for _ in range(3):
        claimed = work.claim(task_id)
        seen.append(claimed.epoch)
        claims.release(claimed.holder, 0, due_now=True)
        execute("DELETE FROM runtime_worker")

    assert seen == [1, 2, 3]


# --- releases -----------------------------------------------------------------------------------


def test_a_released_task_can_be_taken_again_and_has_lost_nothing() -> None:
    claimed = work.claim(work.submit())

    assert claims.release(claimed.holder, 0, due_now=True)

    assert claim() == [claimed.id]
    assert execute("SELECT version, deaths FROM runtime_task") == [(1, 0)]


def test_a_task_is_released_until_its_time() -> None:
    claimed = work.claim(work.submit())
    until = tasks.database_now() + timedelta(hours=1)

    assert claims.release(claimed.holder, 0, until)

    assert execute("SELECT owner, due_at FROM runtime_task") == [(None, until)]


@pytest.mark.parametrize("due_now", [True, False])
@pytest.mark.parametrize(
    "spoil",
    ["owner = gen_random_uuid()", "owner = NULL", "epoch = epoch + 1"],
)
def test_a_lost_lease_releases_nothing(spoil: str, due_now: bool) -> None:  # noqa: FBT001
    claimed = work.claim(work.submit())
    change(claimed.id, spoil)
    before = work.rows()

    assert not claims.release(claimed.holder, 0, due_now=due_now)
    assert work.rows() == before


def test_nobody_falls_asleep_over_a_command() -> None:
    claimed = work.claim(work.submit())
    change(claimed.id, "attention = attention + 1")
    before = work.rows()

    assert not claims.release(claimed.holder, 0)
    assert work.rows() == before


def test_a_task_given_back_at_once_keeps_its_unheard_command() -> None:
    claimed = work.claim(work.submit())
    change(claimed.id, "attention = attention + 1")

    assert claims.release(claimed.holder, 0, due_now=True)

    (again,) = claims.claim(uuid4(), [work.QUEUE], [work.AGENT], 1)
    assert (again.attention, again.attended) == (1, 0)


# --- calling out --------------------------------------------------------------------------------


def test_a_due_task_is_called_out_once_in_a_while(shift: Shift) -> None:
    task_id = work.submit()

    first, second = claims.call_out(work.QUEUE, 10, 5), claims.call_out(work.QUEUE, 10, 5)
    shift.forward(6)

    assert (first, second) == ([task_id], [])
    assert claims.call_out(work.QUEUE, 10, 5) == [task_id]


def test_no_more_tasks_are_called_out_than_asked_for_and_the_first_go_first() -> None:
    late, early = work.submit(), work.submit(priority=-1)

    assert claims.call_out(work.QUEUE, 1, 5) == [early]
    assert claims.call_out(work.QUEUE, 1, 5) == [late]


@pytest.mark.parametrize(
    "what",
    [
        "owner = gen_random_uuid(), epoch = 1",
        "held = true",
        "due_at = NULL",
        "due_at = runtime_now() + interval '1 minute'",
        "queue = 'other'",
    ],
)
def test_a_task_that_cannot_be_taken_is_not_called_out(what: str) -> None:
    change(work.submit(), what)
    before = work.rows()

    assert claims.call_out(work.QUEUE, 10, 5) == []
    assert work.rows() == before


def test_queues_with_something_due_are_named_once() -> None:
    for queue in ("b", "a", "b", "later", "held"):
        work.submit(queue=queue)
    execute("UPDATE runtime_task SET held = true WHERE queue = 'held'")
    execute("UPDATE runtime_task SET due_at = runtime_now() + '1h' WHERE queue = 'later'")

    assert claims.due_queues() == ["a", "b"]


# --- the way out of a broken task ---------------------------------------------------------------


def give_up_on(holder: Holder) -> bool:
    return claims.give_up_on(holder, "it is broken", work.PORTS.chance, tasks.database_now())


def test_a_task_that_cannot_be_decided_upon_waits_for_a_person() -> None:
    claimed = work.claim(work.submit())

    assert give_up_on(claimed.holder)

    row = execute("SELECT state, version, situation, owner, due_at, deaths FROM runtime_task")
    assert row == [("waiting_human", 3, 2, None, None, 0)]
    types = [event.type for event in tasks.load_journal(claimed.id)]
    assert types == ["task_created", "checkpoint_unreadable", "review_requested"]
    review = execute("SELECT kind, status, allowed, situation, seq FROM runtime_review")
    assert review == [(Kind.CHECKPOINT_UNREADABLE, "open", ["abort"], 2, 3)]


@pytest.mark.parametrize(
    "spoil",
    ["owner = gen_random_uuid()", "owner = NULL", "epoch = epoch + 1", "state = 'waiting_human'"],
)
def test_only_the_holder_can_give_up_on_a_task_and_only_once(spoil: str) -> None:
    claimed = work.claim(work.submit())
    change(claimed.id, spoil)
    before = work.rows()

    assert not give_up_on(claimed.holder)
    assert work.rows() == before


def test_a_command_that_came_in_while_giving_up_stays_unheard() -> None:
    """So that whoever looks for unheard commands finds it."""
    claimed = work.claim(work.submit())
    wide.deliver(claimed.id, "cancel", {})

    give_up_on(claimed.holder)

    assert execute("SELECT owner, attention, attended FROM runtime_task") == [(None, 1, 0)]


def test_a_broken_task_can_be_cancelled() -> None:
    give_up_on(work.claim(work.submit()).holder)
    task_id = execute("SELECT id FROM runtime_task")[0][0]
    wide.deliver(task_id, "retry", {}, "1")
    wide.deliver(task_id, "cancel", {"reason": "no use"}, "2")

    broken.obey(work.claim(task_id))

    row = execute("SELECT state, version, owner, finished_at IS NOT NULL FROM runtime_task")
    assert row == [("terminated_aborted", 4, None, True)]
    assert execute("SELECT status FROM runtime_review") == [("closed",)]
    assert execute("SELECT outcome_reason FROM runtime_taskspec") == [("no use",)]
    assert tasks.load_journal(task_id)[-1].payload["by"] == "human:ann"
    assert inbox.waiting(task_id) == []
