"""``manage.py queues``: what waits, how long, and who serves it."""

from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console

from runtime import api
from runtime.management import base
from runtime.management.base import SignalboxCommand


class Command(SignalboxCommand):
    """Backlog and age of every queue."""

    help = "Show backlog and age of every queue, and who serves it."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        self.common(parser)
        parser.set_defaults(work=self.list)

    def list(self, _options: dict[str, Any]) -> None:
        """List queues."""
        found = api.queues()

        def people(console: Console) -> None:
            rows = base.table("queue", "due", "oldest", "later", "workers", "held", "slots")
            for queue in found:
                rows.add_row(
                    queue.queue,
                    str(queue.due),
                    base.span(queue.oldest_s) or "-",
                    str(queue.later),
                    str(queue.workers),
                    str(queue.held),
                    str(queue.slots),
                )
            console.print(rows if found else "No queue has work or workers.")

        self.show({"queues": found}, people)
