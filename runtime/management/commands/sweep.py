"""``manage.py sweep``: the process that buries the dead and calls out and tells what is due."""

import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from runtime import telemetry
from runtime.actors.broker import BrokerHints
from runtime.engine.courier import Courier, CourierOptions
from runtime.engine.ports import Ports
from runtime.engine.process import until_told_to_stop
from runtime.engine.sweep import Sweep


class Command(BaseCommand):
    """Sweep until told to stop; two may run at once."""

    help = (
        "Bury dead workers, call out due tasks, deliver callbacks until told to stop; "
        "two may run at once."
    )
    # They would load every page of the console.
    requires_system_checks = ()

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Run the sweep."""
        telemetry.configure_logs()
        ports = Ports(hints=BrokerHints())
        rounds: list[Sweep | Courier] = [
            Sweep(ports, settings.SIGNALBOX_LEASE_S),
            Courier(ports, CourierOptions.from_settings()),
        ]
        threads = [threading.Thread(target=each.run, daemon=True) for each in rounds]
        for thread in threads:
            thread.start()
        until_told_to_stop()
        for each in rounds:
            each.stop()
        for thread in threads:
            thread.join(5)
