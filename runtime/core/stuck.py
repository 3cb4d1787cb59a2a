"""What “stuck” means, in one place for lists, pages, numbers and alerts.

A task that waits for its time, a person, an event or others is not stuck: it knows what it waits
for.  Stuck is what should be moving by itself and does not.
"""

from enum import StrEnum
from typing import Final


class Stuck(StrEnum):
    """Why a task that should be moving is not."""

    NO_WORKER = "no_worker"
    """It is due, and no running worker serves its queue."""
    OVERDUE = "overdue"
    """It is due, workers serve its queue, and none has taken it for a long time."""
    LOST = "lost"
    """Its worker's lease ran out, and nobody has freed it."""


NO_WORKER_S: Final = 60.0
"""Seconds that a queue may be without a worker, as while one is started anew."""
OVERDUE_S: Final = 300.0
"""Seconds that a due task may wait for a free slot."""
LOST_S: Final = 60.0
"""Seconds after the end of a lease in which the sweep frees what it held."""
