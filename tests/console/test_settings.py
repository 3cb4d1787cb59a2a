"""A right environment gives settings; a wrong value stops the start with one clear sentence."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from console import env
from console.embedded import FolderRefused
from console.secret import kept_secret

PROJECT = Path(__file__).resolve().parents[2]


def _refusal(name: str, value: str, tmp_path: Path) -> "subprocess.CompletedProcess[str]":
    clean = {key: text for key, text in os.environ.items() if not key.startswith("SIGNALBOX")}
    return subprocess.run(
        [sys.executable, PROJECT / "manage.py", "diffsettings"],
        env=clean | {"SIGNALBOX_DATA_DIR": str(tmp_path / "data"), name: value},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "mysql://root:hunter2@elsewhere/x"),
        ("DATABASE_URL", "postgresql://root:hunter2@elsewhere"),
        ("DATABASE_DIRECT_URL", "elsewhere"),
        ("VALKEY_URL", "http://:hunter2@elsewhere"),
        ("BROKER_URL", "kafka://:hunter2@elsewhere"),
        ("DEBUG", "perhaps"),
        ("SIGNALBOX_LEASE_S", "soon"),
        ("SIGNALBOX_LEASE_S", "0.2"),
        ("SIGNALBOX_LEASE_S", "nan"),
        ("SIGNALBOX_APPS", "no.such.app"),
        ("SIGNALBOX_ARTIFACTS", "ftp://elsewhere"),
        ("CSRF_TRUSTED_ORIGINS", "signalbox.example"),
        ("TIME_ZONE", "Mars/Olympus"),
        ("LANGUAGE", "klingon"),
        ("SIGNALBOX_TRACE_URL", "https://traces.example/trace"),
    ],
)
def test_a_wrong_value_stops_the_start_with_one_sentence(
    name: str, value: str, tmp_path: Path
) -> None:
    done = _refusal(name, value, tmp_path)

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert name in done.stderr
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize(
    "value", ["traces.example/{trace_id}", "https://x/{trace_id}/{other}", "https://x/{{trace_id}}"]
)
def test_where_traces_are_shown_is_an_address_with_one_placeholder(value: str) -> None:
    with pytest.raises(env.SettingRefused):
        env.Environment({"TRACES": value}).pattern("TRACES", "trace_id")


def test_a_console_open_to_the_outside_needs_a_secret_key(tmp_path: Path) -> None:
    """Several machines must share the key; one each made for itself would split them."""
    done = _refusal("ALLOWED_HOSTS", "signalbox.example", tmp_path)

    assert done.returncode == 2
    assert "SECRET_KEY" in done.stderr


def test_the_secret_key_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    first = kept_secret(tmp_path / "data")

    assert kept_secret(tmp_path / "data") == first
    assert len(first) > 50
    path = tmp_path / "data" / "secret_key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [found.name for found in path.parent.iterdir()] == ["secret_key"]


def test_a_secret_key_that_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(FolderRefused, match="not a directory"):
        kept_secret(tmp_path / "file" / "data")


def test_an_address_becomes_djangos_settings() -> None:
    address = "postgresql://jo:a%40b@db.example:6432/signalbox?sslmode=require&host=/run/pg"

    found = env.database("DATABASE_URL", address)

    assert found == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "signalbox",
        "USER": "jo",
        "PASSWORD": "a@b",
        "HOST": "/run/pg",
        "PORT": "6432",
        "OPTIONS": {"sslmode": "require"},
    }


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("", "en"),
        ("de", "de"),
        ("de_DE:de:en", "de"),
        ("pt_BR.UTF-8", "pt-br"),
        ("C", "en"),
        ("zh_CN.UTF-8", "zh-hans"),
        ("zh_CN:zh", "zh-hans"),
    ],
)
def test_a_language_is_understood_as_desktops_write_it(value: str, code: str) -> None:
    known = dict.fromkeys(("en", "de", "pt-br", "zh-hans"), "a language")

    assert env.Environment({"LANGUAGE": value}).language("LANGUAGE", known) == code


@pytest.mark.parametrize("address", ["/srv/a folder", "file:///srv/a%20folder"])
def test_artifacts_go_to_a_folder_nobody_else_can_read(address: str) -> None:
    options = env.storage("SIGNALBOX_ARTIFACTS", address)["OPTIONS"]

    assert options["location"] == "/srv/a folder"
    assert options["file_permissions_mode"] == 0o600


def test_an_empty_value_counts_as_unset() -> None:
    found = env.Environment({"DEBUG": "", "SIGNALBOX_APPS": " , ", "SIGNALBOX_LEASE_S": " "})

    assert found.flag("DEBUG", default=True) is True
    assert found.apps("SIGNALBOX_APPS") == []
    assert found.number("SIGNALBOX_LEASE_S", 15.0, above=0.2) == 15.0


def test_an_app_that_is_named_twice_is_installed_once() -> None:
    found = env.Environment({"SIGNALBOX_APPS": "runtime, console,,runtime"})

    assert found.apps("SIGNALBOX_APPS") == ["runtime", "console"]
