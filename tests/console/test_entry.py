"""The command line: one sentence for a mistake, servers only where they are needed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]


def _run(*arguments: str, data_dir: Path) -> "subprocess.CompletedProcess[str]":
    own = {"DATABASE_URL": "", "VALKEY_URL": "", "SIGNALBOX_DATA_DIR": str(data_dir)}
    return subprocess.run(
        [sys.executable, PROJECT / "manage.py", *arguments],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["migrat"], "There is no command 'migrat'; did you mean 'migrate'; see `manage.py help`."),
        (["migrate", "--bad"], "Unrecognized arguments: --bad; see `manage.py migrate --help`."),
        (
            ["startapp", "1x"],
            "'1x' is not a valid app name. Please make sure the name is a valid identifier.",
        ),
    ],
)
def test_wrong_usage_is_one_sentence_and_status_two_and_starts_nothing(
    arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    done = _run(*arguments, data_dir=tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{sentence}\n")
    assert not (tmp_path / "postgres").exists()


def test_help_and_commands_about_files_start_no_server(tmp_path: Path) -> None:
    for arguments in (["help"], ["diffsettings"], ["migrate", "--help"]):
        assert _run(*arguments, data_dir=tmp_path).returncode == 0

    assert not (tmp_path / "postgres").exists()


def test_two_first_commands_at_once_migrate_a_fresh_database_once(tmp_path: Path) -> None:
    """A newcomer's first command needs no other before it, also when typed twice."""
    own = {"DATABASE_URL": "", "VALKEY_URL": "", "SIGNALBOX_DATA_DIR": str(tmp_path)}
    count = "from django.contrib.auth.models import User; print(User.objects.count())"
    command: list[str | Path] = [sys.executable, PROJECT / "manage.py", "shell", "-v0", "-c", count]
    both = [
        subprocess.Popen(
            command, env={**os.environ, **own}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        for _ in range(2)
    ]

    said = [one.communicate(timeout=90)[0] for one in both]

    assert said == [b"0\n", b"0\n"]
    for server in ("postgres", "valkey"):  # root's lie outside pytest's closed folder
        shutil.rmtree((tmp_path / server).resolve())


def test_a_database_that_does_not_answer_is_one_sentence_without_its_password() -> None:
    address = "postgresql://jo:hunter2@127.0.0.1:1/signalbox"

    done = subprocess.run(
        [sys.executable, PROJECT / "manage.py", "showmigrations"],
        env={**os.environ, "DATABASE_URL": address, "VALKEY_URL": "redis://127.0.0.1:1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "Connection refused" in done.stderr
    assert "hunter2" not in done.stderr
