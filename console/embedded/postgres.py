"""The embedded PostgreSQL: made once, started durable, stopped, restarted and killed.

It listens on a socket in a private folder and on no port. It counts no users and takes no lock:
that is `services`, its only caller, which holds the start lock around every call that changes
something.
"""

import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psycopg

from console.embedded import processes
from console.embedded.account import Account, named_account
from console.embedded.errors import ServerDidNotStart
from console.embedded.places import DATABASE, ROLE

type StopMode = Literal["smart", "fast", "immediate"]

NAME = "postgres"
STOP_SIGNALS: dict[StopMode, signal.Signals] = {
    "smart": signal.SIGTERM,
    "fast": signal.SIGINT,
    "immediate": signal.SIGQUIT,
}
# Recovery after a crash reads up to max_wal_size; a slow disk may need minutes for it.
START_TIMEOUT_S = 300.0
STOP_TIMEOUT_S = 30.0
_STATUS_LINE = 7  # of postmaster.pid, counted from 0

_SEVERITY = re.compile(r"^.*?(?:PANIC|FATAL|ERROR|error|LOG|WARNING|HINT):")

SETTINGS = {
    "listen_addresses": "",
    "shared_buffers": "256MB",
    "max_connections": "200",
    "wal_compression": "on",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    "shared_preload_libraries": "pg_stat_statements",
    "timezone": "UTC",
    # Containers often have 64 MB of /dev/shm, where a parallel query or index build fails.
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    # One file an hour, overwritten the next day; neither statements nor keys, which are personal.
    "logging_collector": "on",
    "log_directory": "log",
    "log_filename": "postgres-%H.log",
    "log_rotation_age": "60",
    "log_rotation_size": "0",
    "log_truncate_on_rotation": "on",
    "log_timezone": "UTC",
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
}


@dataclass(frozen=True)
class Postgres:
    """One PostgreSQL server.

    Args:
        home: Its folder, a real path.
        socket_dir: The private folder its socket lies in.
        programs: The folder with `initdb` and `postgres`.
        account: Who runs it.
        log: What it says before it keeps its own log.
    """

    home: Path
    socket_dir: Path
    programs: Path
    account: Account
    log: Path

    @property
    def data(self) -> Path:
        """The cluster's folder."""
        return self.home / "data"

    def start(self) -> None:
        """Start the server, or adopt the one that runs, and wait until it answers queries.

        Raises:
            ServerDidNotStart: It ended, or did not answer in time.
        """
        processes.wait_until(lambda: self.status() not in {"starting", "stopping"}, STOP_TIMEOUT_S)
        if self.status() is None:
            self._clear_the_dead()
            if not self.data.exists():
                self._initialise()
            self._launch()
        self._make_database()

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop the server and wait until every process of it has ended."""
        postmaster = self._postmaster()
        if postmaster is not None:
            processes.send([postmaster], STOP_SIGNALS[mode])
        if not processes.wait_until(self._gone, STOP_TIMEOUT_S):
            self.kill()

    def kill(self) -> None:
        """End every process of the server at once, as a power cut would."""
        processes.send(self._living(), signal.SIGKILL)
        processes.wait_until(self._gone, STOP_TIMEOUT_S)

    def status(self) -> str | None:
        """What a living postmaster says of itself (ready, starting, stopping); None without one."""
        if self._postmaster() is None:
            return None
        lines = self._pid_file()
        return lines[_STATUS_LINE].strip() if len(lines) > _STATUS_LINE else "starting"

    def _postmaster(self) -> int | None:
        lines = self._pid_file()
        pid = int(lines[0]) if lines and lines[0].isdigit() else None
        return pid if pid is not None and processes.is_in(pid, NAME, self.data) else None

    def _pid_file(self) -> list[str]:
        try:
            return (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return []

    def _living(self) -> list[int]:
        return processes.living_in(self.data, NAME)

    def _gone(self) -> bool:
        return not self._living()

    def _clear_the_dead(self) -> None:
        """Remove what a killed server left.

        Its number may belong to another program by now, and PostgreSQL would take that for itself.
        """
        self.kill()
        socket = self.socket_dir / ".s.PGSQL.5432"
        for leftover in (self.data / "postmaster.pid", socket, Path(f"{socket}.lock")):
            leftover.unlink(missing_ok=True)

    def _initialise(self) -> None:
        """Make the cluster beside its final place, so that an interrupted start leaves no half."""
        made = self.home / "data.new"
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(mode=0o700)
        maker = named_account(self.account)
        if maker.switch:
            os.chown(made, maker.uid, maker.gid)
        command: list[str | Path] = [self.programs / "initdb", "-D", made, "-U", ROLE]
        command += ["--auth=trust", "-E", "UTF8"]
        command += ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        # By this the index of words knows letters beyond ASCII; not every system has it.
        for ctype in (["--lc-ctype=C.UTF-8"], []):
            done = subprocess.run(
                [*command, *ctype],
                capture_output=True,
                check=False,
                text=True,
                **processes.run_as(maker),
            )
            if not done.returncode:
                break
        if done.returncode:
            with processes.open_log(self.log) as log:
                log.write(done.stdout.encode() + done.stderr.encode())
            raise ServerDidNotStart("PostgreSQL", _cause(done.stderr.splitlines()), self.log)
        if maker != self.account:
            _give(made, self.account)
        made.rename(self.data)

    def _launch(self) -> None:
        settings = SETTINGS | {"unix_socket_directories": str(self.socket_dir)}
        arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self.log.unlink(missing_ok=True)
        command: list[str | Path] = [self.programs / NAME, "-D", self.data, *arguments]
        pid = processes.launch(command, self.account, self.log)
        alive = processes.wait_until(lambda: self._settled(pid), START_TIMEOUT_S)
        if not alive or self.status() != "ready":
            raise ServerDidNotStart("PostgreSQL", _cause(self._log_lines()), self.log)

    def _settled(self, pid: int) -> bool:
        return self.status() == "ready" or not processes.is_alive(pid)

    def _log_lines(self) -> list[str]:
        own = sorted((self.data / "log").glob("*.log"), key=lambda path: path.stat().st_mtime)
        return processes.tail(self.log) or (processes.tail(own[-1]) if own else [])

    def _make_database(self) -> None:
        address = f"postgresql://{ROLE}@/postgres?host={self.socket_dir}"
        with psycopg.connect(address, autocommit=True, connect_timeout=30) as connection:
            query = "SELECT 1 FROM pg_database WHERE datname = %s"
            if connection.execute(query, [DATABASE]).fetchone() is None:
                connection.execute(f"CREATE DATABASE {DATABASE}")


def _cause(lines: list[str]) -> str:
    """The line that tells most: what the system refused, else the last of the highest severity."""
    system = ("No space left", "Permission denied", "Read-only file system", "Cannot allocate")
    for mark in (*system, "PANIC:", "FATAL:", "ERROR:", "error:"):
        for line in reversed(lines):
            if mark in line:
                return _SEVERITY.sub("", line).strip().rstrip(".")
    return lines[-1].strip() if lines else "it gave no reason"


def _give(folder: Path, account: Account) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, account.uid, account.gid, follow_symlinks=False)
