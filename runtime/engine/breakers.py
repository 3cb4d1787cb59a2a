"""The breakers of all tools as one worker sees them.

Counted in memory and shared through the database when one opens or closes, so that the other
workers need not run into the same wall.
"""

import threading
from datetime import timedelta

from runtime.core.breaker import Breaker, ParkUntil, admit, record
from runtime.core.retry import ErrorKind, Failure
from runtime.engine.ports import Ports
from runtime.store import health

type Key = tuple[str, str]
_CLOSED = Breaker()


class Breakers:
    """Breakers by namespace and tool."""

    def __init__(self, ports: Ports) -> None:
        """Start with all of them closed."""
        self._ports = ports
        self._lock = threading.Lock()
        self._known: dict[Key, Breaker] = {}

    def refresh(self) -> None:
        """Take over what other workers have found out."""
        stored = {(ns, tool): Breaker.from_dict(body) for ns, tool, body, _ in health.breakers()}
        with self._lock:
            for key, breaker in stored.items():
                mine = self._known.get(key, _CLOSED)
                if breaker.until != mine.until or breaker.state != mine.state:
                    self._known[key] = breaker

    def admit(self, key: Key) -> float:
        """Ask whether a call may go out; gives the seconds to wait, 0 to go on."""
        if key not in self._known:
            return 0.0
        now = self._ports.clock.now()
        with self._lock:
            answer = admit(self._known[key], now, self._ports.chance.random())
            if isinstance(answer, ParkUntil):
                return max((answer.at - now) / timedelta(seconds=1), 0.1)
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
            health.store_breaker(*key, after.as_dict())
