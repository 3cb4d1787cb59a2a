"""The worker's lease: registered, renewed by a thread of its own, lost.

The thread has a direct connection, on which the session advisory lock lives that proves the
process to be alive.  Whether the lease still holds is judged by the boot clock, so that a stopped
process knows on waking that its time is over.
"""

import logging
import os
import resource
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

import psycopg

from runtime.engine.options import RuntimeOptions
from runtime.engine.ports import CrashPoint, Ports
from runtime.store import leases
from runtime.store.session import LOST, bind
from runtime.tools.agents import registry

_LOG = logging.getLogger("runtime.lease")
VERSION = "0.1.0"


@dataclass(frozen=True, slots=True)
class Report:
    """What a worker says of itself at each renewal."""

    held: int
    draining: bool


class Lease:
    """One worker's lease over all its incarnations.

    Args:
        ports: Clock, chance, crash points.
        options: Length of the lease, address of the database.
        kind: ``worker``, or ``isolated`` for the process that runs one suspect.
        report: Asked at each renewal what to say.
        renewed: Told of each renewal: the tasks that somebody wants something of, and whether
            it is to take no more.
        lost: Told that an incarnation is over, before the next one starts.
    """

    def __init__(  # noqa: PLR0913, PLR0917 (wiring)
        self,
        ports: Ports,
        options: RuntimeOptions,
        kind: str,
        report: Callable[[], Report],
        renewed: Callable[[leases.Renewal], None],
        lost: Callable[[UUID, UUID], None],
    ) -> None:
        """Prepare; nothing is written before ``start``."""
        self._ports = ports
        self._options = options
        self._kind = kind
        self._report = report
        self._on_renewal = renewed
        self._lost = lost
        self.id = ports.chance.uuid7(ports.clock.now())
        self._until_s = 0.0
        self._renewed = threading.Condition()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)
        self._raw: psycopg.Connection[object] | None = None
        self._locked = False

    @property
    def interval_s(self) -> float:
        """Seconds between two renewals."""
        return min(1.0, self._options.lease_s / 4)

    def start(self) -> None:
        """Register and start renewing.

        Raises:
            psycopg.OperationalError: The database cannot be reached.
        """
        self._connect()
        self._register()
        bind(None)
        self._thread.start()

    def holds(self) -> bool:
        """Tell whether the lease has not run out by our own clock."""
        return self._ports.clock.boottime_s() < self._until_s

    def wait(self, worker: UUID, timeout_s: float) -> bool:
        """Wait until the lease holds again; False if this incarnation is over or time is up."""
        until_s = self._ports.clock.boottime_s() + timeout_s
        with self._renewed:
            while self.id == worker and not self.holds():
                left_s = until_s - self._ports.clock.boottime_s()
                if left_s <= 0 or self._stop.is_set():
                    return False
                self._renewed.wait(min(left_s, 0.2))
        return self.id == worker

    def stop(self) -> None:
        """Stop renewing and enter that this worker stopped of its own will."""
        self._stop.set()
        self._thread.join(5)

    # --- the thread ------------------------------------------------------------------------------

    def _connect(self) -> None:
        raw = psycopg.connect(
            self._options.direct_url,
            autocommit=True,
            connect_timeout=5,
            application_name=f"signalbox lease {self.id}",
        )
        bind(raw)
        self._raw = raw
        self._locked = leases.lock(self.id)

    def _register(self, before: UUID | None = None) -> None:
        asked_s = self._ports.clock.boottime_s()
        incarnation = leases.Incarnation(
            id=self.id,
            host=socket.gethostname(),
            pid=os.getpid(),
            kind=self._kind,
            queues=self._options.queues,
            slots=self._options.slots,
            version=VERSION,
            agents=sorted(registry.agents),
            before=before,
        )
        self._ports.clock.hear(leases.register(incarnation, self._options.lease_s))
        self._extend(asked_s)

    def _extend(self, asked_s: float) -> None:
        # Counted from before the question: the answer may have been long on its way.
        with self._renewed:
            self._until_s = asked_s + self._options.lease_s
            self._renewed.notify_all()

    def _keep(self) -> None:
        bind(self._raw)
        while not self._stop.wait(self.interval_s):
            try:
                if self._raw is None or self._raw.closed:
                    self._connect()
                self._renew()
            except LOST as error:
                _LOG.warning("the lease could not be renewed: %s", error)
                self._drop()
        self._retire()

    def _renew(self) -> None:
        self._ports.crash(CrashPoint.BEFORE_RENEWAL)
        asked_s = self._ports.clock.boottime_s()
        report = self._report()
        renewal = leases.renew(
            self.id,
            self._options.lease_s,
            held=report.held,
            memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            state="draining" if report.draining else "running",
        )
        self._ports.crash(CrashPoint.AFTER_RENEWAL)
        if renewal is None:
            self._begin_anew()
            return
        if not self._locked:
            self._locked = leases.lock(self.id)
        self._ports.clock.hear(renewal.now)
        self._extend(asked_s)
        self._on_renewal(renewal)

    def _begin_anew(self) -> None:
        """Start another incarnation: this one was declared dead, and its tasks are others' now."""
        _LOG.warning("worker %s was declared dead; it goes on as another incarnation", self.id)
        over = self.id
        with self._renewed:
            self._until_s = 0.0
            self.id = self._ports.chance.uuid7(self._ports.clock.now())
            self._renewed.notify_all()
        self._lost(over, self.id)
        self._drop()
        self._connect()
        self._register(over)

    def _drop(self) -> None:
        if self._raw is not None:
            self._raw.close()

    def _retire(self) -> None:
        try:
            if self._raw is None or self._raw.closed:
                self._connect()
            leases.retire(self.id)
        except LOST as error:
            _LOG.warning("the end of worker %s could not be entered: %s", self.id, error)
        self._drop()
        bind(None)
