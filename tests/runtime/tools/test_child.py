"""Isolated tools in real child processes: answers, deadlines, deaths and what a child inherits."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtime.core.errors import (
    Ambiguous,
    ChildDied,
    ChildVanished,
    Permanent,
    Retryable,
    ToolFailed,
)
from runtime.tools.child import child_environment, run_isolated
from runtime.tools.registry import AnyTool
from tests.runtime.tools import isolated_examples as examples

_HANGING_WORKER = """
import sys
from tests.runtime.tools import test_child

test_child.run(test_child.examples.hang, started=sys.argv[1])
"""
PLAIN = {"PATH": os.environ["PATH"]}
"""No Django in the child: it starts in half the time."""


def run(tool: AnyTool, *, timeout_s: float = 30, **arguments: Any) -> Any:
    stored = tool.validate(arguments).stored
    return run_isolated(tool, stored, operation_id="op_7", timeout_s=timeout_s, environ=PLAIN)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in {"Z", "X"}


def wait_until(probe: Callable[[], bool], deadline_s: float = 20) -> None:
    ticks = threading.Event()
    for _ in range(int(deadline_s / 0.02)):
        if probe():
            return
        ticks.wait(0.02)
    pytest.fail(f"not true within {deadline_s} s")


def test_a_child_gets_typed_arguments_and_its_value_comes_back_with_its_types() -> None:
    value = run(examples.add, price="1.10", at="2030-01-01T00:00:00Z")

    assert str(value["price"]) == "2.10"
    assert value["at"] == examples.now()
    assert value["types"] == ["Decimal", "datetime"]


def test_a_child_that_asks_for_the_operation_id_gets_it() -> None:
    assert run(examples.charge, amount=5) == [5, "op_7"]


def test_a_result_of_twelve_megabytes_comes_back_whole() -> None:
    assert run(examples.large, size=6_000_000) == "ä" * 6_000_000


def test_what_a_child_prints_cannot_be_taken_for_its_answer() -> None:
    assert run(examples.noisy) == "quiet"


def test_at_the_deadline_the_child_and_its_helpers_are_killed(tmp_path: Path) -> None:
    """Neither an ignored SIGTERM nor a process of its own saves them."""
    started = tmp_path / "started"

    with pytest.raises(TimeoutError, match=r"within 2 s; its process was killed"):
        run(examples.hang, started=str(started), timeout_s=2)

    child, helper = map(int, started.read_text().split())
    assert not is_alive(child)
    wait_until(lambda: not is_alive(helper))


def test_a_child_that_answers_ends_at_once_with_all_it_has_left_behind(tmp_path: Path) -> None:
    helper = run(examples.forget_a_helper, started=str(tmp_path / "started"))

    wait_until(lambda: not is_alive(helper))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_that_dies_by_a_signal_is_named_with_it(number: signal.Signals) -> None:
    with pytest.raises(ChildDied) as died:
        run(examples.die, number=int(number))

    assert died.value.signal == number


def test_a_crash_in_foreign_code_takes_only_the_child_along() -> None:
    with pytest.raises(ChildDied) as died:
        run(examples.crash)

    assert died.value.signal == signal.SIGSEGV


@pytest.mark.parametrize("status", [0, 3])
def test_a_child_that_leaves_without_an_answer_has_not_succeeded(status: int) -> None:
    with pytest.raises(ChildVanished) as vanished:
        run(examples.leave, status=status)

    assert vanished.value.status == status


def test_what_a_tool_says_of_its_failure_crosses_the_process() -> None:
    with pytest.raises(Retryable, match="busy") as retryable:
        run(examples.fail, kind="retryable")
    with pytest.raises(Permanent, match="closed for good"):
        run(examples.fail, kind="permanent")
    with pytest.raises(Ambiguous, match="no answer"):
        run(examples.fail, kind="ambiguous")

    assert retryable.value.after_s == 7.5


@pytest.mark.parametrize(
    ("kind", "type_name", "message"),
    [
        ("two", "tests.runtime.tools.isolated_examples.TwoArguments", "402: no money\ufffd\ufffd"),
        ("no text", "tests.runtime.tools.isolated_examples.NoText", "cannot be shown"),
        ("exit", "SystemExit", "3"),
    ],
)
def test_an_exception_that_cannot_be_rebuilt_comes_back_as_type_and_safe_text(
    kind: str, type_name: str, message: str
) -> None:
    """Hazard CR-07: the real error must not be masked by the trouble of moving it."""
    with pytest.raises(ToolFailed) as failed:
        run(examples.fail, kind=kind)

    assert failed.value.type_name == type_name
    assert message in failed.value.message


def test_a_tool_that_cannot_be_loaded_was_not_called_so_it_may_be_tried_again() -> None:
    renamed = replace(examples.leave, name="no_such_tool")

    with pytest.raises(Retryable, match=r"could not be loaded .* no tool 'no_such_tool'"):
        run(renamed, status=0)


def test_a_child_that_did_not_come_to_the_call_in_time_has_sent_nothing() -> None:
    with pytest.raises(Retryable, match="nothing was sent"):
        run(examples.charge, timeout_s=0.001, amount=5)


def test_stored_arguments_that_no_longer_fit_are_found_before_the_call() -> None:
    with pytest.raises(Retryable, match="status: missing"):
        run_isolated(examples.leave, {}, operation_id="op", timeout_s=30, environ=PLAIN)


def test_the_start_of_the_child_is_told_and_an_error_there_ends_it(tmp_path: Path) -> None:
    told: list[int] = []

    def refuse(pid: int) -> None:
        told.append(pid)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        run_isolated(
            examples.hang,
            {"started": str(tmp_path / "started")},
            operation_id="op",
            timeout_s=30,
            on_started=refuse,
            environ=PLAIN,
        )

    assert not is_alive(told[0])


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the child's own alarm ends it")
def test_a_child_does_not_outlive_a_worker_that_is_killed(tmp_path: Path) -> None:
    started = tmp_path / "started"
    worker = subprocess.Popen(
        [
            sys.executable,
            "-c",
            _HANGING_WORKER,
            str(started),
        ]
    )
    wait_until(started.exists)
    child, helper = map(int, started.read_text().split())

    worker.kill()
    worker.wait()

    wait_until(lambda: not is_alive(child))
    if is_alive(helper):  # the kernel ends the child only; the helper is this test's to clean up
        os.kill(helper, signal.SIGKILL)


def test_a_child_sees_an_allow_list_of_its_workers_environment() -> None:
    """Hazard PR-03: keys of the worker must not reach every tool it runs."""
    environ = {
        "PATH": os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
        "SIGNALBOX_DATA_DIR": "/data",
        "SIGNALBOX_TOKEN": "sb_1",
        "SIGNALBOX_WEBHOOK_SECRETS": "s",
        "SIGNALBOX_ARTIFACTS": "s3://key:secret@bucket",
        "OPENAI_API_KEY": "sk-1",
        "DATABASE_URL": "postgresql://app:secret@db/app",
        "SECRET_KEY": "the real one",
        "AWS_SESSION_TOKEN": "aws",
    }

    seen = run_isolated(examples.environment, {}, operation_id="op", timeout_s=30, environ=environ)

    assert set(seen) - {"LC_CTYPE"} == {
        "PATH",
        "LC_ALL",
        "SIGNALBOX_DATA_DIR",
        "SECRET_KEY",
        "DATABASE_URL",
        "VALKEY_URL",
    }
    assert "secret@" not in repr(seen)
    assert seen["SECRET_KEY"] != "the real one"


def test_without_a_choice_a_child_is_given_the_processs_own_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LC_TIME", "C")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")

    environment = child_environment()

    assert environment["LC_TIME"] == "C"
    assert "OPENAI_API_KEY" not in environment


def test_django_is_set_up_in_a_child_when_the_worker_runs_with_it() -> None:
    environ = {**PLAIN, "DJANGO_SETTINGS_MODULE": "console.settings"}

    assert run_isolated(
        examples.django_is_ready, {}, operation_id="op", timeout_s=60, environ=environ
    )
