"""The broker of a test."""

from collections.abc import Iterator

import pytest
from dramatiq.brokers.redis import RedisBroker

from console import embedded
from runtime.actors import broker as brokers


@pytest.fixture
def broker(services: embedded.Services) -> Iterator[RedisBroker]:
    """This session's broker, empty before and after."""
    brokers.broker.cache_clear()
    chosen = brokers.broker()
    assert isinstance(chosen, RedisBroker)
    chosen.client.flushdb()
    yield chosen
    chosen.client.flushdb()
    chosen.client.close()
    brokers.broker.cache_clear()
