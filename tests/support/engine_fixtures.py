"""Fixtures of the engine's tests, imported by the `conftest.py` of each folder that uses them."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from runtime.examples.aftersales import client
from runtime.examples.aftersales.control import ShopDesk
from runtime.examples.aftersales.shop.launch import ShopProcess, start_shop
from runtime.store.tasks import forget_keys
from tests.support.engine import Site
from tests.support.engine_agents import agents
from tests.support.engine_agents.hands import TABLES
from tests.support.engine_diary import Diary
from tests.support.engine_programs import Programs

__all__ = ["desk", "diary", "programs", "shop", "shop_process", "site"]

APPS = agents.__name__.rpartition(".")[0]
PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture
def site(transactional_db: None, child_environ: dict[str, str]) -> Iterator[Site]:
    """An engine with no workers yet, on this session's test database."""
    forget_keys()
    database_url = child_environ["DATABASE_URL"]
    with psycopg.connect(database_url, autocommit=True) as raw:
        raw.execute("SET client_min_messages TO warning")
        for statement in TABLES:
            raw.execute(statement.encode())
    place = Site(database_url, environ_of(child_environ))
    try:
        yield place
    finally:
        place.end()
        place.shift_clock(0)
        forget_keys()


def environ_of(child_environ: dict[str, str]) -> dict[str, str]:
    """Give the environment of a child that must know the agents of these tests."""
    own = {"SIGNALBOX_APPS": APPS, "SIGNALBOX_LEASE_S": "1", "PYTHONPATH": str(PROJECT)}
    return {**child_environ, "DATABASE_DIRECT_URL": child_environ["DATABASE_URL"], **own}


@pytest.fixture
def diary(tmp_path: Path) -> Iterator[Diary]:
    """The test's diary; its gates are opened at the end, so that nothing hangs on."""
    book = Diary(tmp_path)
    yield book
    for gate in ("hang", "never", "up"):
        book.open(gate)


@pytest.fixture(scope="session")
def shop_process(services: object, django_db_setup: None) -> Iterator[ShopProcess]:
    """The one shop of these tests."""
    name = connection.settings_dict["NAME"]
    database_url = urlsplit(settings.DATABASE_URL)._replace(path=f"/{name}").geturl()
    with start_shop(database_url, schema="shop_engine") as process:
        yield process


@pytest.fixture
def shop(site: Site, shop_process: ShopProcess) -> ShopProcess:
    """The shop, known to every process of the test."""
    site.environ = {**site.environ, client.ADDRESS_VARIABLE: shop_process.url}
    return shop_process


@pytest.fixture
def desk(shop: ShopProcess) -> Iterator[ShopDesk]:
    """The shop's desk: faults, calls, books; no fault outlives a test."""
    with ShopDesk(shop.url) as hands_on:
        hands_on.clear_faults()
        yield hands_on
        hands_on.clear_faults()


@pytest.fixture
def programs(site: Site, tmp_path: Path) -> Iterator[Programs]:
    """Real `manage.py` processes; they end with the test."""
    folder = tmp_path / "logs"
    folder.mkdir()
    started = Programs(site, folder)
    try:
        yield started
    finally:
        started.end()
