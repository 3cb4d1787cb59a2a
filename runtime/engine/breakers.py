"""The breakers of all tools as one worker sees them.

Counted in memory and shared through the database when one opens or closes, so that the other
workers need not run into the same wall.
"""

import logging
import threading
from datetime import datetime, timedelta

from runtime.core.breaker import Breaker, BreakerState, ParkUntil, admit, record
from runtime.core.retry import ErrorKind, Failure
from runtime.engine.ports import Ports
from runtime.store.session import LOST, forget_connection

_LOG = logging.getLogger("runtime.breakers")

type Key = tuple[str, str]
_CLOSED = Breaker()
_PROBE_ANSWERS_S = 5.0
"""Others look again about so long after a probe went out, and not when it would count as lost."""


class Breakers:
    """Breakers by namespace and tool."""

    def __init__(self, ports: Ports) -> None:
        """Start with all of them closed."""
        self._ports = ports
        self._lock = threading.Lock()
        self._known: dict[Key, Breaker] = {}
        self._heard: dict[Key, datetime] = {}

    def refresh(self) -> None:
        """Take over what other workers have found out since the last time.

        What was heard before is not news: the probe that we sent since then would be forgotten, and
        its answer would close nothing.
        """
        stored = self._ports.books.breakers()
        with self._lock:
            for namespace, tool, body, at in stored:
                key = namespace, tool
                if key not in self._heard or self._heard[key] < at:
                    self._heard[key] = at
                    self._known[key] = Breaker.from_dict(body)

    def admit(self, key: Key) -> float:
        """Ask whether a call may go out; gives the seconds to wait, 0 to go on."""
        if key not in self._known:
            return 0.0
        now = self._ports.clock.now()
        with self._lock:
            answer = admit(self._known[key], now, self._ports.chance.random())
            if isinstance(answer, ParkUntil):
                wait_s = max((answer.at - now) / timedelta(seconds=1), 0.1)
                if self._known[key].state is BreakerState.HALF_OPEN:
                    wait_s = min(wait_s, _PROBE_ANSWERS_S * (1 + self._ports.chance.random()))
                return wait_s
            self._known[key] = answer.breaker
        return 0.0

    def record(self, key: Key, failure: Failure | None) -> None:
        """Count an outcome; what the tool itself refused says nothing about its downstream."""
        if failure is not None and failure.kind is ErrorKind.PERMANENT:
            failure = None
        before = self._known.get(key)
        if before is None and failure is None:
            return
        with self._lock:
            before = self._known.get(key, _CLOSED)
            after = record(before, ok=failure is None, now=self._ports.clock.now())
            self._known[key] = after
        if after.state != before.state:
            self._share(key, after)

    def _share(self, key: Key, breaker: Breaker) -> None:
        """Tell the other workers; while the database is away they find out for themselves."""
        try:
            at = self._ports.books.store_breaker(*key, breaker.as_dict())
        except LOST as error:
            # Whoever asked holds the outcome of a call, which must not be lost for this.
            _LOG.warning("the breaker of %s could not be shared: %s", key[1], error)
            forget_connection()
            return
        with self._lock:
            self._heard[key] = at
