"""The main job, as a newcomer starts it: real processes, a real shop, a worker killed."""

import json
import signal
import subprocess
import sys
import time
import uuid
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from runtime.examples.aftersales.management.commands.demo import _number
from runtime.models import Task

PROJECT = Path(__file__).resolve().parents[2]
MARK = "SIGNALBOX_TEST_MARK"
DEADLINE_S = 60.0
#: The database of the session is emptied after each test: the demo's rows are committed.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]


@dataclass
class Demo:
    """A demo with a mark in its environment, which everything it starts inherits."""

    env: dict[str, str]

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, str(PROJECT / "manage.py"), "demo", *arguments],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=150)
        return process.returncode, out, err

    def left(self) -> list[str]:
        """The command lines of living processes that carry the mark."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == self.env[MARK]:
                    found.append(" ".join(process.cmdline()))
            except psutil.Error:
                continue
        return found


@pytest.fixture
def demo(child_environ: dict[str, str], tmp_path: Path) -> Iterator[Demo]:
    """The command on the services of this session, with its logs in a folder of its own."""
    own = {"SIGNALBOX_DATA_DIR": str(tmp_path), MARK: uuid.uuid4().hex}
    command = Demo({**child_environ, **own})
    yield command
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == own[MARK]:
                process.kill()
        except psutil.Error:
            continue


def eventually(holds: Callable[[], Any]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)


def test_every_request_is_settled_as_the_books_say_although_a_worker_is_killed(
    demo: Demo,
) -> None:
    status, out, err = demo.run("--tasks", "8", "--approve", "--json")

    verdict = json.loads(out)
    assert (status, err, verdict["failures"]) == (0, "", [])
    assert verdict["terminal"] == verdict["tasks"] == 8
    assert verdict["states"] == {"terminated_success": 8}
    assert verdict["effects_seen"] == verdict["effects_expected"] == 13
    assert [verdict[name] for name in ("duplicates", "lost", "stuck", "fold_mismatches")] == [0] * 4
    assert verdict["killed_worker"]["held"] >= 1
    assert verdict["killed_worker"]["recovered_s"] > 0
    assert verdict["answered"]["in_doubt"] >= 2
    assert demo.left() == []


def test_without_a_robot_person_what_waits_is_listed_and_counts_as_fine(demo: Demo) -> None:
    status, out, err = demo.run("--tasks", "3")

    waiting = list(Task.objects.filter(state="waiting_human").values_list("id", flat=True))
    assert (status, err) == (0, "")
    assert waiting
    assert all(str(task_id) in out for task_id in waiting)
    assert "Every invariant held" in out
    assert demo.left() == []


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_however_it_is_ended_in_the_middle_no_process_is_left(
    demo: Demo, number: signal.Signals, status: int
) -> None:
    process = demo.start("--tasks", "500", "--approve", "--json")
    eventually(Task.objects.filter(owner__isnull=False).exists)

    process.send_signal(number)

    out, _ = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, out) == (status, "")
    if number == signal.SIGKILL:
        eventually(lambda: not demo.left())
    assert demo.left() == []


def test_a_number_of_tasks_that_is_none_is_refused_in_one_sentence(demo: Demo) -> None:
    status, out, err = demo.run("--tasks=0")

    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert "'0' is no number of tasks: use one from 1 to 100,000" in err


@pytest.mark.parametrize("text", ["0", "-1", "100001", "1e3", "٣", ""])
def test_only_a_number_from_one_to_a_hundred_thousand_is_one_of_tasks(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is no number of tasks"):
        _number(text)
