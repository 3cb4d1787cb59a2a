"""One command to a living system: fresh, interrupted, started again, and nothing left behind."""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest

from console.embedded.places import Places, database_url
from console.supervisor.listening import free_port, listen

PROJECT = Path(__file__).resolve().parents[2]
MARK = "SIGNALBOX_TEST_MARK"
DEADLINE_S = 90.0
pytestmark = pytest.mark.timeout(240)


class Up:
    """`up` on a data folder of its own, and what it has printed so far."""

    def __init__(self, process: "subprocess.Popen[bytes]", folder: Path, port: int) -> None:
        self.process = process
        self.folder = folder
        self.address = f"http://127.0.0.1:{port}"
        self.text = ""

    def wait_for(self, pattern: str) -> str:
        """Read on until a line matches; gives the first group, or the line."""
        deadline = time.monotonic() + DEADLINE_S
        while (found := re.search(pattern, self.text)) is None:
            assert time.monotonic() < deadline, self.text
            assert self._read(), self.text
        return found.group(found.re.groups and 1)

    def end(self, *numbers: signal.Signals) -> int:
        """Send signals, read to the end; gives the exit status."""
        for number in numbers:
            self.process.send_signal(number)
        while self._read():
            pass
        return self.process.wait(DEADLINE_S)

    def children(self) -> dict[str, psutil.Process]:
        """Its processes by their command."""
        found = psutil.Process(self.process.pid).children()
        return {child.cmdline()[2]: child for child in found if len(child.cmdline()) > 2}

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Ask its database."""
        with psycopg.connect(database_url(self.folder), autocommit=True) as connection:
            return connection.execute(query.encode()).fetchall()

    def _read(self) -> bool:
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], DEADLINE_S)[0]:
            return False
        chunk = os.read(self.process.stdout.fileno(), 65_536)
        self.text += chunk.decode()
        return bool(chunk)


class House:
    """A data folder on which `up` is started, again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = uuid.uuid4().hex
        names = {"DATABASE_URL", "VALKEY_URL", "BROKER_URL", "DATABASE_DIRECT_URL"}
        self.environ = {name: value for name, value in os.environ.items() if name not in names}
        self.environ |= {"SIGNALBOX_DATA_DIR": str(folder), MARK: self.mark}

    @contextmanager
    def up(self, *arguments: str) -> Iterator[Up]:
        port = free_port()
        with self._start("up", "--port", str(port), *arguments) as process:
            try:
                yield Up(process, self.folder, port)
            finally:
                process.kill()

    def refused(self, *arguments: str) -> tuple[int, str]:
        """Run a command that does not start; gives status and what it said."""
        with self._start(*arguments) as process:
            out, _ = process.communicate(timeout=DEADLINE_S)
        return process.returncode, out.decode()

    def left(self) -> list[str]:
        """What still lives of it: processes with its mark, servers on its folder, sockets."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                line = " ".join(process.cmdline())
                is_ours = process.environ().get(MARK) == self.mark
                is_server = str(Places.of(self.folder).socket_dir) in line
                if is_ours or is_server:
                    found.append(line)
        sockets = Places.of(self.folder).socket_dir
        return found + ([str(sockets)] if sockets.exists() else [])

    def _start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, str(PROJECT / "manage.py"), *arguments],
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == made.mark:
                process.kill()
    for server in ("postgres", "valkey"):  # root's lie outside pytest's closed folder
        shutil.rmtree((tmp_path / server).resolve(), ignore_errors=True)


def eventually(holds: Callable[[], Any]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)


def _status(address: str) -> int:
    return httpx.get(address, timeout=10, trust_env=False).status_code


def test_a_fresh_folder_becomes_a_living_system_and_ends_without_a_trace(house: House) -> None:
    with house.up() as up:
        up.wait_for(r"the console is at (\S+)")
        link = up.wait_for(r"signs in once by this link: (\S+)")

        assert _status(f"{up.address}/healthz") == 200
        assert link.startswith(up.address)
        assert _status(link) == 200
        finished = "SELECT count(*) FROM runtime_task WHERE state = 'terminated_success'"
        eventually(lambda: up.rows(finished)[0][0] >= 3)
        assert up.end(signal.SIGINT) == 0
    assert house.left() == []

    with house.up() as again:
        again.wait_for(r"the console is at (\S+)")
        assert again.rows(finished)[0][0] >= 3
        assert again.end(signal.SIGTERM) == 0
    assert house.left() == []


def test_whoever_dies_is_replaced_and_whoever_hangs_does_not_hold_the_end_up(house: House) -> None:
    with house.up("--processes", "1") as up:
        up.wait_for(r"the console is at (\S+)")
        # The console is there first; the others follow while it answers already.
        eventually(lambda: {"sweep", "worker"} <= up.children().keys())
        before = up.children()
        before["sweep"].kill()
        up.wait_for("sweep was killed by SIGKILL; it starts again")
        eventually(lambda: up.children().get("sweep", before["sweep"]).pid != before["sweep"].pid)
        before["worker"].suspend()

        up.process.send_signal(signal.SIGINT)
        up.wait_for("stopping")

        assert up.end(signal.SIGINT) == 0
        assert "worker-1 did not end in time and is killed" in up.text
    assert house.left() == []


def test_a_second_one_on_the_same_folder_or_port_is_refused_in_one_sentence(house: House) -> None:
    with house.up("--no-demo", "--processes", "1") as up:
        up.wait_for(r"the console is at (\S+)")
        sentence = f"Signalbox is already up on {house.folder}: stop that one first, "
        sentence += "or set SIGNALBOX_DATA_DIR to another folder.\n"
        assert house.refused("up", "--port", str(free_port())) == (2, sentence)
        assert up.end(signal.SIGINT) == 0
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        sentence = f"Cannot listen on 127.0.0.1 port {port}: address already in use; "
        sentence += "choose another with --port.\n"
        assert house.refused("up", "--port", str(port)) == (2, sentence)
        assert house.refused("web", "--port", str(port)) == (2, sentence)
    assert house.left() == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--port", "0"], "'0' is no number from 1 to 65535"),
        (["--processes", "x"], "'x' is no number from 1 to 64"),
        (["--threads", "100"], "'100' is no number from 1 to 48"),
    ],
)
def test_a_wrong_number_is_refused_in_one_sentence(
    house: House, arguments: list[str], problem: str
) -> None:
    status, said = house.refused("up", *arguments)

    assert status == 2
    assert problem in said
    assert said.count("\n") == 1
    assert house.left() == []


def test_elsewhere_than_on_a_terminal_log_lines_stay_json(house: House) -> None:
    with house.up("--processes", "1") as up:
        line = up.wait_for(r"worker-1 +\| (\{.*\})")

        assert json.loads(line)["level"]
        assert up.end(signal.SIGINT) == 0
