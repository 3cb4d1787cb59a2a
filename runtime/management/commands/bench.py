"""``manage.py bench``: the figures, on the machine it runs on."""

import json
import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.table import Table

import runtime.bench.agents  # noqa: F401 (registers the agents that are submitted here)
from runtime.bench.dashboard import measure_dashboard
from runtime.bench.growth import measure_growth
from runtime.bench.latency import measure_latency
from runtime.bench.live import measure_live
from runtime.bench.recovery import measure_recovery
from runtime.bench.steps import measure_steps

#: Measured on millions of rows, in a data folder of its own that is kept for the next time.
IN_A_FOLDER_OF_ITS_OWN = {"dashboard", "live"}
#: Set in the process that works on that folder.
INSIDE = "SIGNALBOX_INSIDE_BENCH"
SLOWEST_MS = 300.0


class Command(BaseCommand):
    """Measure and print medians of at least three runs, with their spread and settings."""

    help = "Measure this machine: throughput, latency, recovery, a long task, pages over a million."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what can be measured."""
        kinds = parser.add_subparsers(dest="what", required=True)
        steps = kinds.add_parser("steps", help="steps per second with two workers")
        steps.add_argument("--tasks", type=int, default=600)
        latency = kinds.add_parser("latency", help="milliseconds of a task on an idle system")
        latency.add_argument("--tasks", type=int, default=100)
        recovery = kinds.add_parser("recovery", help="seconds until work goes on after a kill")
        growth = kinds.add_parser("growth", help="milliseconds per step along one long task")
        growth.add_argument("--steps", type=int, default=2000)
        dashboard = kinds.add_parser("dashboard", help="milliseconds of every page of many tasks")
        dashboard.add_argument("--tasks", type=int, default=1_000_000)
        dashboard.add_argument("--events", type=int, default=10_000_000)
        dashboard.add_argument("--runs", type=int, default=20)
        dashboard.add_argument(
            "--at-most", type=float, default=SLOWEST_MS, metavar="MS", help="p95 of every page"
        )
        dashboard.add_argument("--json", action="store_true")
        live = kinds.add_parser("live", help="milliseconds from a commit to the picture")
        live.add_argument("--pages", type=int, default=50)
        live.add_argument("--events", type=int, default=200, metavar="PER_SECOND")
        live.add_argument("--seconds", type=float, default=20.0)
        live.add_argument("--json", action="store_true")
        for kind in (steps, latency):
            kind.add_argument("--steps", type=int, default=10)
        for kind in (steps, latency, recovery):
            kind.add_argument("--threads", type=int, default=8)
        for kind in (steps, latency, recovery, growth):
            kind.add_argument("--runs", type=int, default=3)
            kind.add_argument("--json", action="store_true")

    def run_from_argv(self, argv: list[str]) -> None:
        """Begin anew on a folder of its own where what is measured wants one."""
        wanted = self.create_parser(argv[0], argv[1]).parse_args(argv[2:])
        if wanted.what in IN_A_FOLDER_OF_ITS_OWN and not os.environ.get(INSIDE):
            _go_inside()
        super().run_from_argv(argv)

    def handle(self, *_args: Any, **options: Any) -> None:
        """Run one measurement; the status is 1 where a page did not hold to its time."""
        found = _measure(options["what"], options)
        if options["json"]:
            self.stdout.write(json.dumps(found))
        else:
            _show(found)
        if found.get("slow") or found.get("broken"):
            sys.exit(1)


def _go_inside() -> None:
    """Begin anew on the bench's own data folder; the process stays the same."""
    if os.environ.get("DATABASE_URL"):
        message = "DATABASE_URL names a database that is not the bench's to fill: unset it"
        raise CommandError(message)
    own = {"SIGNALBOX_DATA_DIR": str(Path(settings.SIGNALBOX_DATA_DIR) / "bench"), INSIDE: "1"}
    command = [sys.executable, *sys.argv]
    os.execve(sys.executable, command, {**os.environ, **own})  # noqa: S606 (ourselves)


def _measure(what: str, options: dict[str, Any]) -> dict[str, Any]:
    if what == "live":
        return measure_live(options["pages"], options["events"], options["seconds"], _tell)
    runs: int = options["runs"]
    if what == "dashboard":
        found = measure_dashboard(options["tasks"], options["events"], runs, _tell)
        pages: dict[str, float] = found["pages"]
        slow = [name for name, took_ms in pages.items() if took_ms > options["at_most"]]
        return found | {"slow": slow}
    if what == "growth":
        return measure_growth(options["steps"], runs, _tell)
    threads: int = options["threads"]
    if what == "recovery":
        return measure_recovery(runs, threads, _tell)
    measure = measure_steps if what == "steps" else measure_latency
    return measure(options["tasks"], options["steps"], runs, threads, _tell)


def _tell(what: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(what + "\n")


def _show(found: dict[str, Any]) -> None:
    table = Table("figure", "value")
    for name, value in found.items():
        table.add_row(name, json.dumps(value) if isinstance(value, dict) else str(value))
    Console().print(table)
