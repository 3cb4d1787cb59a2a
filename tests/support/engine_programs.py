"""Real `manage.py` processes of a test, and servers of its own that it may break."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg
from django.db import connection

from console import embedded
from runtime.store.tasks import forget_keys
from tests.support.engine import PATIENCE_S, Site, eventually
from tests.support.engine_agents.hands import TABLES

PROJECT = Path(__file__).resolve().parents[2]


class Program:
    """One `manage.py` process; what it says goes to a file."""

    def __init__(self, arguments: list[str], environ: Mapping[str, str], log: Path) -> None:
        self._log = log.open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", *arguments],
            cwd=PROJECT,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def stop(self, timeout_s: float = PATIENCE_S) -> int:
        """End it in good order; gives its exit status."""
        self.process.terminate()
        return self.wait(timeout_s)

    def wait(self, timeout_s: float = PATIENCE_S) -> int:
        """Wait for its end; gives its exit status."""
        return self.process.wait(timeout_s)

    def end(self) -> None:
        """End it whatever it does."""
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()
        self._log.close()

    def memory_mb(self) -> float:
        """Resident memory of it and everything it has started."""
        family = [psutil.Process(self.pid), *psutil.Process(self.pid).children(recursive=True)]
        return sum(one.memory_info().rss for one in family) / 1024**2


class Programs:
    """The processes of a test; a context manager that ends them."""

    def __init__(self, site: Site, folder: Path) -> None:
        self._site = site
        self._folder = folder
        self._running: list[Program] = []

    def worker(self, **environ: str) -> Program:
        """Start a worker and wait until it lives."""
        program = self._start("worker", "--queues", self._site.queue, "--threads", "4", **environ)
        living = "SELECT count(*) FROM runtime_worker WHERE pid = %s AND state = 'running'"
        eventually(lambda: self._site.count(living, program.pid), 60)
        return program

    def sweep(self, **environ: str) -> Program:
        """Start a sweep."""
        return self._start("sweep", **environ)

    def end(self) -> None:
        """End all of them."""
        for program in self._running:
            program.end()
        self._running.clear()

    def said(self) -> str:
        """What all of them have said, for the message of a failure."""
        return "\n".join(file.read_text()[-3000:] for file in sorted(self._folder.glob("*.log")))

    def _start(self, *arguments: str, **environ: str) -> Program:
        log = self._folder / f"{arguments[0]}-{len(self._running)}.log"
        program = Program(list(arguments), {**self._site.environ, **environ}, log)
        self._running.append(program)
        return program


@contextmanager
def servers_of_our_own(data_dir: Path) -> Iterator[embedded.Services]:
    """Start servers that nobody else uses, with every table."""
    environ = {name: text for name, text in os.environ.items() if name not in _ADDRESSES}
    with embedded.ensure({**environ, "SIGNALBOX_DATA_DIR": str(data_dir)}) as services:
        at = {**environ, **services.environ()}
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "-v", "0"],
            cwd=PROJECT,
            env=at,
            check=True,
            timeout=60,
        )
        with psycopg.connect(at["DATABASE_URL"], autocommit=True) as raw:
            for statement in TABLES:
                raw.execute(statement.encode())
        yield services


@contextmanager
def used(services: embedded.Services) -> Iterator[None]:
    """Have this process use other servers meanwhile."""
    kept = _use(_settings_of(services.environ()["DATABASE_URL"]))
    try:
        yield
    finally:
        _use(kept)


_ADDRESSES = {"DATABASE_URL", "DATABASE_DIRECT_URL", "VALKEY_URL", "BROKER_URL"}


def _settings_of(address: str) -> dict[str, Any]:
    from console.env import database

    return dict(database("DATABASE_URL", address))


def _use(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Point Django's connection of this process elsewhere; gives where it pointed before."""
    forget_keys()
    connection.close()
    before = {name: connection.settings_dict[name] for name in settings}
    connection.settings_dict.update(settings)
    return before
