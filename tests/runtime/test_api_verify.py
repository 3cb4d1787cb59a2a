"""The proof: everything that is stored about a task is what its journal says."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from runtime import api
from runtime.core.effects import Effect
from runtime.models import Task
from runtime.store import verify as proofs
from tests.agents_for_tests.clerk import NAME
from tests.agents_for_tests.hand import Hand

pytestmark = pytest.mark.django_db

ANN: dict[str, Any] = {"by": "human:ann", "reason": "because"}


def submit() -> UUID:
    return api.submit(NAME, {"order_id": "A1"}).id


def lived() -> UUID:
    """A task with every kind of row: reads, a write, a failure, a doubt, a person, a pause."""
    hand = Hand(submit()).start().read().begin().fail()
    task_id = hand.desk.claimed.id
    api.retry(task_id, **ANN)
    api.pause(task_id, **ANN)
    api.resume(task_id, **ANN)
    hand.again().begin().doubt()
    item = api.reviews()[-1]
    api.decide(item.id, "result", arguments={"result": {"paid": True}}, **ANN)
    hand.again().begin("mail", Effect.ONCE).succeed()
    hand.finish()
    return task_id


def change(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(statement)
        assert cursor.rowcount > 0


def found(task_id: UUID) -> list[str]:
    return [problem.what for problem in api.verify(task_id).problems]


def test_a_task_with_every_kind_of_row_fits_together() -> None:
    task_id = lived()

    verdict = api.verify()

    assert verdict.problems == ()
    assert verdict.held
    assert (verdict.tasks, verdict.events) == (1, api.task(task_id).version)


@pytest.mark.parametrize(
    "at",
    [
        lambda hand: hand,
        lambda hand: hand.start(),
        lambda hand: hand.start().read(),
        lambda hand: hand.start().read().begin(),
        lambda hand: hand.start().read().begin().fail(),
        lambda hand: hand.start().read().begin().doubt(),
        lambda hand: hand.start().ask(),
    ],
)
def test_a_task_fits_together_wherever_it_stands(at: Callable[[Hand], Hand]) -> None:
    hand = at(Hand(submit()))

    assert found(hand.desk.claimed.id) == []


CHANGES = {
    "UPDATE runtime_task SET situation = situation + 1": "its situation is",
    "UPDATE runtime_task SET version = version + 1": "its version is",
    "UPDATE runtime_task SET checkpoint = replace(checkpoint, '\"step\":', '\"step\":1')": (
        "its checkpoint does not fit its checksum"
    ),
    "UPDATE runtime_task SET held = true, state = 'planning', finished_at = NULL": (
        "it is held, and its events say otherwise"
    ),
    "UPDATE runtime_task SET state = 'terminated_failed'": "its state is terminated_failed",
    "DELETE FROM runtime_event WHERE seq = 3": "its journal goes from event 2 to event 4",
    "DELETE FROM runtime_event WHERE seq = (SELECT max(seq) FROM runtime_event)": "its version is",
    "UPDATE runtime_event SET type = 'task_started' WHERE seq = 3": "event 3 cannot be applied",
    "UPDATE runtime_event SET type = 'no_such_thing' WHERE seq = 3": "event 3 cannot be read",
    "UPDATE runtime_event SET payload = '{' WHERE seq = 3": "event 3 cannot be read",
    "UPDATE runtime_event SET payload = '{}' WHERE seq = 3": "event 3",
    "DELETE FROM runtime_stepresult WHERE position = 1": "the result of call 0.1.0 is missing",
    "UPDATE runtime_stepresult SET position = 9 WHERE position = 3": (
        "a result of call 0.3.0 is stored, and no event tells of it"
    ),
    "UPDATE runtime_stepresult SET outcome = 'failed' WHERE position = 1": "in outcome",
    "UPDATE runtime_stepresult SET chain = 'x' WHERE position = 1": "in chain",
    "UPDATE runtime_stepresult SET result = '\"other\"' WHERE position = 1": (
        "the result of call 0.1.0 does not fit its digest"
    ),
    "DELETE FROM runtime_operation WHERE tool = 'pay'": "is missing in the ledger",
    "UPDATE runtime_operation SET status = 'failed' WHERE tool = 'mail'": "in status",
    "UPDATE runtime_operation SET dispatches = 7 WHERE tool = 'mail'": "in dispatches",
    "UPDATE runtime_operation SET id = 'op_x' WHERE tool = 'mail'": (
        "operation op_x stands in the ledger, and no event tells of it"
    ),
    "UPDATE runtime_review SET status = 'open'": "with 1 review items open",
    "DELETE FROM runtime_review": "it has 0 review items, and its events ask 1 times",
    "UPDATE runtime_inbox SET consumed_at = NULL WHERE kind = 'hold'": (
        "it has ended with 1 unsettled commands"
    ),
}


@pytest.mark.parametrize(("statement", "says"), CHANGES.items())
def test_each_damage_is_found_and_named(statement: str, says: str) -> None:
    task_id = lived()

    change(statement)

    assert any(says in what for what in found(task_id)), found(task_id)


def test_only_the_damaged_task_is_named() -> None:
    kept, damaged = submit(), submit()
    Task.objects.filter(id=damaged).update(situation=7)

    verdict = api.verify()

    assert verdict.tasks == 2
    assert {problem.task for problem in verdict.problems} == {damaged}
    assert found(kept) == []


def test_batches_and_chunks_of_any_size_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory stays constant: rows are read in chunks that end anywhere, also inside a task."""
    for _ in range(5):
        lived()
    whole = api.verify()
    told: list[int] = []

    monkeypatch.setattr(proofs, "BATCH", 2)
    monkeypatch.setattr(proofs, "CHUNK", 3)
    parts = api.verify(told=told.append)

    assert parts == whole
    assert whole.tasks == 5
    assert whole.problems == ()
    assert told == [2, 4, 5]


@pytest.mark.django_db(transaction=True)
def test_a_proof_outside_a_transaction_sees_one_snapshot_and_writes_nothing() -> None:
    lived()

    assert api.verify().held
