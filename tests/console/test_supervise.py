"""The supervisor behind `up`: it restarts what ends, stops in order, and leaves nothing behind."""

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from console.supervisor import plan
from console.supervisor.backoff import CAP_S, FIRST_S, HEALTHY_S, Backoff
from console.supervisor.output import ending, readable
from console.supervisor.watch import Watch, folders_of, unreadable

PROJECT = Path(__file__).resolve().parents[2]
MARK = "SIGNALBOX_TEST_MARK"
DEADLINE_S = 30.0

# What is supervised: says hello with its process id, then lives as its arguments say.
CHILD = """
import os, signal, subprocess, sys, time
ways = sys.argv[1:]

def bye(*_):
    print("bye", flush=True)
    sys.exit(0)

signal.signal(signal.SIGTERM, signal.SIG_IGN if "stubborn" in ways else bye)
if "parent" in ways:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
print("hello", os.getpid(), flush=True)
if "short" in ways:
    sys.exit(3)
while True:
    time.sleep(0.05)
"""

SUPERVISOR = """
import os, sys
from pathlib import Path
from console.supervisor.child import Spec
from console.supervisor.output import Printer
from console.supervisor.supervise import Supervisor
from console.supervisor.watch import Watch

program, folder, *words = sys.argv[1:]
specs = []
for word in words:
    name, stage, grace_s, *ways = word.split(",")
    specs.append(Spec(name, ways, int(stage), float(grace_s), reloads="reloads" in ways))
printer = Printer(sys.stdout, [spec.name for spec in specs])
Supervisor(specs, os.environ, printer, Watch([Path(folder)]), program=Path(program)).run()
"""


