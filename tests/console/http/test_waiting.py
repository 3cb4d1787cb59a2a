"""Waiting for a task: told when it ends or moves, holding nothing meanwhile."""

import asyncio
import threading
import time
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client

from console.http import waiting
from console.http.waiting import Watch
from runtime import api
from tests.agents_for_tests.hand import Hand

TASKS = "/api/v1/tasks"


def in_a_thread(work: Any) -> threading.Thread:
    def run() -> None:
        work()
        connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def until_somebody_waits(count: int = 1) -> None:
    deadline_s = time.monotonic() + 20
    while waiting.watch.waiting < count:
        assert time.monotonic() < deadline_s, "nobody waits"
        threading.Event().wait(0.01)


@pytest.mark.django_db(transaction=True)
def test_a_reader_that_waits_is_answered_when_the_task_ends(client: Client, task_id: UUID) -> None:
    def end() -> None:
        until_somebody_waits()
        api.cancel(task_id, reason="r", by="human:bob")

    ending = in_a_thread(end)
    answer = client.get(f"{TASKS}/{task_id}?wait_s=30").json()
    ending.join(30)

    assert answer["ended"] is True
    assert answer["state"] == "terminated_aborted"
    assert waiting.watch.waiting == 0


@pytest.mark.django_db(transaction=True)
def test_a_reader_may_wait_for_the_next_movement(client: Client, task_id: UUID) -> None:
    def move() -> None:
        until_somebody_waits()
        Hand(task_id).start()

    moving = in_a_thread(move)
    answer = client.get(f"{TASKS}/{task_id}?wait_s=30&beyond=1").json()
    moving.join(30)

    assert answer["version"] > 1
    assert answer["ended"] is False


@pytest.mark.django_db
@pytest.mark.parametrize("query", ["wait_s=20&beyond=0", "beyond=0", ""])
def test_what_has_moved_already_is_answered_at_once(
    client: Client, task_id: UUID, query: str
) -> None:
    assert client.get(f"{TASKS}/{task_id}?{query}").json()["version"] == 1


@pytest.mark.django_db
def test_what_has_ended_is_answered_at_once(client: Client, task_id: UUID) -> None:
    api.cancel(task_id, reason="r", by="human:bob")

    assert client.get(f"{TASKS}/{task_id}?wait_s=30").json()["ended"] is True


@pytest.mark.django_db
@pytest.mark.parametrize("wait", ["nan", "inf", "-1", "31", "x", "1e999"])
def test_a_wait_that_cannot_be_is_refused(client: Client, task_id: UUID, wait: str) -> None:
    assert client.get(f"{TASKS}/{task_id}?wait_s={wait}").status_code == 422


@pytest.mark.django_db(transaction=True)
def test_a_wait_without_an_end_ends_all_the_same(client: Client, task_id: UUID) -> None:
    answer = client.get(f"{TASKS}/{task_id}?wait_s=0.05").json()

    assert answer["ended"] is False


def test_one_look_serves_all_who_wait() -> None:
    ids = [uuid4() for _ in range(50)]
    looks: list[int] = []

    def versions(asked: Any) -> dict[UUID, tuple[int, bool]]:
        looks.append(len(asked))
        enough = len(asked) == len(ids)
        return dict.fromkeys(asked, (2 if enough else 1, False))

    async def all_wait() -> None:
        watch = Watch(versions)
        await asyncio.gather(*(watch.wait(one, 20, beyond=1) for one in ids))
        assert watch.waiting == 0

    asyncio.run(all_wait())

    assert looks[-1] == len(ids)
    assert len(looks) < len(ids)


def test_a_look_that_fails_leaves_the_waiters_waiting() -> None:
    failures = iter([True, True, False])

    def versions(asked: Any) -> dict[UUID, tuple[int, bool]]:
        if next(failures, False):
            raise OSError
        return dict.fromkeys(asked, (1, True))

    asyncio.run(Watch(versions).wait(uuid4(), 20))


def test_a_task_that_is_gone_is_waited_for_by_nobody() -> None:
    asyncio.run(Watch(lambda _asked: {}).wait(uuid4(), 20))


def test_a_crowd_is_answered_at_once() -> None:
    def versions(_asked: Any) -> dict[UUID, tuple[int, bool]]:
        pytest.fail("nobody was let in")

    asyncio.run(Watch(versions, most=0).wait(uuid4(), 20))
