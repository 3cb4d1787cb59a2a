"""The broker, its one actor, and hints as messages."""

import logging
from collections.abc import Callable
from functools import cache
from uuid import UUID

import dramatiq
from django.conf import settings
from dramatiq.brokers.redis import RedisBroker
from dramatiq.errors import BrokerConnectionError as BrokerGone

from runtime.actors.bell import ring
from runtime.actors.live import live

_LOG = logging.getLogger("runtime.broker")
ACTOR = "take"


@cache
def broker() -> dramatiq.Broker:
    """Make this process's broker, without middleware: retries and limits are not its business."""
    url: str = settings.BROKER_URL
    if url.startswith("amqp"):
        from dramatiq.brokers.rabbitmq import RabbitmqBroker

        return RabbitmqBroker(url=url, middleware=[])
    return RedisBroker(url=url, middleware=[])  # type: ignore[no-untyped-call]


class BrokerHints:
    """Hints through the broker; one that cannot be sent is lost, and the sweep rings again."""

    def work(self, queue: str, task_id: UUID | None) -> None:
        """Tell workers that a queue has work, perhaps this task."""
        message: dramatiq.Message[None] = dramatiq.Message(
            queue_name=queue,
            actor_name=ACTOR,
            args=(str(task_id) if task_id else None,),
            kwargs={},
            options={},
        )
        try:
            # First whoever waits; the message is for those who do not.
            ring(broker(), queue)
            broker().declare_queue(queue)
            broker().enqueue(message)
        except (BrokerGone, OSError) as error:
            _LOG.warning("a hint for queue %s was lost: %s", queue, error)
        except Exception as error:  # noqa: BLE001 (a doorbell must never fail who rings it)
            _LOG.warning("a hint for queue %s was lost: %s", queue, type(error).__name__)

    def moved(self, task_id: UUID, seq: int) -> None:
        """Tell open pages that a task has moved."""
        live().moved(task_id, seq)


def declare(take: Callable[[], None], queues: tuple[str, ...]) -> dramatiq.Broker:
    """Declare the actor of a worker process on its broker.

    Args:
        take: Claims on the calling thread.
        queues: The queues to serve.
    """
    chosen = broker()

    def door(_task_id: str | None = None) -> None:
        take()

    dramatiq.actor(actor_name=ACTOR, queue_name=queues[0], broker=chosen)(door)
    for queue in queues:
        chosen.declare_queue(queue)
    return chosen
