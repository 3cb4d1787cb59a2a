"""A real browser against real processes: web, worker and sweep on this session's test services."""

import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

import tests.agents_for_browser.agents as _agents  # noqa: F401 (known here, too: tests submit)
from console import signin
from console.access import lay_roles
from runtime.store.tasks import forget_keys

PROJECT = Path(__file__).resolve().parents[2]
CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
PATIENCE_S = 30.0
_KEY = bytes(range(32))
expect.set_options(timeout=PATIENCE_S * 1000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what stands here, and leave it out with one line where there is no browser."""
    for item in items:
        if PROJECT / "tests" / "browser" in item.path.parents:
            item.add_marker("browser")
            item.add_marker(pytest.mark.timeout(180))


class Web:
    """The web server: it serves one test after the other, and is begun anew where one ended it.

    Args:
        environ: Its environment.
        logs: Where what it says goes.
    """

    def __init__(self, environ: dict[str, str], logs: Path) -> None:
        self.port = _free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.environ = environ
        self._log = logs / "web.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process that serves, or served last."""
        assert self._process is not None
        return self._process

    def serve(self) -> None:
        """Start it unless it serves, and wait until it answers."""
        if self._process is not None and self._process.poll() is None:
            return
        arguments = ("web", "--port", str(self.port))
        self._process = _start(arguments, self.environ, self._log)
        _wait(lambda: _answers(self.address) or self.process.poll() is not None)
        assert self.process.poll() is None, self._log.read_text()

    def rest(self) -> None:
        """Wait until nobody is connected and no statement runs: the tables will be emptied."""
        served = psutil.Process(self.process.pid)
        if self.process.poll() is None:
            _wait(lambda: not (_is_connected(served, self.port) or _statements_run()))

    def end(self) -> None:
        """End it, if it was started."""
        if self._process is not None:
            _end([self._process])


class Processes:
    """The processes of one test: what it starts ends with it, the web server serves on.

    Args:
        web: The web server.
        logs: Where what the others say goes.
    """

    def __init__(self, web: Web, logs: Path) -> None:
        self._web = web
        self._logs = logs
        self._running: list[subprocess.Popen[bytes]] = []
        self.address = web.address

    @property
    def web(self) -> subprocess.Popen[bytes]:
        """The web server; a test may do to it what it likes."""
        return self._web.process

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start `manage.py` with these arguments."""
        log = self._logs / f"{arguments[0]}.log"
        process = _start(arguments, self._web.environ, log)
        self._running.append(process)
        return process

    def start_web(self) -> None:
        """Start the web server again and wait until it answers."""
        self._web.serve()

    def start_workers(self) -> None:
        """Start a worker and a sweep."""
        self.start("worker")
        self.start("sweep")

    def end(self) -> None:
        """End what the test started, and wait until the web server has no work left from it."""
        _end(self._running)
        self._web.rest()


@pytest.fixture(scope="package")
def chromium(django_db_setup: None) -> Iterator[Browser]:
    """The browser; its absence skips here and fails where everything must hold.

    Of this folder and not of the whole session: while it is open a loop runs on this thread, in
    which Django sees a coroutine that must not wait for a database.
    """
    if not CHROMIUM.exists():
        reason = f"no browser at {CHROMIUM}: apt-get install chromium, or set CHROMIUM"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def web(
    chromium: Browser,
    places_of_data: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Web]:
    """The web server of all these tests."""
    own = {
        "SIGNALBOX_APPS": "tests.agents_for_browser",
        "PYTHONPATH": str(PROJECT),
        # Links and sessions are signed here and read there.
        "SECRET_KEY": settings.SECRET_KEY,
    }
    server = Web({**os.environ, **places_of_data, **own}, tmp_path_factory.mktemp("web"))
    yield server
    server.end()


@pytest.fixture
def processes(web: Web, transactional_db: None, tmp_path: Path) -> Iterator[Processes]:
    """Web is up; workers are started by the test when it wants tasks to move."""
    lay_roles()
    _lay_key()
    web.serve()
    running = Processes(web, tmp_path)
    try:
        yield running
    finally:
        running.end()


def _lay_key() -> None:
    """Give tasks the key that the web server may know from an earlier test."""
    forget_keys()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO runtime_namespace (name, digest_key, created_at) "
            "VALUES ('default', %s, runtime_now())",
            [_KEY],
        )


@pytest.fixture
def new_page(chromium: Browser, processes: Processes) -> Iterator[Callable[..., Page]]:
    """Open pages that fail the test when a script fails or the policy refuses something."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def make(**options: Any) -> Page:
        context = chromium.new_context(
            base_url=processes.address, viewport={"width": 1280, "height": 800}, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: _complain(complaints, said.type, said.text))
        return page

    yield make
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def page(new_page: Callable[..., Page], processes: Processes) -> Page:
    """A page, nowhere yet, in whose browser the first administrator is signed in."""
    opened = new_page()
    signin.first_admin_link(processes.address)  # makes the account
    client = Client()
    client.force_login(User.objects.get(username=signin.FIRST_ADMIN), backend=BACKEND)
    name = settings.SESSION_COOKIE_NAME
    value = client.cookies[name].value
    opened.context.add_cookies([{"name": name, "value": value, "url": processes.address}])
    return opened


def painted(page: Page) -> None:
    """Wait until a page has been painted: Chromium drops keys that are pressed before."""
    page.wait_for_function("() => performance.getEntriesByType('paint').length > 0")


_EXPECTED = re.compile(r"WebSocket connection to|Failed to load resource|^htmx:(send|after)")


def _complain(complaints: list[str], kind: str, text: str) -> None:
    # What a page says when its server is away is what some tests are about.
    if kind == "error" and not _EXPECTED.search(text):
        complaints.append(text)


def _start(
    arguments: tuple[str, ...], environ: dict[str, str], said: Path
) -> subprocess.Popen[bytes]:
    with said.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, str(PROJECT / "manage.py"), *arguments],
            cwd=PROJECT,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def _end(running: list[subprocess.Popen[bytes]]) -> None:
    for process in reversed(running):
        process.terminate()
    for process in reversed(running):
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(until: Callable[[], bool]) -> None:
    until_s, never = time.monotonic() + PATIENCE_S, threading.Event()
    while not until():
        assert time.monotonic() < until_s, "waited in vain"
        never.wait(0.02)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/sign-in/login/", timeout=2).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def _is_connected(served: psutil.Process, port: int) -> bool:
    return any(
        one.laddr.port == port and one.status == psutil.CONN_ESTABLISHED
        for one in served.net_connections("tcp")
    )


def _statements_run() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND state <> 'idle'"
        )
        return bool(cursor.fetchone()[0])
