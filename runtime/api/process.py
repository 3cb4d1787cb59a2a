"""What this process lends to the facade: clock and dice, and a doorbell that may be exchanged."""

import logging
from uuid import UUID

from django.db import transaction

from runtime import telemetry
from runtime.engine.ports import Hints, NoHints, Ports

_LOG = logging.getLogger("runtime.api")


class _Doorbell:
    """The hints of this process: one bell that can be exchanged, and never fails a caller."""

    def __init__(self) -> None:
        self.bell: Hints = NoHints()

    def work(self, queue: str, task_id: UUID | None) -> None:
        try:
            self.bell.work(queue, task_id)
        except Exception:  # noqa: BLE001 (any broker, any failure)
            # The sweep finds the work; a submit or a lever that is committed has succeeded.
            _LOG.warning("no hint for queue %s: the broker does not answer", queue, exc_info=True)

    def moved(self, task_id: UUID, seq: int) -> None:
        try:
            self.bell.moved(task_id, seq)
        except Exception:  # noqa: BLE001 (whoever watches looks again by itself)
            _LOG.warning("nobody was told of task %s", task_id, exc_info=True)


_doorbell = _Doorbell()
ports = Ports(hints=_doorbell)


def set_hints(hints: Hints) -> None:
    """Have this process tell its workers of new work in this way; until then nobody is told."""
    _doorbell.bell = hints


def ring(queue: str, task_id: UUID) -> None:
    """Tell workers of a task once the open transaction is committed."""
    transaction.on_commit(lambda: _doorbell.work(queue, task_id), robust=True)


def tell(task_id: UUID, seq: int) -> None:
    """Tell whoever watches of a task once the open transaction is committed."""
    transaction.on_commit(lambda: _doorbell.moved(task_id, seq), robust=True)


def observe(service: str) -> None:
    """Send spans of this process's requests, if the environment names somewhere to send them.

    Must hold: Django's settings are there and its handler is not made yet.
    """
    if telemetry.start(service):
        telemetry.instrument_django()
