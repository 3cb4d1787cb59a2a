"""The engine's fixtures, for the tests that hold a path against a real worker."""

from tests.support.engine_fixtures import site

__all__ = ["site"]
