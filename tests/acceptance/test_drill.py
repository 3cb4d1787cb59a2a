"""The drill on its own servers: all faults, one short seed; and what it refuses to break."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from console.embedded.places import Places
from tests.support.engine import eventually

PROJECT = Path(__file__).resolve().parents[2]
MARK = "SIGNALBOX_TEST_MARK"
KEYS = {
    *("tasks", "terminal", "steps", "effects_expected", "effects_seen", "duplicates", "lost"),
    *("stuck", "fold_mismatches", "answered", "faults", "recovery_s", "fence_refusals"),
}
ADDRESSES = {"DATABASE_URL", "VALKEY_URL", "BROKER_URL", "DATABASE_DIRECT_URL"}
pytestmark = pytest.mark.timeout(400)


class House:
    """A data folder for drills, and a mark on all that they start."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = uuid.uuid4().hex
        self.environ = {name: val for name, val in os.environ.items() if name not in ADDRESSES}
        self.environ |= {"SIGNALBOX_DATA_DIR": str(folder), MARK: self.mark}

    def start(self, *arguments: str, **environ: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, str(PROJECT / "manage.py"), "drill", *arguments],
            env=self.environ | environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **environ: str) -> tuple[int, str, str]:
        process = self.start(*arguments, **environ)
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    def left(self) -> list[str]:
        """What still lives of it: processes with its mark, servers on its folder."""
        found = []
        sockets = Places.of(self.folder / "drill").socket_dir
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                line = " ".join(process.cmdline())
                if process.environ().get(MARK) == self.mark or str(sockets) in line:
                    found.append(line)
        return found + ([str(sockets)] if sockets.exists() else [])


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == made.mark:
                process.kill()
    for server in ("postgres", "valkey"):  # root's lie outside pytest's closed folder
        shutil.rmtree((tmp_path / "drill" / server).resolve(), ignore_errors=True)


def test_all_faults_together_lose_double_and_strand_nothing(house: House) -> None:
    status, out, err = house.run("--tasks", "16", "--every", "1", "--seed", "8", "--json")

    verdict = json.loads(out)
    assert (status, verdict["failures"]) == (0, []), err
    assert verdict.keys() >= KEYS
    assert verdict["terminal"] == verdict["tasks"] == 16
    assert verdict["effects_seen"] == verdict["effects_expected"]
    assert [verdict[name] for name in ("duplicates", "lost", "stuck", "fold_mismatches")] == [0] * 4
    assert all(verdict["faults"].values())
    assert set(verdict["recovery_s"]) == {"p50", "p95", "max"}
    assert house.left() == []


def test_ended_in_the_middle_it_leaves_no_process_and_no_server(house: House) -> None:
    process = house.start("--tasks", "50", "--every", "0.5", "--json")
    log = house.folder / "drill" / "demo"
    deadline = time.monotonic() + 60
    while not list(log.glob("*/sweep.log")):
        assert time.monotonic() < deadline, "no process was started"
        time.sleep(0.05)

    process.send_signal(signal.SIGINT)

    out, err = process.communicate(timeout=90)
    assert (process.returncode, out) == (130, ""), err
    # One that was just being started ends by its leash, a moment after the drill.
    eventually(lambda: house.left() == [], what=house.left)


@pytest.mark.parametrize(
    ("variable", "address", "kind"),
    [
        ("DATABASE_URL", "postgresql://somebody@elsewhere/else", "database"),
        ("VALKEY_URL", "redis://elsewhere:6379/0", "valkey"),
    ],
)
def test_servers_of_others_are_never_broken(
    house: House, variable: str, address: str, kind: str
) -> None:
    status, out, err = house.run(f"--faults=worker,{kind}", **{variable: address})

    sentence = f"{variable} names a server that is not the drill's own to break: "
    assert (status, out) == (2, "")
    assert err == f"{sentence}unset it, or leave {kind} out of --faults\n"
    assert house.left() == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--faults", "worker,flood"], "'flood' is no kind of fault: use worker,term,pause,"),
        (["--tasks", "0"], "'0' is no number from 1 to 10,000"),
        (["--every", "nan"], "'nan' is no number of seconds above 0"),
    ],
)
def test_a_wrong_argument_is_refused_in_one_sentence(
    house: House, arguments: list[str], problem: str
) -> None:
    status, out, err = house.run(*arguments)

    assert (status, out, err.count("\n")) == (2, "", 1)
    assert problem in err
