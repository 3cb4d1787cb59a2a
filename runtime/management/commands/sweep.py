"""``manage.py sweep``: the process that buries the dead and calls out what is due."""

import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from runtime.actors.broker import BrokerHints
from runtime.engine.ports import Ports
from runtime.engine.process import log_to_stderr, until_told_to_stop
from runtime.engine.sweep import Sweep


class Command(BaseCommand):
    """Sweep until told to stop; two may run at once."""

    help = "Bury dead workers and call out due tasks until told to stop; two may run at once."

    def handle(self, *_args: Any, **_options: Any) -> None:  # noqa: ANN401 (Django's signature)
        """Run the sweep."""
        log_to_stderr()
        sweep = Sweep(Ports(hints=BrokerHints()), settings.SIGNALBOX_LEASE_S)
        thread = threading.Thread(target=sweep.run, name="sweep", daemon=True)
        thread.start()
        until_told_to_stop()
        sweep.stop()
        thread.join(5)
