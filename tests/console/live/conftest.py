"""What tests of live updates share."""

from collections.abc import Iterator

import pytest
from django.test import Client

from console.access import Role
from runtime.actors import live as hints
from tests.support.live_pages import signed_in


@pytest.fixture
def operator() -> Client:
    return signed_in(Role.OPERATOR)


@pytest.fixture
def publisher() -> Iterator[None]:
    """A publisher of this test's own, so that its thread ends with it."""
    hints.live.cache_clear()
    yield
    hints.live().close()
    hints.live.cache_clear()
