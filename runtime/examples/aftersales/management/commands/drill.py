"""``manage.py drill``: faults strike real processes at work; proves that nothing broke."""

import fcntl
import json
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from rich.console import Console

from runtime.examples.aftersales.drill import show
from runtime.examples.aftersales.drill.faults import Kind
from runtime.examples.aftersales.drill.judge import judge
from runtime.examples.aftersales.drill.play import Wanted, drilling
from runtime.examples.aftersales.drill.servers import open_servers
from runtime.examples.aftersales.drill.verdict import Verdict
from runtime.examples.aftersales.shop.launch import ShopDidNotStartError

TASKS = 60
EVERY_S = 2.0
DURATION_S = 600.0
MOST_TASKS = 10_000
MOST_DIGITS = 10
#: Set in the process that works on the drill's own data folder.
INSIDE = "SIGNALBOX_INSIDE_DRILL"
#: Faults that strike a server, and the address that must then not be somebody else's.
OURS_ONLY = {Kind.DATABASE: "DATABASE_URL", Kind.VALKEY: "VALKEY_URL"}
HELP = (
    "Settle after-sales requests while faults strike workers, database, Valkey, messages and the "
    "shop; then prove that nothing was lost, doubled or stuck."
)


class Command(BaseCommand):
    """Drill and judge."""

    help = HELP
    # It breaks its servers, so it has its own, in a data folder of its own.
    needs_services = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        kinds = ",".join(Kind)
        parser.add_argument("--tasks", type=_whole(1, MOST_TASKS), default=TASKS, metavar="N")
        parser.add_argument(
            "--faults", type=_kinds, default=frozenset(Kind), metavar="KINDS", help=kinds
        )
        parser.add_argument(
            "--every", type=_seconds, default=EVERY_S, metavar="S", help="from fault to fault"
        )
        parser.add_argument("--seed", type=_whole(0, 2**31), default=1, metavar="N")
        parser.add_argument(
            "--duration", type=_seconds, default=DURATION_S, metavar="S", help="at the longest"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Drill, judge, print; the status is 1 where an invariant did not hold."""
        wanted = Wanted(
            options["tasks"],
            options["faults"],
            options["every"],
            options["seed"],
            options["duration"],
        )
        _refuse_foreign_servers(wanted.kinds)
        if not os.environ.get("DATABASE_URL") and not os.environ.get(INSIDE):
            _go_inside()
        with _alone(Path(settings.SIGNALBOX_DATA_DIR)):
            try:
                verdict = _drill(wanted)
            except ShopDidNotStartError as error:
                raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(verdict.as_json()))
        else:
            show.print_verdict(Console(), verdict)
        if not verdict.held:
            sys.exit(1)


def _drill(wanted: Wanted) -> Verdict:
    with open_servers(os.environ) as servers:
        try:
            if not os.environ.get("DATABASE_URL"):
                call_command("migrate", interactive=False, verbosity=0)
            with drilling(wanted, servers) as drill:
                with show.live(Console(stderr=True)) as display:
                    drill.act(display)
                drill.field.stage.close()
                return judge(drill)
        finally:
            connections.close_all()


def _refuse_foreign_servers(kinds: frozenset[Kind]) -> None:
    for kind, variable in OURS_ONLY.items():
        if kind in kinds and os.environ.get(variable):
            message = f"{variable} names a server that is not the drill's own to break: "
            raise CommandError(message + f"unset it, or leave {kind} out of --faults")
    if Kind.BROKER in kinds and settings.BROKER_URL.startswith("amqp"):
        message = "messages can be stolen from Valkey only: leave broker out of --faults"
        raise CommandError(message)


def _go_inside() -> None:
    """Begin anew on the drill's own data folder; the process stays the same."""
    own = {"SIGNALBOX_DATA_DIR": str(Path(settings.SIGNALBOX_DATA_DIR) / "drill"), INSIDE: "1"}
    command = [sys.executable, *sys.argv]
    os.execve(sys.executable, command, {**os.environ, **own})  # noqa: S606 (ourselves)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Make sure that no other drill breaks the same servers."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "drill.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            message = f"another drill is under way on {folder}: wait for its end"
            raise CommandError(message) from error
        yield


def _kinds(text: str) -> frozenset[Kind]:
    words = {word.strip() for word in text.split(",") if word.strip()}
    unknown = sorted(words - set(Kind))
    if unknown or not words:
        message = f"{', '.join(unknown) or text!r} is no kind of fault: use {','.join(Kind)}"
        raise ArgumentTypeError(message)
    return frozenset(Kind(word) for word in words)


def _whole(least: int, most: int) -> Any:
    def read(text: str) -> int:
        digits = text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS
        if not (digits and least <= int(text) <= most):
            message = f"{text[:20]!r} is no number from {least} to {most:,}"
            raise ArgumentTypeError(message)
        return int(text)

    return read


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:  # noqa: PLR2004 (days)
        message = f"{text[:20]!r} is no number of seconds above 0"
        raise ArgumentTypeError(message)
    return value
