"""Steps of several tasks in one transaction: each under its own guards, none in another's way."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import cast
from uuid import UUID

import psycopg
import pytest
from django.db import connection

from runtime.core.errors import LeaseLost
from runtime.engine.desk import Desk
from runtime.engine.requests import Write
from runtime.store import journal
from runtime.store.commits import Commit
from runtime.store.session import LOST, TogetherRefused, execute
from tests.runtime.store.test_commit import CASES, GUARDS, named
from tests.support import wide, work
from tests.support.wide import Wide

pytestmark = pytest.mark.django_db(transaction=True)


def step_of(desk: Desk) -> Commit:
    """Give what a desk would write next."""
    request = next(desk.writing(*work.read(desk)))
    assert isinstance(request, Write)
    return request.step


def neighbours(count: int = 2) -> list[Commit]:
    return [step_of(work.at_desk()) for _ in range(count)]


def version(task_id: UUID) -> int:
    return int(execute("SELECT version FROM runtime_task WHERE id = %s", (task_id,))[0][0])


def was_written(step: Commit) -> bool:
    work.check_whole(step.holder.task_id)
    return version(step.holder.task_id) == step.decision.after.seq


@contextmanager
def locked(task_id: UUID) -> Iterator[None]:
    """Hold a task's row, as somebody with a transaction open would."""
    with psycopg.connect(**connection.get_connection_params()) as other, other.transaction():
        other.execute("SELECT 1 FROM runtime_task WHERE id = %s FOR UPDATE", (task_id,))
        yield


def test_all_of_them_are_written_each_with_its_own_answer() -> None:
    steps = neighbours(5)
    wide.deliver(steps[3].holder.task_id, "hold", {})

    found = journal.commit_together(steps)

    assert found == [0, 0, 0, 1, 0]
    assert all(was_written(step) for step in steps)


@pytest.mark.parametrize("make", CASES, ids=named)
@pytest.mark.parametrize(("spoil", "error", "reason"), GUARDS, ids=named)
def test_one_whose_guard_fails_writes_nothing_and_holds_up_no_other(
    make: Callable[[], Wide],
    spoil: Callable[[Wide], None],
    error: type[Exception],
    reason: str | None,
) -> None:
    case, (first, last) = make(), neighbours()
    spoil(case)
    before = execute("SELECT t::text FROM runtime_task t WHERE id = %s", (case.task_id,))

    found = journal.commit_together([last, case.step, first])

    refused = found[1]
    assert isinstance(refused, error)
    assert getattr(refused, "reason", None) == reason
    assert execute("SELECT t::text FROM runtime_task t WHERE id = %s", (case.task_id,)) == before
    assert was_written(first)
    assert was_written(last)


def test_what_one_did_not_survive_none_of_the_others_has_done() -> None:
    """A statement that fails takes the transaction with it: all of them come alone then."""
    first, bad, last = neighbours(3)
    seq = bad.decision.events[0].seq
    execute(
        "INSERT INTO runtime_event (task_id, seq, namespace, type, v, payload, codec, actor, at) "
        "SELECT id, %s, namespace, 'x', 1, '{}', 'x', 'x', runtime_now() FROM runtime_task "
        "WHERE id = %s",
        (seq, bad.holder.task_id),
    )

    with pytest.raises(TogetherRefused):
        journal.commit_together([first, bad, last])

    assert version(first.holder.task_id) == first.version
    assert version(last.holder.task_id) == last.version
    alone = [journal.commit_together([step])[0] for step in (first, bad, last)]
    assert isinstance(alone[1], psycopg.errors.UniqueViolation)
    assert (alone[0], alone[2]) == (0, 0)


def test_one_that_cannot_even_be_put_into_words_fails_alone() -> None:
    first, odd, last = neighbours(3)
    odd = replace(odd, attached=replace(odd.attached, result=cast("str", object())))

    with pytest.raises(TogetherRefused):
        journal.commit_together([first, odd, last])

    alone = [journal.commit_together([step])[0] for step in (first, odd, last)]
    assert isinstance(alone[1], psycopg.ProgrammingError)
    assert (alone[0], alone[2]) == (0, 0)


def test_what_fails_only_at_the_end_of_the_transaction_is_not_taken_for_written() -> None:
    steps = neighbours()
    execute(
        "CREATE FUNCTION refuse_at_commit() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'not at COMMIT'; END $$"
    )
    execute(
        "CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON runtime_event "
        "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_at_commit()"
    )
    try:
        with pytest.raises(TogetherRefused):
            journal.commit_together(steps)
    finally:
        execute("DROP FUNCTION refuse_at_commit CASCADE")

    assert [version(step.holder.task_id) for step in steps] == [step.version for step in steps]
    assert journal.commit_together(steps) == [0, 0]


def test_a_row_that_somebody_holds_does_not_hold_the_others_for_long() -> None:
    steps = neighbours(3)

    with locked(steps[1].holder.task_id), pytest.raises(TogetherRefused):
        journal.commit_together(steps)

    assert journal.commit_together(steps) == [0, 0, 0]
    assert all(was_written(step) for step in steps)


def test_one_alone_waits_for_a_row_as_long_as_it_takes() -> None:
    """The short wait is of one transaction only and leaves nothing behind on the connection."""
    journal.commit_together(neighbours())

    assert execute("SHOW lock_timeout")[0][0] == "0"


def test_a_lost_connection_is_told_to_each_and_the_next_steps_find_a_fresh_one() -> None:
    steps = neighbours(3)
    with psycopg.connect(**connection.get_connection_params()) as other:
        pid = execute("SELECT pg_backend_pid()")[0][0]
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))

    found = journal.commit_together(steps)

    assert all(isinstance(one, LOST) for one in found)
    assert [journal.landed(step) for step in steps] == [None, None, None]
    assert journal.commit_together(steps) == [0, 0, 0]


def test_the_same_step_again_is_refused_and_the_others_are_written() -> None:
    """As when an answer was lost: what is written stays written once."""
    first, second = neighbours()
    journal.commit_together([first, neighbours(1)[0]])

    found = journal.commit_together([first, second])

    assert isinstance(found[0], Exception)
    assert not isinstance(found[0], LeaseLost)
    assert journal.landed(first) == 0
    assert was_written(second)
