"""What the ``worker`` and ``sweep`` processes have in common: an orderly end."""

import signal
import threading
from collections.abc import Callable


def until_told_to_stop(worn_out: Callable[[], bool] = lambda: False) -> bool:
    """Wait for SIGTERM or SIGINT.

    Args:
        worn_out: Asked a few times a second; True ends the wait as well.

    Returns:
        True if a signal ended it, False if the process is worn out.
    """
    told = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: told.set())
    while not told.wait(0.25):
        if worn_out():
            return False
    return True
