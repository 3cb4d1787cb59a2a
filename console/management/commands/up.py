"""``manage.py up``: everything on one machine, until Ctrl-C."""

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connections

from console import embedded
from console.embedded.locks import alone
from console.embedded.places import Places, make_data_dir
from console.entry import migrate_once
from console.supervisor import plan
from console.supervisor.errors import AlreadyUp
from console.supervisor.listening import answers, check_free, free_port
from console.supervisor.output import Printer
from console.supervisor.supervise import Supervisor
from console.supervisor.watch import Watch, folders_of

MOST_PROCESSES = 64
#: A worker takes no more.
MOST_THREADS = 48


class Command(BaseCommand):
    """Start the services, the console, workers, the sweep and the demo; restart what ends."""

    help = "Run everything on this machine until Ctrl-C: services, console, workers, sweep, demo."
    # It asks for its services itself, once it is clear that it may start.
    needs_services = False
    # They would load every page, which takes longer than all else here.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1")
        parser.add_argument("--port", type=_port, default=8000, help="default: 8000")
        parser.add_argument(
            "--processes", type=_processes, default=2, metavar="N", help="workers; default: 2"
        )
        parser.add_argument(
            "--threads", type=_threads, default=8, metavar="N", help="of each worker; default: 8"
        )
        parser.add_argument("--no-demo", action="store_true", help="without the demo shop")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Run until told to stop."""
        places = Places.of(settings.SIGNALBOX_DATA_DIR)
        make_data_dir(places.data_dir)
        with alone(places.data_dir / "up.lock") as is_alone:
            if not is_alone:
                raise AlreadyUp(str(places.data_dir))
            check_free(options["host"], options["port"])
            wanted = plan.Wanted(
                host=options["host"],
                port=options["port"],
                processes=options["processes"],
                threads=options["threads"],
                shop_port=None if options["no_demo"] else free_port(),
            )
            with embedded.ensure(os.environ) as services:
                self._run(wanted, services)

    def _run(self, wanted: plan.Wanted, services: embedded.Services) -> None:
        specs = list(plan.specs(wanted))
        printer = Printer(sys.stdout, [spec.name for spec in specs])
        try:
            migrate_once()
        finally:
            connections.close_all()
        supervisor = Supervisor(
            specs,
            plan.environ(os.environ, services.environ(), wanted),
            printer,
            Watch(folders_of(settings.SIGNALBOX_APPS)),
            _announcement(wanted, printer),
        )
        supervisor.run()


def _announcement(wanted: plan.Wanted, printer: Printer) -> Callable[[], None]:
    """Tell where the console is once it answers, and only once."""
    said = False

    def announce() -> None:
        nonlocal said
        if said or not answers(wanted.host, wanted.port):
            return
        said = True
        printer.say(f"the console is at {wanted.address} (Ctrl-C stops everything)")
        link = _sign_in_link(wanted.address)
        if link:
            printer.say(f"the first administrator signs in once by this link: {link}")

    return announce


def _sign_in_link(address: str) -> str | None:
    # Loaded only now, with all pages, while nobody waits for us any more.
    from console.signin import first_admin_link

    try:
        return first_admin_link(address)
    finally:
        connections.close_all()


def _processes(text: str) -> int:
    return _within(text, 1, MOST_PROCESSES)


def _threads(text: str) -> int:
    return _within(text, 1, MOST_THREADS)


def _port(text: str) -> int:
    return _within(text, 1, 65_535)


def _within(text: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and least <= int(text) <= most):  # noqa: PLR2004 (digits)
        message = f"{text[:20]!r} is no number from {least} to {most}"
        raise ArgumentTypeError(message)
    return int(text)
