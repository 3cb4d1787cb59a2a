"""Found at start when `SIGNALBOX_APPS` names this package, as child processes of tests do."""

from tests.agents_for_tests.clerk import clerk

__all__ = ["clerk"]
