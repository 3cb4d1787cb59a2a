"""The messages that the broker gave up, for people.

A message carries no work, only the hint that there is some: losing one costs a moment, never a
task.  They are shown all the same, because a growing number of them tells of a fault.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import dramatiq
import redis
from django.conf import settings
from dramatiq.brokers.redis import RedisBroker

from runtime.actors.broker import broker
from runtime.api import BrokerStand, DeadLetter

_SUFFIX = ".XQ"
_PATIENCE_S = 1.0


class BrokerLetters:
    """The dead-letter queues of Valkey; RabbitMQ shows its own in its own console."""

    def stand(self) -> BrokerStand:
        """Count the messages by what became of them.

        Raises:
            redis.RedisError: Valkey does not answer within a second.
        """
        for chosen in _brokers():
            with _patient_client() as client:
                return _counted(client, str(chosen.namespace))
        return BrokerStand()

    def list(self, limit: int) -> list[DeadLetter]:
        """List given-up messages, the oldest first.

        Raises:
            redis.RedisError: Valkey does not answer.
        """
        letters = [
            _letter(chosen, key, message_id, died_ms)
            for chosen in _brokers()
            for key in _queues(chosen)
            for message_id, died_ms in _client(chosen).zrange(key, 0, limit - 1, withscores=True)
        ]
        return sorted(letters, key=lambda letter: letter.died_at)[:limit]

    def requeue(self, message_id: str) -> bool:
        """Send a message again; False if there is none of this id.

        Raises:
            redis.RedisError: Valkey does not answer.
        """
        for chosen in _brokers():
            for key in _queues(chosen):
                body = _client(chosen).hget(f"{key}.msgs", message_id)
                if body is None:
                    continue
                message: dramatiq.Message[Any] = dramatiq.Message.decode(body)
                # Sent before it is removed: a crash in between doubles a hint, which harms nothing.
                chosen.declare_queue(message.queue_name)
                chosen.enqueue(message)
                chosen.client.zrem(key, message_id)
                chosen.client.hdel(f"{key}.msgs", message_id)
                return True
        return False


def _patient_client() -> Any:
    """Give a client that waits a second at most: a page must not hang with the broker."""
    limits = {"socket_timeout": _PATIENCE_S, "socket_connect_timeout": _PATIENCE_S}
    return redis.Redis.from_url(settings.BROKER_URL, **limits)


def _counted(client: Any, namespace: str) -> BrokerStand:
    waiting = unacknowledged = given_up = 0
    acks = f"{namespace}:__acks__."
    for key in client.scan_iter(match=f"{namespace}:*", count=1000):
        name = key.decode()
        if name.startswith(acks):
            unacknowledged += client.scard(key)
        elif name.endswith(_SUFFIX):
            given_up += client.zcard(key)
        elif name.endswith((".msgs", "__heartbeats__")):
            continue
        elif client.type(key) == b"list":
            waiting += client.llen(key)
    return BrokerStand(waiting, unacknowledged, given_up)


def _brokers() -> Iterator[RedisBroker]:
    chosen = broker()
    if isinstance(chosen, RedisBroker):
        yield chosen


def _client(chosen: RedisBroker) -> Any:
    """Give the client without its types, which promise text where bytes come."""
    return chosen.client


def _queues(chosen: RedisBroker) -> list[str]:
    found = chosen.client.scan_iter(match=f"{chosen.namespace}:*{_SUFFIX}", count=1000)
    return sorted(key.decode() for key in found)


def _letter(chosen: RedisBroker, key: str, message_id: bytes, died_ms: float) -> DeadLetter:
    body = _client(chosen).hget(f"{key}.msgs", message_id)
    actor, arguments = "?", None
    if body is not None:
        message: dramatiq.Message[Any] = dramatiq.Message.decode(body)
        actor, arguments = message.actor_name, list(message.args)
    return DeadLetter(
        id=message_id.decode(),
        queue=key.removeprefix(f"{chosen.namespace}:").removesuffix(_SUFFIX),
        actor=actor,
        arguments=arguments,
        died_at=datetime.fromtimestamp(died_ms / 1000, UTC),
    )
