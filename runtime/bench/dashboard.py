"""How fast the pages answer when there are tasks by the million.

The tasks are made here; the pages are the console's, which stands above the runtime, so who asks
them is named in the settings.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from runtime.bench.volume import Volume, describe, fill
from runtime.store.session import execute


class AskPages(Protocol):
    """Asks every page of a web process of its own, over and over."""

    def __call__(
        self, samples: Mapping[str, str], runs: int, tell: Callable[[str], None]
    ) -> dict[str, Any]:
        """Give ``pages`` (milliseconds of the 95th of 100 answers, by address) and what else.

        Args:
            samples: Ids of tasks of each kind, of a review item and of a task in the middle; the
                name of an agent.
            runs: How often each page is asked.
            tell: Told how it goes.
        """
        ...


def measure_dashboard(
    tasks: int, events: int, runs: int, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Fill the database and ask every page.

    Args:
        tasks: Tasks in the database, at least.
        events: Their events.
        runs: How often each page is asked.
        tell: Told how it goes.
    """
    volume = fill(tasks, events, tell)
    ask: AskPages = import_string(settings.SIGNALBOX_DASHBOARD)
    found = ask(_samples(volume), runs, tell)
    server = execute("SHOW server_version")[0][0]
    found["settings"] = {"runs": runs, "server_version": server, **describe(volume)}
    return found


def _samples(volume: Volume) -> dict[str, str]:
    review = execute("SELECT id FROM runtime_review WHERE status = 'open' ORDER BY id LIMIT 1")
    middle = execute(
        "SELECT id FROM runtime_task WHERE parked_as = 'terminated_success' "
        "AND created_at < runtime_now() - interval '15 days' ORDER BY id DESC LIMIT 1"
    )
    found = {kind: str(task_id) for kind, task_id in volume.patterns.items()}
    return found | {
        "agent": "bench-read",
        "review": str(review[0][0]),
        "middle": str(middle[0][0]) if middle else found["done"],
    }
