"""The way in from the command line: services around the command, one sentence for an error.

It knows no command by heart except those of Django that need less than ours do. `manage.py` is its
only caller; a command started from another command does not pass here.
"""

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, NoReturn

from runtime.core.errors import SignalboxError

# Commands of Django that touch no database and no Valkey. Our own say so themselves, with the class
# attribute `needs_services = False`.
WITHOUT_SERVICES = {
    "collectstatic",
    "compilemessages",
    "diffsettings",
    "findstatic",
    "makemessages",
    "startapp",
    "startproject",
}
# Commands that are about the state of the migrations, or make their own database; our own say so
# with `needs_migrations = False`.
WITHOUT_MIGRATIONS = {
    "makemigrations",
    "migrate",
    "optimizemigration",
    "showmigrations",
    "sqlflush",
    "sqlmigrate",
    "sqlsequencereset",
    "squashmigrations",
    "test",
    "testserver",
}
# Any number that means "somebody migrates this database".
MIGRATION_LOCK = 0x5167_6E61_6C62_6F78
USAGE = 2
INTERRUPTED = 130
POLL_S = 0.1


class Usage(SignalboxError):
    """The command line cannot be understood or asks for what cannot be done."""

    http_status = 400
    exit_code = USAGE
    code = "usage"


class UnknownCommand(Usage):
    """There is no such command."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(name, known)
        self.name = name
        self.near = get_close_matches(name, known, n=1)

    def __str__(self) -> str:
        meant = f"; did you mean {self.near[0]!r}" if self.near else ""
        return f"There is no command {self.name!r}{meant}; see `manage.py help`."


class ArgumentsRefused(Usage):
    """The command does not take these arguments."""

    def __init__(self, program: str, problem: str) -> None:
        super().__init__(program, problem)
        self.program = program
        self.problem = problem

    def __str__(self) -> str:
        problem = self.problem.rstrip(".")
        return f"{problem[:1].upper()}{problem[1:]}; see `{self.program} --help`."


class CommandRefused(Usage):
    """The command itself refused, in Django's way and its own words."""


def main(argv: Sequence[str]) -> NoReturn:
    """Run the command that `argv` names and end the process with its status."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    signal.signal(signal.SIGTERM, _terminated)
    try:
        _execute(list(argv))
    except SignalboxError as error:
        sys.exit(_say(str(error), error.exit_code))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away (`| head`); the interpreter must not flush into it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
    sys.exit(0)


def migrate_once() -> None:
    """Bring the database to the newest migration; two processes at once do it one after the other.

    Raises:
        django.db.Error: The database refuses.
    """
    from django.core.management import call_command
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    def pending() -> bool:
        executor = MigrationExecutor(connection)
        return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))

    if not pending():
        return
    with connection.cursor() as cursor:
        # Asked for again and again instead of waited for: a statement that waits holds a snapshot,
        # and the other's CREATE INDEX CONCURRENTLY would wait for that.
        while not _query(cursor, "SELECT pg_try_advisory_lock(%s)"):
            time.sleep(POLL_S)
        try:
            call_command("migrate", interactive=False, verbosity=0)
        finally:
            _query(cursor, "SELECT pg_advisory_unlock(%s)")


def _query(cursor: Any, sql: str) -> Any:
    cursor.execute(sql, [MIGRATION_LOCK])
    return cursor.fetchone()[0]


def _execute(argv: list[str]) -> None:
    """Let Django find the command and read its arguments, and run it among its services."""
    from django.core.management import ManagementUtility, get_commands
    from django.core.management.base import BaseCommand, CommandParser
    from django.db import OperationalError
    from psycopg import OperationalError as RawOperationalError

    def refuse(parser: CommandParser, message: str) -> NoReturn:
        raise ArgumentsRefused(parser.prog, message)

    class Utility(ManagementUtility):
        def fetch_command(self, subcommand: str) -> BaseCommand:
            if subcommand not in get_commands():
                raise UnknownCommand(subcommand, sorted(get_commands()))
            command = super().fetch_command(subcommand)
            _put_among_services(command, subcommand)
            return command

    # Django's parsers, also those of sub-commands, print the usage over several lines and exit.
    CommandParser.error = refuse  # type: ignore[method-assign,assignment]
    try:
        Utility(argv).execute()
    except (OperationalError, RawOperationalError) as error:
        if "--traceback" in argv:
            raise
        first = str(error).strip().partition("\n")[0]
        sys.exit(_say(f"The database cannot be used: {first}.", USAGE))


def _put_among_services(command: Any, name: str) -> None:
    """Wrap a command's work, which begins once its arguments were understood."""
    from django.core.management.base import CommandError, SystemCheckError

    work = command.execute
    if not _needs_services(command, name):
        command.requires_system_checks = []  # they ask the database for its version

    def execute(*args: Any, **options: Any) -> Any:
        try:
            with _services(command, name):
                return work(*args, **options)
        except SystemCheckError:
            raise
        except CommandError as error:
            if options.get("traceback"):
                raise
            raise CommandRefused(str(error)) from error

    command.execute = execute


def _needs_services(command: Any, name: str) -> bool:
    return bool(getattr(command, "needs_services", name not in WITHOUT_SERVICES))


@contextmanager
def _services(command: Any, name: str) -> Iterator[None]:
    from console import embedded

    if not _needs_services(command, name):
        yield
        return
    from django.db import connections

    with embedded.ensure(os.environ):
        try:
            migrates = getattr(command, "needs_migrations", name not in WITHOUT_MIGRATIONS)
            if migrates and not os.environ.get("DATABASE_URL"):
                migrate_once()
            if getattr(command, "acts", False):
                _act_for_token()
            yield
        finally:
            connections.close_all()


def _act_for_token() -> None:
    """Have the command act as the owner of the API token in the environment, with its rights.

    Raises:
        TokenRefused: There is a token and it is not valid.
    """
    token = os.environ.get("SIGNALBOX_TOKEN", "").strip()
    if not token:
        return
    from console.access import Permission, allowed
    from console.tokens import bearer_of
    from runtime import api

    bearer = bearer_of(token)
    api.act_as(bearer.user.get_username(), lambda right: allowed(bearer, Permission(right)))


def _say(sentence: str, status: int) -> int:
    sys.stderr.write(f"{sentence}\n")
    return status


def _terminated(_number: int, _frame: object) -> NoReturn:
    sys.exit(128 + signal.SIGTERM)
