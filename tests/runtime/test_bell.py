"""A worker hears at once that there is work, and misses nothing for longer than a moment."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from dramatiq.brokers.redis import RedisBroker
from dramatiq.brokers.stub import StubBroker

from runtime.actors.bell import MOST_KEPT, Bell
from runtime.actors.broker import BrokerHints
from tests.support.engine import eventually

PATIENCE_S = 20.0

type Listen = Callable[..., "Ear"]


class Ear:
    """Counts what it hears."""

    def __init__(self) -> None:
        self._count = 0
        self._some = threading.Condition()

    def hear(self) -> None:
        """Hear one ring."""
        with self._some:
            self._count += 1
            self._some.notify_all()

    def has_heard(self, count: int) -> bool:
        """Wait until it has heard so many."""
        with self._some:
            return self._some.wait_for(lambda: self._count >= count, PATIENCE_S)

    @property
    def count(self) -> int:
        """How many it has heard."""
        return self._count


@pytest.fixture
def listen(broker: RedisBroker) -> Iterator[Listen]:
    bells: list[Bell] = []

    def begin(*queues: str) -> Ear:
        ear = Ear()
        bell = Bell(broker, queues, ear.hear)
        bells.append(bell)
        bell.start()
        assert ear.has_heard(1)
        return ear

    yield begin
    for bell in bells:
        bell.stop()


def test_a_hint_rings_the_workers_of_its_queue_and_no_others(listen: Listen) -> None:
    mine, other = listen("mail", "pay"), listen("night")

    BrokerHints().work("pay", None)

    assert mine.has_heard(2)
    BrokerHints().work("night", None)
    assert other.has_heard(2)
    assert (mine.count, other.count) == (2, 2)


def test_a_ring_wakes_one_worker_and_the_next_ring_another(listen: Listen) -> None:
    """However many are idle, a task is claimed once: the others need not look."""
    first, second = listen("pay"), listen("pay")

    BrokerHints().work("pay", None)
    BrokerHints().work("pay", None)

    eventually(lambda: first.count + second.count == 4)
    assert 1 <= first.count <= 3


def test_who_has_no_room_leaves_the_rings_to_others(listen: Listen, broker: RedisBroker) -> None:
    full, free = Ear(), listen("pay")
    bell = Bell(broker, ["pay"], full.hear, lambda: False)
    bell.start()
    assert full.has_heard(1)

    for heard in range(2, 6):
        BrokerHints().work("pay", None)
        assert free.has_heard(heard)

    bell.stop()
    assert full.count == 1


def test_rings_that_nobody_takes_do_not_pile_up(broker: RedisBroker) -> None:
    for _ in range(2 * MOST_KEPT):
        BrokerHints().work("pay", None)

    name = f"{broker.namespace}:pay.bell"
    assert broker.client.llen(name) == MOST_KEPT
    assert broker.client.ttl(name) > 0


def test_whoever_begins_to_listen_looks_at_once(listen: Listen) -> None:
    assert listen("pay").count == 1


def test_after_a_lost_connection_it_listens_again_and_looks_for_what_it_missed(
    listen: Listen, broker: RedisBroker
) -> None:
    ear = listen("pay")

    _hang_up(broker)

    assert ear.has_heard(2)
    BrokerHints().work("pay", None)
    assert ear.has_heard(3)


def test_a_hint_nobody_listens_to_is_still_a_message(broker: RedisBroker) -> None:
    BrokerHints().work("pay", None)

    assert broker.client.llen(f"{broker.namespace}:pay") == 1


def test_where_the_broker_cannot_ring_nothing_is_listened_to() -> None:
    ear = Ear()
    bell = Bell(StubBroker(), ["pay"], ear.hear)

    bell.start()
    bell.stop()

    assert ear.count == 0


def _hang_up(broker: RedisBroker) -> None:
    """Close the connections that wait, of this session's database only."""
    client: Any = broker.client
    mine = str(client.connection_pool.connection_kwargs["db"])
    for one in client.client_list():
        if one["db"] == mine and one["cmd"] == "brpop":
            client.client_kill_filter(_id=one["id"])
