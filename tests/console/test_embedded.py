"""The embedded servers as users see them: shared, adopted, stopped by the last, never lost."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from console import embedded
from console.embedded import processes
from console.embedded.places import Places

PROJECT = Path(__file__).resolve().parents[2]
ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not ROOT, reason="only root switches to another user")

USER = """
import os, sys
from console import embedded
with embedded.ensure(os.environ) as services:
    print((services.postgres.data / "postmaster.pid").read_text().split()[0], flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder everybody may pass, unlike pytest's own, which belongs to root alone."""
    folder = Path(tempfile.mkdtemp(prefix="signalbox-test-", dir="/tmp"))
    folder.chmod(0o711)
    yield folder
    for data_dir in (path.parent for path in folder.rglob("start.lock")):
        _remove(data_dir)
    shutil.rmtree(folder)


@pytest.fixture
def data_dir(base: Path) -> Path:
    return base / "data"


def _remove(data_dir: Path) -> None:
    """Stop what a failed test left, and remove what lies outside its folder."""
    with embedded.ensure(_environ(data_dir)):
        pass
    for server in ("postgres", "valkey"):
        if (data_dir / server).is_symlink():
            shutil.rmtree((data_dir / server).resolve())


def _environ(data_dir: Path, **more: str) -> dict[str, str]:
    return {"SIGNALBOX_DATA_DIR": str(data_dir), **more}


def _user(data_dir: Path) -> "subprocess.Popen[str]":
    """Another process that uses the servers until its input ends."""
    return subprocess.Popen(
        [sys.executable, "-c", USER],
        cwd=PROJECT,
        env={**os.environ, "DATABASE_URL": "", "VALKEY_URL": "", **_environ(data_dir)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _postmaster_of(user: "subprocess.Popen[str]") -> int:
    assert user.stdout is not None
    return int(user.stdout.readline())


def _living(data_dir: Path) -> list[int]:
    home = Places.of(data_dir)
    postgres = processes.living_in((home.link("postgres") / "data").resolve(), "postgres")
    return postgres + processes.living_in(home.link("valkey").resolve(), "valkey-server")


def _ask(services: embedded.Services, query: str) -> object:
    with psycopg.connect(services.environ()["DATABASE_URL"]) as connection:
        row = connection.execute(query.encode()).fetchone()
        return row[0] if row else None


def _keep_a_row(services: embedded.Services) -> None:
    with psycopg.connect(services.environ()["DATABASE_URL"]) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS n")


def test_both_servers_answer_at_the_addresses_that_were_known_before(data_dir: Path) -> None:
    database_url, valkey_url = embedded.database_url(data_dir), embedded.valkey_url(data_dir)

    with embedded.ensure(_environ(data_dir)) as services:
        assert services.environ()["DATABASE_URL"] == database_url
        assert services.environ()["VALKEY_URL"] == valkey_url
        assert _ask(services, "SHOW listen_addresses") == ""
        assert _ask(services, "SHOW fsync") == _ask(services, "SHOW synchronous_commit") == "on"
        assert _ask(services, "SHOW server_encoding") == "UTF8"
        with redis.Redis.from_url(valkey_url) as client:
            assert client.ping()

    assert _living(data_dir) == []
    assert not Places.of(data_dir).socket_dir.exists()


def test_a_long_path_with_blanks_and_foreign_letters_serves(base: Path) -> None:
    """A socket's path has 107 bytes at most; the data folder's may have any number."""
    data_dir = base / "ä folder with 'quotes' and $money" / ("long " * 30) / "データ"

    with embedded.ensure(_environ(data_dir)) as services:
        assert _ask(services, "SELECT 1") == 1
        with redis.Redis.from_url(services.environ()["VALKEY_URL"]) as client:
            assert client.ping()


def test_two_starts_at_once_share_the_servers(data_dir: Path) -> None:
    first, second = _user(data_dir), _user(data_dir)

    postmasters = {_postmaster_of(first), _postmaster_of(second)}

    for user in (first, second):
        user.communicate(timeout=60)
    assert len(postmasters) == 1
    assert _living(data_dir) == []


def test_another_user_keeps_the_servers_and_the_last_one_stops_them(data_dir: Path) -> None:
    mine = embedded.ensure(_environ(data_dir))
    other = _user(data_dir)
    _postmaster_of(other)

    mine.stop()

    assert _living(data_dir)
    other.communicate(timeout=60)
    assert _living(data_dir) == []
    mine.stop()  # a second time does nothing


def test_a_killed_user_leaves_servers_that_the_next_one_adopts_and_stops(data_dir: Path) -> None:
    user = _user(data_dir)
    postmaster = _postmaster_of(user)
    user.kill()
    user.communicate(timeout=60)
    assert _living(data_dir)

    with embedded.ensure(_environ(data_dir)) as services:
        assert services.postgres.status() == "ready"
        assert postmaster in _living(data_dir)

    assert _living(data_dir) == []


def test_a_start_after_everything_was_killed_loses_no_committed_row(data_dir: Path) -> None:
    """Also when the number in the stale pid file belongs to a living stranger by now."""
    services = embedded.ensure(_environ(data_dir))
    _keep_a_row(services)
    services.kill_postgres()
    services.kill_valkey()
    pid_file = services.postgres.data / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as stranger:
        pid_file.write_text("\n".join([str(stranger.pid), *lines[1:]]) + "\n")

        with embedded.ensure(_environ(data_dir)) as again:
            assert _ask(again, "SELECT n FROM kept") == 7
        assert stranger.poll() is None
    services.stop()


def test_a_restart_by_a_drill_keeps_the_rows_and_empties_valkey(data_dir: Path) -> None:
    with embedded.ensure(_environ(data_dir)) as services:
        _keep_a_row(services)
        with redis.Redis.from_url(services.environ()["VALKEY_URL"]) as client:
            client.set("lost", "1")

            services.restart_postgres("immediate")
            services.restart_valkey()

            assert client.get("lost") is None
        assert _ask(services, "SELECT n FROM kept") == 7


def test_the_servers_do_not_hear_the_terminals_interrupt(data_dir: Path) -> None:
    with embedded.ensure(_environ(data_dir)):
        assert all(os.getsid(pid) != os.getsid(0) for pid in _living(data_dir))


def test_a_named_database_is_left_alone(data_dir: Path) -> None:
    """With one address given, only the other server is embedded."""
    given = "postgresql://somebody@elsewhere/database"

    with embedded.ensure(_environ(data_dir, DATABASE_URL=given)) as services:
        assert services.environ()["DATABASE_URL"] == given
        with pytest.raises(embedded.NotEmbedded, match="unset DATABASE_URL"):
            services.restart_postgres()
        assert len(_living(data_dir)) == 1


def test_nothing_is_touched_when_both_are_named(data_dir: Path) -> None:
    given = {"DATABASE_URL": "postgresql://elsewhere/database", "VALKEY_URL": "redis://elsewhere"}

    with embedded.ensure(_environ(data_dir, **given)):
        assert not data_dir.exists()


@as_root
def test_a_closed_parent_keeps_its_mode_and_the_data_lie_elsewhere(base: Path) -> None:
    closed = base / "closed"
    closed.mkdir(mode=0o700)
    data_dir = closed / "data"

    with embedded.ensure(_environ(data_dir)) as services:
        assert _ask(services, "SELECT 1") == 1
        assert stat.S_IMODE(closed.stat().st_mode) == 0o700
        assert (data_dir / "postgres").is_symlink()
        home = (data_dir / "postgres").resolve()

    with embedded.ensure(_environ(data_dir)):  # a second start finds it again
        assert (data_dir / "postgres").resolve() == home


@as_root
def test_a_folder_of_another_user_is_served_as_that_user(base: Path) -> None:
    """`sudo` in somebody's project leaves nothing behind that locks them out."""
    data_dir = base / "data"
    data_dir.mkdir()
    os.chown(data_dir, 61999, 61999)

    with embedded.ensure(_environ(data_dir)) as services:
        assert _ask(services, "SELECT 1") == 1

    made = [path for path in data_dir.rglob("*") if path.suffix != ".log"]
    assert {path.stat().st_uid for path in made} == {61999}


@as_root
def test_a_socket_folder_somebody_else_put_there_is_refused(data_dir: Path) -> None:
    places = Places.of(data_dir)
    places.socket_dir.mkdir()
    os.chown(places.socket_dir, 61998, 61998)

    with pytest.raises(embedded.FolderRefused, match="made by somebody else"):
        embedded.ensure(_environ(data_dir))

    places.socket_dir.rmdir()


def test_a_link_in_place_of_the_socket_folder_is_refused(base: Path, data_dir: Path) -> None:
    places = Places.of(data_dir)
    places.socket_dir.symlink_to(base)

    with pytest.raises(embedded.FolderRefused, match="made by somebody else"):
        embedded.ensure(_environ(data_dir))

    places.socket_dir.unlink()


def test_data_that_went_missing_are_never_replaced_by_an_empty_database(data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "postgres").symlink_to("/nowhere/at/all")

    with pytest.raises(embedded.FolderRefused, match="is gone; remove the link to start afresh"):
        embedded.ensure(_environ(data_dir))

    (data_dir / "postgres").unlink()


def test_a_folder_that_cannot_be_made_is_one_sentence_and_status_two(base: Path) -> None:
    (base / "file").write_text("in the way")

    done = subprocess.run(
        [sys.executable, PROJECT / "manage.py", "migrate"],
        env={**os.environ, "DATABASE_URL": "", "VALKEY_URL": "", **_environ(base / "file" / "x")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "set SIGNALBOX_DATA_DIR to a folder you can write" in done.stderr


def test_a_server_that_cannot_start_says_why(data_dir: Path) -> None:
    with embedded.ensure(_environ(data_dir)) as services:
        version = services.postgres.data / "PG_VERSION"
        services.kill_postgres()
        version.write_text("12\n")

        with pytest.raises(embedded.ServerDidNotStart, match="incompatible with server"):
            services.start_postgres()

        version.write_text("18\n")


def test_a_forked_child_does_not_stop_its_parents_servers(data_dir: Path) -> None:
    with embedded.ensure(_environ(data_dir)) as services:
        child = os.fork()
        if child == 0:
            services.stop()
            os._exit(0)
        os.waitpid(child, 0)

        assert _ask(services, "SELECT 1") == 1


def test_a_signal_to_a_dead_process_is_no_error() -> None:
    with subprocess.Popen(["/bin/true"]) as done:
        pass

    processes.send([done.pid], signal.SIGTERM)
