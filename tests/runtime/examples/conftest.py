"""A real shop for the tests of the demo: its own process, its own books."""

import os
from collections.abc import Iterator

import pytest

from console.embedded import Services
from runtime.examples.aftersales.control import ShopDesk
from runtime.examples.aftersales.shop.launch import ShopProcess, start_shop
from runtime.examples.aftersales.shop.ledger import drop_schema

SEEDED = 26


@pytest.fixture(scope="session")
def books_url(services: Services) -> str:
    """Where a shop may keep its books."""
    return os.environ.get("DATABASE_URL") or services.environ()["DATABASE_URL"]


@pytest.fixture(scope="module")
def shop(books_url: str) -> Iterator[ShopProcess]:
    """A shop with 26 odd orders of seed 1, shared by the tests of a module."""
    schema = f"shop_test_{os.getpid()}"
    drop_schema(books_url, schema)
    with start_shop(books_url, schema=schema, seed_orders=SEEDED) as running:
        yield running
    drop_schema(books_url, schema)


@pytest.fixture
def own_schema(books_url: str) -> Iterator[str]:
    """A schema for books that no other test touches."""
    schema = f"shop_own_{os.getpid()}"
    drop_schema(books_url, schema)
    yield schema
    drop_schema(books_url, schema)


@pytest.fixture
def desk(shop: ShopProcess) -> Iterator[ShopDesk]:
    """The desk of the shared shop; the faults a test orders end with it."""
    with ShopDesk(shop.url) as hands:
        yield hands
        hands.clear_faults()
