"""Where a task stood after an event: the fold of its journal, bounded."""

from uuid import UUID

import pytest

from runtime import api
from runtime.core.errors import BadIdentifier
from runtime.core.states import State
from tests.agents_for_tests.clerk import NAME
from tests.agents_for_tests.hand import Hand

pytestmark = pytest.mark.django_db


def _submitted() -> UUID:
    return api.submit(NAME, {"order_id": "A1"}).id


def test_the_fold_to_the_last_event_is_the_stored_checkpoint() -> None:
    task_id = _submitted()
    Hand(task_id).start().read().begin()
    version = api.task(task_id).version

    found = api.checkpoints_at(task_id, [1, version])

    assert found[1].state is State.INITIALIZED
    assert found[version] == api.checkpoint(task_id)


def test_it_is_folded_over_the_edges_of_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.store.past.CHUNK", 2)
    task_id = _submitted()
    hand = Hand(task_id).start()
    for _ in range(5):
        hand.read()

    found = api.checkpoints_at(task_id, [3, 7, 99])

    assert {seq: at.done for seq, at in found.items()} == {3: 1, 7: 5}


def test_nobody_waits_for_a_fold_without_end() -> None:
    task_id = _submitted()

    with pytest.raises(BadIdentifier, match="at most 10,000"):
        api.checkpoints_at(task_id, [api.FARTHEST_FOLD + 1])
