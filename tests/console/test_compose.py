"""docker-compose.yml names what exists, and the same processes run without containers."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from django.core.management import get_commands

from console.supervisor.listening import free_port
from runtime import api
from runtime.models import Task

PROJECT = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((PROJECT / "docker-compose.yml").read_text())
OURS = {name: one for name, one in COMPOSE["services"].items() if "build" in one}
DEADLINE_S = 60.0


def test_the_services_are_the_processes_of_an_installation() -> None:
    assert set(COMPOSE["services"]) == {"postgres", "valkey", "migrate", "web", "worker", "sweep"}
    assert set(OURS) == {"migrate", "web", "worker", "sweep"}


@pytest.mark.parametrize("name", sorted(OURS))
def test_every_command_of_ours_exists_and_takes_its_arguments(name: str) -> None:
    command, *arguments = OURS[name]["command"]

    assert command in get_commands()
    helped = subprocess.run(
        [sys.executable, str(PROJECT / "manage.py"), command, "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    options = [word for word in arguments if word.startswith("--")]
    assert all(option in helped for option in options)


def test_every_variable_is_one_that_the_settings_or_the_web_server_read() -> None:
    read = (PROJECT / "console" / "settings.py").read_text()
    named = {variable for one in OURS.values() for variable in one["environment"]}

    assert {variable for variable in named if f'"{variable}"' not in read} == {
        "FORWARDED_ALLOW_IPS"  # uvicorn's own
    }


def test_nothing_starts_before_what_it_needs() -> None:
    services = COMPOSE["services"]
    for name in ("web", "worker", "sweep"):
        assert services[name]["depends_on"] == {
            "migrate": {"condition": "service_completed_successfully"},
            "valkey": {"condition": "service_healthy"},
        }
    assert services["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert services["migrate"]["restart"] == "no"
    assert all("healthcheck" in services[name] for name in ("postgres", "valkey", "web"))


def test_the_image_is_made_of_files_that_exist() -> None:
    lines = (PROJECT / "Dockerfile").read_text().splitlines()
    copied = [line.split()[1:-1] for line in lines if re.match(r"COPY (?!--from)", line)]

    assert all((PROJECT / name).exists() for names in copied for name in names)


@contextmanager
def running(environ: dict[str, str], *commands: list[str]) -> Iterator[list[subprocess.Popen[str]]]:
    started = [
        subprocess.Popen(
            [sys.executable, str(PROJECT / "manage.py"), *command],
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for command in commands
    ]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)


def status_of(url: str) -> int:
    try:
        return httpx.get(url, trust_env=False).status_code
    except httpx.TransportError:
        return 0


@pytest.mark.django_db(transaction=True)
def test_the_same_processes_run_without_containers(
    child_environ: dict[str, str], tmp_path: Path
) -> None:
    """The same commands with the same variables; only addresses and folders are this machine's."""
    port = str(free_port())
    values = {
        "DATABASE_URL": child_environ["DATABASE_URL"],
        "VALKEY_URL": child_environ["VALKEY_URL"],
        "SECRET_KEY": "s" * 60,
        "ALLOWED_HOSTS": "localhost,127.0.0.1",
        "SIGNALBOX_ARTIFACTS": str(tmp_path / "artifacts"),
    }
    named = {variable for one in OURS.values() for variable in one["environment"]}
    environ = {name: value for name, value in os.environ.items() if name not in named}
    environ |= {name: values.get(name, "") for name in named if name != "FORWARDED_ALLOW_IPS"}
    environ["SIGNALBOX_DATA_DIR"] = str(tmp_path)
    commands = {name: list(map(str, OURS[name]["command"])) for name in OURS}
    commands["web"] = ["web", "--host", "127.0.0.1", "--port", port]
    subprocess.run(
        [sys.executable, str(PROJECT / "manage.py"), *commands["migrate"]],
        env=environ,
        stdout=subprocess.DEVNULL,
        timeout=60,
        check=True,
    )

    with running(environ, commands["web"], commands["worker"], commands["sweep"]) as processes:
        task = api.submit("aftersales", _request())
        eventually(lambda: status_of(f"http://127.0.0.1:{port}/readyz") == 200)
        eventually(Task.objects.filter(id=task.id).exclude(state="initialized").exists)
        assert status_of(f"http://127.0.0.1:{port}/healthz") == 200
        for process in processes:
            process.terminate()

        assert [process.wait(40) for process in processes] == [0, 0, 0]
    assert not (tmp_path / "postgres").exists()


def _request() -> dict[str, str]:
    return {"request_id": "R-1", "order_id": "A-1", "customer_message": "The lamp is broken."}
