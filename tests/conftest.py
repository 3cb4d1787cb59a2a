"""What every test may rely on: running services, and a database of this session's own."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import django
import psycopg
import pytest
import redis
from django.conf import settings
from django.db import connection
from django.test import TransactionTestCase
from psycopg import sql

from console import embedded

PROJECT = Path(__file__).resolve().parent.parent
# A running `up` is not disturbed: tests have servers of their own. The settings module is named
# here and not in pyproject.toml, because pytest-django would load it before this file is read.
# Each of the sessions of one run has servers of its own: some tests kill them.
_NUMBER = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
_OURS = {
    "SIGNALBOX_DATA_DIR": str(
        PROJECT / ".signalbox" / ("tests" if _NUMBER == "0" else f"tests-{_NUMBER}")
    ),
    "DJANGO_SETTINGS_MODULE": "console.settings",
}
_SET = [name for name in _OURS if name not in os.environ]
os.environ.update({name: _OURS[name] for name in _SET})
django.setup()
#: The tables that Django itself fills after the migrations.
LAID = frozenset({"django_content_type", "auth_permission"})
SLOTS = range(1, 64)  # also the number of the Valkey database, of which the embedded one has 64


def pytest_configure(config: pytest.Config) -> None:
    """Keep our choice of servers from the sessions that this process only starts."""
    if config.getoption("dist", "no") != "no" and "PYTEST_XDIST_WORKER" not in os.environ:
        for name in _SET:
            del os.environ[name]


@pytest.fixture(scope="session")
def services() -> Iterator[embedded.Services]:
    """The services for the whole session, embedded unless the environment names others.

    Sessions at once get a PostgreSQL and a Valkey database each; what a killed session left in
    them is removed first.
    """
    with embedded.ensure(os.environ) as running, _slot(running.places.data_dir) as number:
        connection.settings_dict["TEST"]["NAME"] = f"test_signalbox_{number}"
        if not os.environ.get("DATABASE_URL"):
            _drop_leftover(settings.DATABASE_URL, number)
            if "SIGNALBOX_DATA_DIR" in _SET:
                _spare_the_disk(settings.DATABASE_URL)
        if not os.environ.get("VALKEY_URL"):
            _use_valkey_database(number)
        yield running


@pytest.fixture(scope="session")
def django_db_modify_db_settings(services: embedded.Services) -> None:
    """Whoever asks for the database gets the services first."""


@pytest.fixture(scope="session", autouse=True)
def _empty_only_what_was_filled() -> Iterator[None]:
    """Tests that commit, some five hundred, leave what Django lays: it need not be laid again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", _empty)
        yield


@pytest.fixture(scope="session")
def places_of_data(services: embedded.Services, django_db_setup: None) -> dict[str, str]:
    """What leads a child process to this session's test databases."""
    name = connection.settings_dict["NAME"]
    database_url = urlsplit(settings.DATABASE_URL)._replace(path=f"/{name}").geturl()
    own = {"DATABASE_URL": database_url, "VALKEY_URL": settings.VALKEY_URL}
    return {**services.environ(), **own}


@pytest.fixture
def child_environ(places_of_data: dict[str, str]) -> dict[str, str]:
    """The environment of a child process that works on this session's test databases."""
    return {**os.environ, **places_of_data}


def _empty(_case: TransactionTestCase) -> None:
    """Empty the tables that hold something: to empty one takes long, full or not."""
    known = connection.introspection.django_table_names(only_existing=True, include_views=False)
    asked = sql.SQL("SELECT {} WHERE EXISTS (SELECT FROM {})")
    questions = [asked.format(one, sql.Identifier(one)) for one in sorted({*known} - LAID)]
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL(" UNION ALL ").join(questions))
        filled = [sql.Identifier(name) for (name,) in cursor.fetchall()]
        if filled:
            cursor.execute(sql.SQL("TRUNCATE {} CASCADE").format(sql.SQL(", ").join(filled)))


@contextmanager
def _slot(data_dir: Path) -> Iterator[int]:
    """Hold a number that no other session has; the kernel frees a killed session's."""
    data_dir.mkdir(parents=True, exist_ok=True)
    for number in SLOTS:
        with (data_dir / f"session-{number}.lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield number
            return
    pytest.exit("too many test sessions at once")


def _drop_leftover(address: str, number: int) -> None:
    with psycopg.connect(address, autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS test_signalbox_{number:d} WITH (FORCE)".encode())


def _spare_the_disk(address: str) -> None:
    """Let the server of the tests not wait for the disk: they kill it, not the machine."""
    with psycopg.connect(address, autocommit=True) as server:
        server.execute("ALTER SYSTEM SET fsync = off")
        server.execute("SELECT pg_reload_conf()")


def _use_valkey_database(number: int) -> None:
    address = f"{settings.VALKEY_URL.partition('?')[0]}?db={number}"
    if settings.BROKER_URL == settings.VALKEY_URL:
        settings.BROKER_URL = address
    settings.VALKEY_URL = address
    with redis.Redis.from_url(address) as client:
        client.flushdb()
