"""``manage.py workers``: who works, who died and how."""

from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console

from runtime import api
from runtime.management import base
from runtime.management.base import SignalboxCommand


class Command(SignalboxCommand):
    """Leases, heartbeats and deaths of workers."""

    help = "Show workers: their leases, what they hold, and how those of the last day ended."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        self.common(parser)
        parser.set_defaults(work=self.list)

    def list(self, _options: dict[str, Any]) -> None:
        """List workers."""
        found = api.workers()

        def people(console: Console) -> None:
            rows = base.table(
                "worker", "state", "held", "renewed", "lease", "refused", "how it ended"
            )
            for worker in found:
                alive = worker.ended_at is None
                rows.add_row(
                    f"{worker.host}:{worker.pid}",
                    worker.state,
                    f"{worker.held}/{worker.slots}" if alive else "",
                    f"{base.span(worker.heartbeat_s)} ago",
                    f"{base.span(worker.lease_left_s)} left" if alive else "",
                    str(worker.refusals) if worker.refusals else "",
                    base.plain(worker.death),
                )
            console.print(rows if found else "No worker runs, and none ended within the last day.")

        self.show({"workers": found}, people)
