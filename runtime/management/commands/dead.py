"""``manage.py dead …``: what was given up, and setting it going again."""

from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console

from runtime import api
from runtime.management import base
from runtime.management.base import CHANNEL, SignalboxCommand


class Command(SignalboxCommand):
    """Tasks that only a person can take up, and messages the broker gave up."""

    help = "List what was given up, and set it going again."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the commands of the group."""
        group = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        self.leaf(group, "list", self.list, "List given-up tasks and messages.")
        again = self.leaf(group, "requeue", self.requeue, "Set one going again.")
        again.add_argument("id", metavar="ID", help="of the task, its review item or the message")
        again.add_argument("--reason", default="set going again", help="why, for people")

    def list(self, options: dict[str, Any]) -> None:
        """List what was given up."""
        found = api.dead(namespace=options["namespace"], limit=1000)

        def people(console: Console) -> None:
            if found.tasks:
                rows = base.table("task", "kind", "waits", "why", wide=("why",))
                for item in found.tasks:
                    waits = base.span(item.waits_s)
                    rows.add_row(str(item.task_id), item.kind, waits, base.plain(item.why))
                console.print(rows)
            if found.letters:
                rows = base.table("message", "queue", "actor", "died")
                for letter in found.letters:
                    died = base.instant(letter.died_at)
                    rows.add_row(letter.id, letter.queue, letter.actor, died)
                console.print(rows)
            if found.broker:
                console.print(base.plain(f"The broker could not be asked: {found.broker}"))
            elif not found.tasks and not found.letters:
                console.print("Nothing was given up.")

        value = {"tasks": found.tasks, "messages": found.letters, "broker": found.broker}
        self.show(value, people)

    def requeue(self, options: dict[str, Any]) -> None:
        """Set one going again."""
        done = api.requeue(
            options["id"],
            reason=options["reason"],
            by=api.account("act_on_tasks"),
            channel=CHANNEL,
            namespace=options["namespace"],
        )
        self.show(
            {"requeued": done},
            lambda console: console.print(f"The {done.what} {done.id} is set going again."),
        )