class Supervised:
    """A supervisor in a process of its own, and what it has printed so far."""

    def __init__(self, process: "subprocess.Popen[bytes]", mark: str) -> None:
        self.process = process
        self.mark = mark
        self.text = ""

    def wait_for(self, pattern: str, times: int = 1) -> list[str]:
        """Read on until the pattern has come so often; gives its first groups."""
        deadline = time.monotonic() + DEADLINE_S
        while len(found := re.findall(pattern, self.text)) < times:
            assert time.monotonic() < deadline, self.text
            assert self._read(), self.text
        return found

    def end(self) -> int:
        """Read to the end; gives the exit status."""
        while self._read():
            pass
        return self.process.wait(DEADLINE_S)

    def left(self) -> list[int]:
        """The living processes that came from it."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get(MARK) == self.mark and process.pid != self.process.pid:
                    found.append(process.pid)
        return found

    def _read(self) -> bool:
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], DEADLINE_S)[0]:
            return False
        chunk = os.read(self.process.stdout.fileno(), 65_536)
        self.text += chunk.decode()
        return bool(chunk)


@contextmanager
def supervised(folder: Path, *children: str) -> Iterator[Supervised]:
    program = folder / "child.py"
    program.write_text(CHILD)
    modules = folder / "modules"
    modules.mkdir()
    (modules / "agents.py").write_text("TEXT = 1\n")
    mark = str(folder)
    with subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, str(program), str(modules), *children],
        cwd=PROJECT,
        env={**os.environ, MARK: mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        running = Supervised(process, mark)
        try:
            yield running
        finally:
            process.kill()
            for pid in running.left():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def test_a_child_that_is_killed_is_started_again_and_one_line_says_so(tmp_path: Path) -> None:
    with supervised(tmp_path, "worker-1,1,5") as up:
        (pid,) = up.wait_for(r"worker-1 \| hello (\d+)")

        os.kill(int(pid), signal.SIGKILL)

        again = up.wait_for(r"worker-1 \| hello (\d+)", times=2)
        assert again[1] != pid
        assert "worker-1 was killed by SIGKILL; it starts again in 0.5 s" in up.text


def test_a_child_that_ends_at_once_is_started_less_and_less_often(tmp_path: Path) -> None:
    with supervised(tmp_path, "web,0,5,short") as up:
        waits = up.wait_for(r"web ended with status 3; it starts again in (\S+) s", times=3)

    assert waits == ["0.5", "1", "2"]


def test_children_are_stopped_stage_by_stage(tmp_path: Path) -> None:
    """Nobody new comes in, then the work is given back, then those who look after it end."""
    with supervised(tmp_path, "sweep,2,5", "web,0,5", "worker-1,1,5") as up:
        up.wait_for("hello", times=3)

        up.process.send_signal(signal.SIGINT)

        assert up.end() == 0
        assert re.findall(r"(\S+) +\| bye", up.text) == ["web", "worker-1", "sweep"]
        assert up.left() == []


def test_a_child_that_hangs_is_killed_when_its_time_is_over(tmp_path: Path) -> None:
    with supervised(tmp_path, "worker-1,1,0.3,stubborn", "worker-2,1,30") as up:
        up.wait_for("hello", times=2)

        up.process.send_signal(signal.SIGTERM)

        assert up.end() == 0
        assert "worker-1 did not end in time and is killed" in up.text
        assert "worker-2 | bye" in up.text
        assert up.left() == []


def test_a_child_that_stands_still_is_killed_too(tmp_path: Path) -> None:
    with supervised(tmp_path, "worker-1,1,0.3") as up:
        (pid,) = up.wait_for(r"hello (\d+)")
        os.kill(int(pid), signal.SIGSTOP)

        up.process.send_signal(signal.SIGTERM)

        assert up.end() == 0
        assert up.left() == []


def test_told_twice_it_waits_for_nobody(tmp_path: Path) -> None:
    with supervised(tmp_path, "web,0,600,stubborn", "worker-1,1,600,stubborn") as up:
        up.wait_for("hello", times=2)
        up.process.send_signal(signal.SIGINT)
        up.wait_for("stopping; once more to stop at once")

        up.process.send_signal(signal.SIGINT)

        assert up.end() == 0
        assert up.left() == []


def test_what_a_killed_child_left_behind_is_ended_with_the_rest(tmp_path: Path) -> None:
    with supervised(tmp_path, "worker-1,1,5,parent") as up:
        (pid,) = up.wait_for(r"hello (\d+)")
        os.kill(int(pid), signal.SIGKILL)
        up.wait_for("hello", times=2)

        up.process.send_signal(signal.SIGTERM)

        assert up.end() == 0
        assert up.left() == []


def test_children_end_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    with supervised(tmp_path, "worker-1,1,5") as up:
        (pid,) = up.wait_for(r"hello (\d+)")
        child = psutil.Process(int(pid))

        up.process.kill()

        _, alive = psutil.wait_procs([child], DEADLINE_S)
        assert not alive


def test_a_reader_that_goes_away_ends_it_in_good_order(tmp_path: Path) -> None:
    with supervised(tmp_path, "web,0,5,short") as up:
        up.wait_for("hello")
        assert up.process.stdout is not None

        up.process.stdout.close()

        assert up.process.wait(DEADLINE_S) == 0
        assert up.left() == []


def test_changed_modules_restart_what_holds_them_and_broken_ones_do_not(tmp_path: Path) -> None:
    with supervised(tmp_path, "worker-1,1,5,reloads", "sweep,2,5") as up:
        up.wait_for("hello", times=2)
        module = tmp_path / "modules" / "agents.py"

        module.write_text("TEXT = (\n")
        up.wait_for(r"not reloaded, \S+agents.py, line 1: ")
        assert up.text.count("hello") == 2
        module.write_text("TEXT = 'two'\n")

        up.wait_for(r"worker-1 \| hello", times=2)
        assert "agents.py has changed" in up.text
        assert up.text.count("sweep    | hello") == 1


# --- the parts ------------------------------------------------------------------------------------


def test_waiting_doubles_up_to_a_cap_and_a_healthy_life_forgives() -> None:
    backoff, waits = Backoff(), []
    for _ in range(10):
        backoff = backoff.after_end(lived_s=0.1)
        waits.append(backoff.wait_s)

    assert waits[:4] == [FIRST_S, 2 * FIRST_S, 4 * FIRST_S, 8 * FIRST_S]
    assert waits[-1] == CAP_S
    assert backoff.after_end(lived_s=HEALTHY_S).wait_s == FIRST_S


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("plain text", "plain text"),
        ("{no json", "{no json"),
        ('{"number": 1}', '{"number": 1}'),
        ('{"event": "task_started", "level": "info", "task_id": "7"}', "task_started task_id=7"),
        ('{"event": "lost", "level": "warning", "logger": "x"}', "WARNING: lost"),
        ('{"event": "bad", "level": "error", "exception": "Tr"}', "ERROR: bad\nTr"),
    ],
)
def test_log_lines_are_made_readable_for_people(line: str, shown: str) -> None:
    assert readable(line) == shown


def test_the_end_of_a_process_is_named() -> None:
    assert ending(2) == "ended with status 2"
    assert ending(-9) == "was killed by SIGKILL"


def test_changes_of_modules_are_seen_once(tmp_path: Path) -> None:
    agents, gone = tmp_path / "agents.py", tmp_path / "gone.py"
    agents.write_text("A = 1\n")
    gone.write_text("B = 1\n")
    watch = Watch([tmp_path])

    agents.write_text("A = 1 + 1\n")
    gone.unlink()
    (tmp_path / "notes.txt").write_text("no module")

    assert watch.changed() == [agents, gone]
    assert watch.changed() == []


def test_apps_are_found_as_modules_and_as_configurations_in_them() -> None:
    names = ["runtime.examples.aftersales", "runtime.examples.aftersales.apps.AftersalesConfig"]

    found = list(folders_of(names))

    assert found == [PROJECT / "runtime" / "examples" / "aftersales"] * 2
    assert unreadable([found[0] / "agents.py"]) is None


def test_the_demo_is_left_out_where_nobody_wants_it() -> None:
    wanted = plan.Wanted("127.0.0.1", 8000, processes=2, threads=4, shop_port=None)

    names = [spec.name for spec in plan.specs(wanted)]

    assert names == ["web", "worker-1", "worker-2", "sweep"]
    assert plan.SHOP_VARIABLE not in plan.environ({}, {}, wanted)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),  # noqa: S104 (nothing listens)
        ("::", "http://[::1]:8000"),
        ("box.example", "http://box.example:8000"),
    ],
)
def test_the_address_is_one_that_a_browser_here_can_open(host: str, address: str) -> None:
    assert plan.Wanted(host, 8000, 1, 1, None).address == address
