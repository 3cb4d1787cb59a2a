"""``manage.py screenshots FOLDER``: pictures of every page, of a demo that is made for them."""

import os
import shutil
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from console import embedded
from console.bench import pictures
from console.bench.web import signed_in
from console.entry import migrate_once
from console.supervisor.listening import answers, free_port
from runtime import api

#: Set in the process that works on the pictures' own data folder.
INSIDE: Final = "SIGNALBOX_INSIDE_PICTURES"
AGENT: Final = "aftersales"
ACCOUNT: Final = "maria"
TASKS: Final = 40
_PATIENCE_S: Final = 120.0


class Command(BaseCommand):
    """Make a demo in a data folder of its own and take pictures of it at work."""

    help = "Take pictures of every page (light, dark, phone) of a demo made for it."
    needs_services = False
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("folder", type=Path, help="where the pictures go")
        parser.add_argument("--chromium", default=shutil.which("chromium"), metavar="PROGRAM")
        parser.add_argument("--seconds", type=float, default=40.0, help="the demo runs before")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Make the demo, run it, take the pictures."""
        folder: Path = options["folder"].resolve()
        _go_inside_unless_there()
        try:
            from playwright.sync_api import sync_playwright
        except ImportError as error:
            message = "pictures are taken with Playwright, one of the tools for development"
            raise CommandError(message) from error
        with embedded.ensure(os.environ):
            try:
                migrate_once()
                known = pictures.samples(AGENT)
                if "review" not in known:
                    _run("demo", "--tasks", str(TASKS), "--json")
                    _have_a_person_act()
                with _at_work(options["seconds"]) as address, sync_playwright() as playwright:
                    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # its loop is on this thread
                    browser = playwright.chromium.launch(
                        executable_path=options["chromium"], args=["--no-sandbox"]
                    )
                    known = pictures.samples(AGENT)
                    cookies = signed_in(ACCOUNT)
                    for file in pictures.take(browser, address, cookies, folder, known):
                        self.stdout.write(str(file))
                    browser.close()
            finally:
                connections.close_all()


def _go_inside_unless_there() -> None:
    """Begin anew on the pictures' own data folder; the process stays the same."""
    if os.environ.get(INSIDE):
        return
    if os.environ.get("DATABASE_URL"):
        message = "DATABASE_URL names a database that is no place for a demo: unset it"
        raise CommandError(message)
    own = {"SIGNALBOX_DATA_DIR": str(Path(settings.SIGNALBOX_DATA_DIR) / "pictures"), INSIDE: "1"}
    command = [sys.executable, *sys.argv]
    os.execve(sys.executable, command, {**os.environ, **own})  # noqa: S606 (ourselves)


def _have_a_person_act() -> None:
    """Pause one task and cancel two, as people do."""
    waiting = api.tasks(state="waiting_human", agent=AGENT).rows
    actor = f"human:{ACCOUNT}"
    for task, lever, reason in zip(
        waiting,
        (api.pause, api.cancel, api.cancel),
        ("Waiting for the bank to answer", "The customer withdrew it", "Sent twice by the shop"),
        strict=False,
    ):
        lever(task.id, reason=reason, by=actor)


def _manage(*arguments: str) -> list[str]:
    return [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]


def _run(*arguments: str) -> None:
    done = subprocess.run(_manage(*arguments), capture_output=True, text=True, check=False)
    if done.returncode:
        message = f"{' '.join(arguments)} did not hold: {done.stderr.strip()[-400:]}"
        raise CommandError(message)


@contextmanager
def _at_work(seconds: float) -> Iterator[str]:
    """Run everything for some time, then give the console's address."""
    port = free_port()
    process = subprocess.Popen(_manage("up", "--port", str(port)), stdout=subprocess.DEVNULL)
    until_s = time.monotonic() + _PATIENCE_S
    try:
        while not answers("127.0.0.1", port):
            if time.monotonic() > until_s or process.poll() is not None:
                message = "the console did not come up"
                raise CommandError(message)
            time.sleep(0.2)
        time.sleep(seconds)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)
