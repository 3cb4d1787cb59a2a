"""The processes of a demo: started again when they end by themselves, gone when it is over."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from runtime.examples.aftersales.stage import MOST_RESTARTS, ChildKeepsDying, Stage

PROJECT = Path(__file__).resolve().parents[3]


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.02)


def test_a_process_that_ends_again_and_again_is_reported_with_its_last_words(
    tmp_path: Path,
) -> None:
    program = tmp_path / "dies.py"
    program.write_text("raise SystemExit('I cannot go on')")
    with Stage(os.environ, tmp_path / "logs", program) as stage:
        child = stage.start("worker-1")
        for _ in range(MOST_RESTARTS):
            eventually(lambda: child.status is not None)
            assert stage.tend() == [child]
        eventually(lambda: child.status is not None)

        with pytest.raises(ChildKeepsDying) as caught:
            stage.tend()

    assert "worker-1 ended with status 1 again and again" in str(caught.value)
    assert "I cannot go on" in str(caught.value)


def test_leaving_the_stage_ends_every_process(tmp_path: Path) -> None:
    program = tmp_path / "waits.py"
    program.write_text("import signal; signal.pause()")
    with Stage(os.environ, tmp_path, program) as stage:
        pids = [stage.start(name).pid for name in ("worker-1", "worker-2")]

    assert not any(map(psutil.pid_exists, pids))


def test_a_leashed_program_ends_when_its_starter_is_killed() -> None:
    program = "import signal; print('up', flush=True); signal.pause()"
    leash = "runtime.engine.leash"
    starter = (
        "import os, subprocess, sys, signal\n"
        f"command = [sys.executable, '-m', {leash!r}, str(os.getpid()), sys.executable]\n"
        f"child = subprocess.Popen([*command, '-c', {program!r}], stdout=subprocess.PIPE)\n"
        "child.stdout.readline()\n"
        "print(child.pid, flush=True)\n"
        "signal.pause()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", starter], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        leashed = psutil.Process(int(process.stdout.readline()))
        assert leashed.is_running()

        process.kill()

    eventually(lambda: not leashed.is_running() or leashed.status() == psutil.STATUS_ZOMBIE)


def test_a_program_whose_starter_is_gone_already_never_starts() -> None:
    leash = "runtime.engine.leash"
    nobody = "0"

    done = subprocess.run(
        [sys.executable, "-m", leash, nobody, sys.executable, "-c", "print('up')"],
        cwd=PROJECT,
        capture_output=True,
        timeout=30,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, b"")
