"""What the crash tests may rely on, and which of them run only when asked for (`-m long`)."""

import pytest

from tests.support.engine_fixtures import desk, diary, programs, shop, shop_process, site

__all__ = ["desk", "diary", "programs", "shop", "shop_process", "site"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the long forms out unless the command line names their marker."""
    if "long" in str(config.option.markexpr):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
