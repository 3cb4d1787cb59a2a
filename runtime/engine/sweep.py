"""The sweep: buries dead workers, calls out due tasks, hears unheard commands, counts the ended.

A process of its own; two may run at once, because every statement skips what another has locked.
It decides nothing about a task.
"""

import logging
import threading
from dataclasses import dataclass
from uuid import UUID

from runtime.engine import levers
from runtime.engine.ports import CrashPoint, Ports
from runtime.store import artifacts, claims, counting, leases, pulse
from runtime.store.session import AGAIN, LOST, execute, forget_connection

_LOG = logging.getLogger("runtime.sweep")


@dataclass(frozen=True, slots=True)
class Swept:
    """What one round did."""

    dead: int = 0
    freed: int = 0
    called: int = 0
    heard: int = 0


class Sweep:
    """Rounds of the sweep.

    Args:
        ports: Clock, hints, crash points.
        lease_s: How long leases last: an expired one counts only after so long a watch.
    """

    EVERY_S = 0.5
    AGAIN_S = 5.0
    BEAT_EVERY = 4
    COUNTS_AT_MOST = 20
    COLLECT_EVERY = 600
    COLLECT_AFTER_S = 86_400.0

    def __init__(self, ports: Ports, lease_s: float) -> None:
        """Start watching with the first round."""
        self._ports = ports
        self._lease_s = lease_s
        self._watching_since_s: float | None = None
        self._last_s = 0.0
        self._rounds = 0
        self._stop = threading.Event()

    def run(self) -> None:
        """Sweep until stopped; a database that is away is waited for."""
        while True:
            try:
                self.run_once()
            except AGAIN:
                pass
            except LOST as error:
                _LOG.warning("the sweep was interrupted: %s", error)
                forget_connection()
                self._watching_since_s = None
            if self._stop.wait(self.EVERY_S):
                return

    def stop(self) -> None:
        """End after the present round."""
        self._stop.set()

    def run_once(self) -> Swept:
        """Do one round.

        Raises:
            psycopg.Error: The database is away; nothing is half done.
        """
        self._ports.crash(CrashPoint.BEFORE_SWEEP)
        dead, freed = leases.bury(watching=self._has_watched())
        self._ports.crash(CrashPoint.IN_SWEEP)
        called = self._call_out()
        heard = self._hear()
        if self._rounds % self.BEAT_EVERY == 0:
            self._count()
            pulse.beat(pulse.SWEEP)
        self._rounds += 1
        if self._rounds % self.COLLECT_EVERY == 0:
            artifacts.collect(self.COLLECT_AFTER_S)
            counting.forget_old()
        self._ports.crash(CrashPoint.AFTER_SWEEP)
        return Swept(dead, freed, called, heard)

    def _has_watched(self) -> bool:
        """Tell whether the database was seen without a gap for a whole lease.

        After an outage all leases look expired; the living get the time to renew theirs.
        """
        now_s = self._ports.clock.boottime_s()
        # Our own rounds are no gaps, however short the lease.
        gap = now_s - self._last_s > max(self._lease_s / 2, 4 * self.EVERY_S)
        self._last_s = now_s
        if gap or self._watching_since_s is None:
            self._watching_since_s = now_s
        up_s = float(
            execute(
                "SELECT extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float8",
            )[0][0],
        )
        return min(now_s - self._watching_since_s, up_s) >= self._lease_s

    def _call_out(self) -> int:
        """Ring for due tasks that nobody came for: no more doorbells than free slots."""
        called = 0
        for queue in claims.due_queues():
            free = leases.free_slots(queue)
            if free <= 0:
                continue
            for task_id in claims.call_out(queue, min(free, 100), self.AGAIN_S):
                self._ports.hints.work(queue, task_id)
                called += 1
        return called

    def _count(self) -> None:
        """Enter what has ended into the totals; what does not fit waits for a later round."""
        for _ in range(self.COUNTS_AT_MOST):
            if counting.count() == 0:
                return

    def _hear(self) -> int:
        """Obey commands of paused tasks that the process which took them could not carry out."""
        heard = 0
        for task_id in _unheard():
            heard += levers.apply_now(self._ports, task_id)
        return heard


def _unheard() -> list[UUID]:
    rows = execute(
        "SELECT id FROM runtime_task WHERE owner IS NULL AND attention > attended "
        "AND (held OR due_at IS NULL) ORDER BY id LIMIT 100",
    )
    return [row[0] for row in rows]
