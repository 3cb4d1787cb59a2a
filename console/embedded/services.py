"""The embedded services as one thing that is used and let go.

Every process that needs them calls `ensure` and, when done, `stop`; the last user stops the
servers. A user that is killed leaves them running, and the next one adopts them. It is not a
supervisor: whoever breaks a server for a drill brings it back.
"""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from console.embedded.account import server_account
from console.embedded.errors import FolderRefused, NotEmbedded
from console.embedded.homes import home_of
from console.embedded.locks import UserCount, exclusive
from console.embedded.places import (
    Places,
    database_url,
    make_data_dir,
    make_socket_dir,
    valkey_url,
)
from console.embedded.postgres import Postgres, StopMode
from console.embedded.programs import postgres_programs, valkey_program
from console.embedded.valkey import Valkey

PROJECT = Path(__file__).resolve().parents[2]


def data_dir_of(environ: Mapping[str, str]) -> Path:
    """The data folder an environment names: `SIGNALBOX_DATA_DIR`, or `.signalbox` here."""
    return Path(environ.get("SIGNALBOX_DATA_DIR") or PROJECT / ".signalbox").absolute()


def ensure(environ: Mapping[str, str]) -> "Services":
    """Start the servers that no address in `environ` names, or adopt the running ones.

    Two calls at once, from whatever processes, are safe.

    Args:
        environ: Where `SIGNALBOX_DATA_DIR`, `DATABASE_URL` and `VALKEY_URL` are read.

    Returns:
        The services, answering; call `stop` or leave its `with` block when done.

    Raises:
        EmbeddedError: A folder cannot be used or a server did not start.
    """
    services = Services(environ)
    try:
        services.start()
    except OSError as error:
        services.stop()
        path = error.filename or services.places.data_dir
        raise FolderRefused(path, error.strerror or str(error)) from error
    except BaseException:
        services.stop()
        raise
    return services


class Services:
    """One process's hold on the embedded servers; made by `ensure`."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.places = Places.of(data_dir_of(environ))
        self._database_url = environ.get("DATABASE_URL", "")
        self._valkey_url = environ.get("VALKEY_URL", "")
        self._users = UserCount(self.places.users_lock)
        self._postgres: Postgres | None = None
        self._valkey: Valkey | None = None
        self._owns_sockets = False
        self._process = os.getpid()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def any(self) -> bool:
        """Whether at least one server is embedded."""
        return not (self._database_url and self._valkey_url)

    def environ(self) -> dict[str, str]:
        """What a child process needs in its environment to use these services."""
        return {
            "DATABASE_URL": self._database_url or database_url(self.places.data_dir),
            "VALKEY_URL": self._valkey_url or valkey_url(self.places.data_dir),
            "SIGNALBOX_DATA_DIR": str(self.places.data_dir),
        }

    def start(self) -> None:
        """Start what is embedded and become one of its users; called by `ensure`."""
        if not self.any:
            return
        make_data_dir(self.places.data_dir)
        with exclusive(self.places.start_lock):
            self._users.join()
            account = server_account(self.places)
            make_socket_dir(self.places.socket_dir, account.uid, account.gid)
            self._owns_sockets = True
            if not self._database_url:
                self._postgres = Postgres(
                    home=home_of(self.places, "postgres", account),
                    socket_dir=self.places.socket_dir,
                    programs=postgres_programs(account),
                    account=account,
                    log=self.places.log("postgres"),
                )
                self._postgres.start()
            if not self._valkey_url:
                self._valkey = Valkey(
                    home=home_of(self.places, "valkey", account),
                    socket=self.places.valkey_socket,
                    program=valkey_program(account),
                    account=account,
                    log=self.places.log("valkey"),
                )
                self._valkey.start()

    def stop(self) -> None:
        """Let go; the last user of the servers stops them. Calling it again does nothing."""
        # A forked child inherits this object, but not the right to stop its parent's servers.
        if not self._users.joined or os.getpid() != self._process:
            return
        with exclusive(self.places.start_lock):
            if not self._users.leave():
                return
            if self._valkey is not None:
                self._valkey.stop()
            if self._postgres is not None:
                self._postgres.stop()
            if self._owns_sockets:
                with contextlib.suppress(OSError):  # somebody put more there
                    self.places.socket_dir.rmdir()

    def restart_postgres(self, mode: StopMode = "fast") -> None:
        """Stop PostgreSQL and start it again; open connections break, as in a failover."""
        with exclusive(self.places.start_lock):
            self.postgres.stop(mode)
            self.postgres.start()

    def kill_postgres(self) -> None:
        """End every PostgreSQL process at once; `start_postgres` brings it back, recovering."""
        with exclusive(self.places.start_lock):
            self.postgres.kill()

    def start_postgres(self) -> None:
        """Bring PostgreSQL back; nothing happens when it runs."""
        with exclusive(self.places.start_lock):
            self.postgres.start()

    def restart_valkey(self) -> None:
        """Stop Valkey and start it again, empty."""
        with exclusive(self.places.start_lock):
            self.valkey.stop()
            self.valkey.start()

    def kill_valkey(self) -> None:
        """End Valkey at once; everything in it is lost."""
        with exclusive(self.places.start_lock):
            self.valkey.kill()

    def start_valkey(self) -> None:
        """Bring Valkey back, empty; nothing happens when it runs."""
        with exclusive(self.places.start_lock):
            self.valkey.start()

    @property
    def postgres(self) -> Postgres:
        """The embedded PostgreSQL.

        Raises:
            NotEmbedded: `DATABASE_URL` names another.
        """
        if self._postgres is None:
            raise NotEmbedded("PostgreSQL", "DATABASE_URL")
        return self._postgres

    @property
    def valkey(self) -> Valkey:
        """The embedded Valkey.

        Raises:
            NotEmbedded: `VALKEY_URL` names another.
        """
        if self._valkey is None:
            raise NotEmbedded("Valkey", "VALKEY_URL")
        return self._valkey
