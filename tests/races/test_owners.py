"""Several who want the same at once: a task, a decision, a key. Exactly one of them gets it."""

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest

from runtime import api
from runtime.core.errors import KeyReused, LeaseLost, ReviewClosed
from runtime.store import claims, leases
from runtime.store.claims import Claimed
from runtime.store.session import execute
from tests.support import racing, work
from tests.support.drive import drive
from tests.support.racing import Go, carry_on, check_nothing_lost, crowd, race

pytestmark = pytest.mark.django_db(transaction=True)


def test_of_three_claims_of_one_task_one_wins() -> None:
    """Hazards LD-03, LD-05: zero rows updated means do nothing."""
    tasks = crowd()
    execute("UPDATE runtime_task SET due_at = NULL")

    def by_rank(_: UUID) -> Go:
        return lambda: claims.claim(uuid4(), [work.QUEUE], [work.AGENT], 1)

    def by_name(task_id: UUID) -> Go:
        execute("UPDATE runtime_task SET due_at = runtime_now() WHERE id = %s", (task_id,))
        return lambda: [claimed for claimed in [claims.claim_one(uuid4(), task_id)] if claimed]

    outcomes = race(tasks, by_rank, by_name, by_rank)

    won: list[list[Claimed]] = [[*one, *two, *three] for one, two, three in outcomes.rows]
    assert [[each.id for each in row] for row in won] == [[task_id] for task_id in tasks]
    assert {(each.epoch, each.version) for row in won for each in row} == {(1, 1)}
    owners = execute("SELECT id, owner FROM runtime_task")
    assert dict(owners) == {each.id: each.owner for row in won for each in row}


def test_of_two_people_who_decide_at_once_one_wins_and_the_other_learns_who() -> None:
    worker, tasks = work.hire(), crowd("ask")
    for task_id in tasks:
        drive(work.at_desk(task_id, worker))
    items: dict[UUID, UUID] = dict(execute("SELECT task_id, id FROM runtime_review"))

    def deciding(by: str, decision: str, **more: Any) -> racing.Actor:
        def prepare(task_id: UUID) -> Go:
            review_id = items[task_id]
            return lambda: api.decide(review_id, decision, reason="so", by=by, **more)

        return prepare

    outcomes = race(
        tasks,
        deciding("human:ann", "answer", arguments={"answer": "the first"}),
        deciding("human:bob", "abort"),
    )

    for row in outcomes.rows:
        lost = [each for each in row if isinstance(each, Exception)]
        won = [each for each in row if not isinstance(each, Exception)]
        assert (len(won), [type(each) for each in lost]) == (1, [ReviewClosed])
        assert won[0].decided_by in str(lost[0])
        assert won[0].decision in str(lost[0])
    carry_on(worker)
    states = execute(
        "SELECT r.decision, t.state, count(*) FROM runtime_task t "
        "JOIN runtime_review r ON r.task_id = t.id GROUP BY 1, 2 ORDER BY 1",
    )
    assert [row[:2] for row in states] == [
        ("abort", "terminated_aborted"),
        ("answer", "terminated_success"),
    ]
    check_nothing_lost(tasks)


def test_a_worker_that_commits_while_it_is_buried_has_written_all_or_nothing() -> None:
    tasks, desks = crowd(), {}

    def committing(task_id: UUID) -> Go:
        desk = desks[task_id] = work.at_desk(task_id, work.hire(lease_s=0))
        decision, attached = work.read(desk)
        return lambda: desk.write(decision, attached)

    def burying(_: UUID) -> Go:
        return lambda: leases.bury(watching=True)

    outcomes = race(tasks, committing, burying)

    written = [each is True for each in outcomes.of(0)]
    lost = [isinstance(each, LeaseLost) for each in outcomes.of(0)]
    assert [one != other for one, other in zip(written, lost, strict=True)] == [True] * len(tasks)
    assert [each for each in outcomes.of(1) if isinstance(each, Exception)] == []
    version: dict[UUID, int] = dict(execute("SELECT id, version FROM runtime_task"))
    assert [version[task_id] for task_id in tasks] == [3 if each else 1 for each in written]
    leases.bury(watching=True)
    carry_on(work.hire())
    check_nothing_lost(tasks)
    assert execute("SELECT DISTINCT state, epoch FROM runtime_task") == [("terminated_success", 3)]


def test_one_key_used_by_three_at_once_is_one_task() -> None:
    keys = [uuid4() for _ in range(racing.TIMES)]

    def submitting(body: str) -> racing.Actor:
        def prepare(key: UUID) -> Go:
            return lambda: api.submit(work.AGENT, {"body": body}, key=str(key)).id

        return prepare

    outcomes = race(keys, submitting("one"), submitting("one"), submitting("other"))

    for one, same, other in outcomes.rows:
        if isinstance(other, KeyReused):
            assert one == same
            assert isinstance(one, UUID)
        else:
            assert isinstance(other, UUID)
            assert (type(one), type(same)) == (KeyReused, KeyReused)
    assert execute("SELECT count(*) FROM runtime_task") == [(racing.TIMES,)]


def test_two_sweeps_at_once_free_each_task_once() -> None:
    """Hazard LD-05: the second recoverer does nothing."""
    tasks = crowd()
    owner = uuid4()

    def holding(sweep: Callable[[], object]) -> racing.Actor:
        def prepare(_: UUID) -> Go:
            return sweep

        return prepare

    for task_id in tasks:
        work.claim(task_id, owner)
    portion = holding(lambda: leases.bury(watching=False, limit=3)[1])

    outcomes = race(tasks[: len(tasks) // 2], portion, portion)

    assert sum(each for row in outcomes.rows for each in row) == len(tasks)
    assert execute("SELECT DISTINCT owner, epoch FROM runtime_task") == [(None, 2)]
