"""Messages the broker gave up are shown, and can be sent again once."""

from typing import Any

import dramatiq
import pytest
from django.conf import settings
from dramatiq.brokers.redis import RedisBroker

from runtime import api
from runtime.actors import broker as brokers
from runtime.actors.dead import BrokerLetters


def give_up(broker: RedisBroker, queue: str) -> None:
    """Have the broker give up the message at the head of a queue."""
    consumer = broker.consume(queue, timeout=100)
    message = next(consumer)
    assert message is not None
    consumer.nack(message)
    consumer.close()


def message(queue: str) -> dramatiq.Message[Any]:
    return dramatiq.Message(
        queue_name=queue, actor_name="take", args=("t-1",), kwargs={}, options={}
    )


def test_a_given_up_message_is_listed_and_sent_again(broker: RedisBroker) -> None:
    broker.declare_queue("slow")
    broker.enqueue(message("slow"))
    give_up(broker, "slow")

    (letter,) = BrokerLetters().list(10)
    assert (letter.queue, letter.actor, letter.arguments) == ("slow", "take", ["t-1"])

    assert BrokerLetters().requeue(letter.id)
    assert BrokerLetters().list(10) == []
    assert not BrokerLetters().requeue(letter.id)
    assert broker.do_qsize("slow") == 1


@pytest.mark.django_db
def test_the_facade_finds_the_message_by_its_id(broker: RedisBroker) -> None:
    broker.declare_queue("default")
    broker.enqueue(message("default"))
    give_up(broker, "default")
    (letter,) = api.dead().letters

    done = api.requeue(letter.id, reason="", by="human:ann")

    assert (done.what, done.id) == ("message", letter.id)


@pytest.mark.django_db
def test_a_broker_that_does_not_answer_hides_no_task(
    broker: RedisBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "BROKER_URL", "redis://127.0.0.1:1/0")
    brokers.broker.cache_clear()

    found = api.dead()

    assert found.letters == ()
    assert found.broker is not None
    assert "127.0.0.1:1" in found.broker
