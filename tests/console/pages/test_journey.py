"""The way of a task: whole for long ones, read once."""

from typing import Any
from uuid import UUID

import pytest

from console import queries
from console.queries import Journey
from runtime import api
from runtime.core.states import State
from tests.agents_for_tests.clerk import NAME
from tests.agents_for_tests.hand import Hand

pytestmark = pytest.mark.django_db


def _submitted() -> UUID:
    return api.submit(NAME, {"order_id": "A1"}).id


def _travelled(task_id: UUID) -> Journey:
    task = api.task(task_id)
    return queries.travelled(task_id, task.version, State(task.state))


def test_visits_and_legs_are_told_from_the_beginning() -> None:
    task_id = _submitted()
    Hand(task_id).start().read().read().begin().succeed().finish()

    journey = _travelled(task_id)

    assert journey.is_whole
    assert journey.visits[State.WAITING_TOOL_CALL] == 3
    assert journey.visits[State.PLANNING] == 4
    assert (State.WAITING_TOOL_CALL, State.PLANNING) in journey.legs
    assert journey.recent[-1] is State.TERMINATED_SUCCESS


def test_what_was_followed_once_is_not_read_again(django_assert_num_queries: Any) -> None:
    task_id = _submitted()
    hand = Hand(task_id).start().read()
    _travelled(task_id)
    version = api.task(task_id).version

    with django_assert_num_queries(0):
        queries.travelled(task_id, version, State.PLANNING)
    hand.read()

    assert _travelled(task_id).visits[State.WAITING_TOOL_CALL] == 2


def test_of_a_long_journal_the_last_part_is_followed_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("console.queries.journey.FARTHEST", 4)
    task_id = _submitted()
    hand = Hand(task_id).start()
    for _ in range(6):
        hand.read()

    journey = _travelled(task_id)

    assert (journey.is_whole, journey.since) == (False, 5)
    # Where it came from into the first of the four, nobody can say.
    assert journey.visits[State.WAITING_TOOL_CALL] == 3
    assert journey.visits[State.INITIALIZED] == 1
