"""Hints that come in crowds, twice or in the wrong order, and pages that are slow to listen."""

import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

from console.live.consumer import LiveConsumer
from console.live.reader import GATHER_S, MOVED, Reader


class Told:
    """An open page's socket that keeps what it was offered."""

    def __init__(self, *tasks: UUID) -> None:
        self.user_id = 1
        self.session = "s"
        self.watched = dict.fromkeys(tasks, 0)
        self.offers: list[dict[UUID, int]] = []
        self.arrived = asyncio.Semaphore(0)

    def offer(self, moves: Mapping[UUID, int], *, others: bool) -> None:  # noqa: ARG002 (the protocol's)
        self.offers.append(dict(moves))
        self.arrived.release()

    def tell(self, **_facts: Any) -> None:
        return

    def end(self, code: int) -> None:
        raise AssertionError(code)


def _slow(*tasks: UUID) -> LiveConsumer:
    """A socket whose network takes nothing: what waits for it piles up, or does not."""
    consumer = LiveConsumer()
    consumer.watched = dict.fromkeys(tasks, 0)
    consumer._news, consumer._some = {}, asyncio.Event()
    return consumer


def test_hints_that_come_twice_or_in_the_wrong_order_become_the_newest() -> None:
    async def scene() -> None:
        task_id, reader = uuid4(), Reader()
        socket = Told(task_id)
        reader.sockets.add(socket)
        for seq in (3, 5, 4, 5, 1):
            reader.hear({"type": MOVED, "moves": [[str(task_id), seq]]})
        forward = asyncio.create_task(reader._forward())
        await socket.arrived.acquire()
        forward.cancel()
        assert socket.offers == [{task_id: 5}]

    asyncio.run(scene())


def test_three_hundred_hints_in_a_moment_reach_a_page_as_one() -> None:
    async def scene() -> None:
        task_id, reader = uuid4(), Reader()
        socket = Told(task_id)
        reader.sockets.add(socket)
        for seq in range(1, 301):
            reader.hear({"type": MOVED, "moves": [[str(task_id), seq]]})
        forward = asyncio.create_task(reader._forward())
        await socket.arrived.acquire()
        forward.cancel()
        assert socket.offers == [{task_id: 300}]

    asyncio.run(scene())


def test_hints_are_gathered_for_no_longer_than_a_quarter_of_a_second() -> None:
    assert GATHER_S <= 0.25


def test_what_waits_for_a_slow_page_grows_no_further_than_what_it_watches() -> None:
    watched, others = [uuid4() for _ in range(3)], [uuid4() for _ in range(500)]
    consumer = _slow(*watched)

    for seq in range(1, 1000):
        consumer.offer({**dict.fromkeys(watched, seq), others[seq % 500]: seq}, others=True)

    assert consumer._news == {
        "tasks": dict.fromkeys(map(str, watched), 999),
        "others": True,
    }


def test_an_old_hint_does_not_take_a_page_back() -> None:
    task_id = uuid4()
    consumer = _slow(task_id)

    consumer.offer({task_id: 7}, others=True)
    consumer.offer({task_id: 4}, others=True)

    assert consumer._news["tasks"] == {str(task_id): 7}
