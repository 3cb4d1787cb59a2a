"""``manage.py demo``: the main job without a browser, and whether every invariant held."""

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from runtime.examples.aftersales.demo import show
from runtime.examples.aftersales.demo.play import playing
from runtime.examples.aftersales.demo.verdict import Verdict
from runtime.examples.aftersales.shop.launch import ShopDidNotStartError

TASKS = 12
MOST_TASKS = 100_000
HELP = (
    "Settle after-sales requests at a real little shop with two workers, kill one of them in the "
    "middle, and hold the outcome against the shop's books."
)


class Command(BaseCommand):
    """Play one run and judge it."""

    help = HELP

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--tasks",
            type=_number,
            default=TASKS,
            metavar="N",
            help=f"requests to settle; default: {TASKS}",
        )
        parser.add_argument(
            "--approve",
            action="store_true",
            help="let a robot person answer each review truthfully from the shop's books",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Play, judge, print; the status is 1 where an invariant did not hold."""
        try:
            verdict = _play(options["tasks"], approve=options["approve"])
        except ShopDidNotStartError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(verdict.as_json()))
        else:
            show.print_verdict(Console(), verdict)
        if not verdict.held:
            sys.exit(1)


def _play(number: int, *, approve: bool) -> Verdict:
    with playing(number) as play:
        with show.live(Console(stderr=True)) as display:
            play.act(display, approve=approve)
        play.stage.close()
        return play.verdict(approve=approve)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 7 and 0 < int(text) <= MOST_TASKS):  # noqa: PLR2004 (digits)
        message = f"{text[:20]!r} is no number of tasks: use one from 1 to {MOST_TASKS:,}"
        raise ArgumentTypeError(message)
    return int(text)
