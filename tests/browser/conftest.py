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
import pytest
from django.conf import settings
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

import tests.agents_for_browser.agents as _agents  # noqa: F401 (known here, too: tests submit)
from console import signin
from console.access import lay_roles

PROJECT = Path(__file__).resolve().parents[2]
CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
PATIENCE_S = 30.0
expect.set_options(timeout=PATIENCE_S * 1000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what stands here, and leave it out with one line where there is no browser."""
    for item in items:
        if PROJECT / "tests" / "browser" in item.path.parents:
            item.add_marker("browser")
            item.add_marker(pytest.mark.timeout(180))


class Processes:
    """The processes of one test; ended when it is over, whatever happened.

    Args:
        environ: Their environment.
        logs: Where what they say goes.
    """

    def __init__(self, environ: dict[str, str], logs: Path) -> None:
        self.port = _free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self._environ = environ
        self._logs = logs
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start `manage.py` with these arguments."""
        with (self._logs / f"{arguments[0]}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, str(PROJECT / "manage.py"), *arguments],
                cwd=PROJECT,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._running.append(process)
        return process

    def start_web(self) -> subprocess.Popen[bytes]:
        """Start the web server and wait until it answers."""
        process = self.start("web", "--port", str(self.port))
        until_s, never = time.monotonic() + PATIENCE_S, threading.Event()
        while not _answers(self.address):
            assert process.poll() is None, (self._logs / "web.log").read_text()
            assert time.monotonic() < until_s, "the web server did not come up"
            never.wait(0.05)
        return process

    def start_workers(self) -> None:
        """Start a worker and a sweep."""
        self.start("worker")
        self.start("sweep")

    def end(self) -> None:
        """End them all, the last one first."""
        for process in reversed(self._running):
            process.terminate()
        for process in reversed(self._running):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture(scope="module")
def chromium(django_db_setup: None) -> Iterator[Browser]:
    """The browser; its absence skips here and fails where everything must hold.

    Not of the whole session: while it is open a loop runs on this thread, in which Django sees a
    coroutine that must not wait for a database.
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


@pytest.fixture
def processes(
    chromium: Browser,
    transactional_db: None,
    child_environ: dict[str, str],
    tmp_path: Path,
) -> Iterator[Processes]:
    """Web is up; workers are started by the test when it wants tasks to move."""
    lay_roles()
    own = {
        "SIGNALBOX_APPS": "tests.agents_for_browser",
        "PYTHONPATH": str(PROJECT),
        # Links are signed here and redeemed there.
        "SECRET_KEY": settings.SECRET_KEY,
    }
    running = Processes({**child_environ, **own}, tmp_path)
    try:
        running.start_web()
        yield running
    finally:
        running.end()


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
    """A page on which the first administrator is signed in by the link."""
    opened = new_page()
    link = signin.first_admin_link(processes.address)
    assert link is not None
    opened.goto(link)
    opened.get_by_role("button", name="Sign in as admin").click()
    expect(opened).to_have_url(re.compile(r":\d+/$"))
    return opened


_EXPECTED = re.compile(r"WebSocket connection to|Failed to load resource|^htmx:(send|after)")


def _complain(complaints: list[str], kind: str, text: str) -> None:
    # What a page says when its server is away is what some tests are about.
    if kind == "error" and not _EXPECTED.search(text):
        complaints.append(text)


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
