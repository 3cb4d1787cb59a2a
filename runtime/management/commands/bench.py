"""``manage.py bench``: the figures, on the machine it runs on."""

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from rich.console import Console
from rich.table import Table

import runtime.bench.agents  # noqa: F401 (registers the agents that are submitted here)
from runtime.bench.growth import measure_growth
from runtime.bench.latency import measure_latency
from runtime.bench.recovery import measure_recovery
from runtime.bench.steps import measure_steps


class Command(BaseCommand):
    """Measure and print medians of at least three runs, with their spread and settings."""

    help = "Measure this machine: throughput, latency, recovery, cost of a step along a long task."

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
        for kind in (steps, latency):
            kind.add_argument("--steps", type=int, default=10)
        for kind in (steps, latency, recovery):
            kind.add_argument("--threads", type=int, default=8)
        for kind in (steps, latency, recovery, growth):
            kind.add_argument("--runs", type=int, default=3)
            kind.add_argument("--json", action="store_true")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Run one measurement."""
        found = _measure(options["what"], options)
        if options["json"]:
            self.stdout.write(json.dumps(found))
        else:
            _show(found)


def _measure(what: str, options: dict[str, Any]) -> dict[str, Any]:
    runs: int = options["runs"]
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
