"""``manage.py verify``: the proof that everything stored says the same."""

import sys
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console

from runtime import api
from runtime.management import base
from runtime.management.base import SignalboxCommand


class Command(SignalboxCommand):
    """Fold every journal and compare."""

    help = (
        "Prove that journals fold to checkpoints, that results and ledger are what the events say, "
        "and that no ended task has open items; exit 1 if something does not hold."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        self.common(parser)
        parser.add_argument("--task", metavar="ID", help="only this one")
        parser.set_defaults(work=self.prove)

    def prove(self, options: dict[str, Any]) -> None:
        """Prove, and end with 1 if something does not hold."""
        verdict = api.verify(
            options["task"],
            namespace=options["namespace"],
            told=_progress if sys.stderr.isatty() else None,
        )
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")

        def people(console: Console) -> None:
            for problem in verdict.problems:
                console.print(base.plain(f"Task {problem.task}: {problem.what}."))
            counted = f"{verdict.tasks} tasks, {verdict.events} events"
            if verdict.held:
                console.print(f"Everything holds ({counted}).")
            else:
                console.print(f"{len(verdict.problems)} problems ({counted}).")

        value = {
            "held": verdict.held,
            "tasks": verdict.tasks,
            "events": verdict.events,
            "problems": verdict.problems,
        }
        self.show(value, people)
        if not verdict.held:
            self.end(1)


def _progress(tasks: int) -> None:
    sys.stderr.write(f"\r{tasks} tasks proved")
    sys.stderr.flush()
