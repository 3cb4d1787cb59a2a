"""What the store's tests share."""

from collections.abc import Iterator

import pytest

from runtime.store.tasks import forget_keys
from tests.support.shift import Shift, shiftable


@pytest.fixture
def shift(db: None) -> Iterator[Shift]:
    """The clock of the test's database."""
    with shiftable() as clock:
        yield clock


@pytest.fixture(autouse=True)
def _keys_of_this_test() -> Iterator[None]:
    """Tables are emptied between tests; what was read from them is forgotten with them."""
    yield
    forget_keys()
