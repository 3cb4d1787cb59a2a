"""What the tests of the runtime may rely on."""

from tests.support.brokers import broker

__all__ = ["broker"]
