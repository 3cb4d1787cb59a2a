"""What the engine's tests may rely on."""

from tests.support.engine_fixtures import desk, diary, shop, shop_process, site

__all__ = ["desk", "diary", "shop", "shop_process", "site"]
