"""The bell: a worker hears at once that one of its queues has work.

Beside the broker's message, which is kept until somebody takes it and found by looking at the queue
every so often, the same hint is pushed to a list at which workers wait that would take a task now.
One of them takes it, so a ring wakes one worker however many are idle.  Waiting costs nothing while
nothing happens; a ring that is lost costs the time to the next look.
"""

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final

import dramatiq
import redis
from dramatiq.brokers.redis import RedisBroker

_LOG = logging.getLogger("runtime.bell")
PAUSE_S: Final = 0.5
MOST_KEPT: Final = 16
"""Rings that nobody takes: whoever comes looks at all there is, so more would tell nothing new."""
KEPT_S: Final = 60
_LISTEN_S: Final = 0.2


def ring(broker: dramatiq.Broker, queue: str) -> None:
    """Tell a worker that listens; only Valkey can, others' workers look by themselves.

    Raises:
        redis.RedisError: Valkey does not answer.
    """
    if isinstance(broker, RedisBroker):
        client: Any = broker.client
        name = _bell(broker, queue)
        with client.pipeline(transaction=False) as sent:
            sent.lpush(name, "")
            sent.ltrim(name, 0, MOST_KEPT - 1)
            sent.expire(name, KEPT_S)
            sent.execute()


class Bell:
    """Listens on a thread of its own.

    Args:
        broker: Where the rings come from.
        queues: The queues that are served.
        heard: Called at each ring, and after each time nothing could be heard.
        has_room: Asked before each wait; who has none leaves the rings to others.
    """

    def __init__(
        self,
        broker: dramatiq.Broker,
        queues: Iterable[str],
        heard: Callable[[], None],
        has_room: Callable[[], bool] = lambda: True,
    ) -> None:
        """Start nothing yet."""
        self._broker = broker
        self._queues = tuple(queues)
        self._heard = heard
        self._has_room = has_room
        self._over = threading.Event()
        self._is_away = False
        self._thread = threading.Thread(target=self._run, name="bell", daemon=True)

    def start(self) -> None:
        """Begin to listen, where the broker can ring."""
        if isinstance(self._broker, RedisBroker):
            self._thread.start()

    def stop(self) -> None:
        """Listen no more; returns within half a second."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(2 * _LISTEN_S)

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self._listen()
            except (redis.RedisError, OSError) as error:
                if not self._is_away:
                    _LOG.warning("the bell cannot be heard: %s", error)
                self._is_away = True
                self._over.wait(PAUSE_S)

    def _listen(self) -> None:
        assert isinstance(self._broker, RedisBroker)  # noqa: S101 (or nothing is started)
        client: Any = self._broker.client
        names = [_bell(self._broker, queue) for queue in self._queues]
        client.ping()
        self._is_away = False
        # Whatever was rung while nobody listened.
        self._heard()
        while not self._over.is_set():
            if not self._has_room():
                self._over.wait(_LISTEN_S)
            elif client.brpop(names, timeout=_LISTEN_S) is not None:
                self._heard()


def _bell(broker: RedisBroker, queue: str) -> str:
    return f"{broker.namespace}:{queue}.bell"
