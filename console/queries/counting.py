"""How many there are, how far they are, and whose: the counts and names that many pages show."""

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from console.queries.base import COUNTED, NAMESPACE, fetch
from runtime.core.states import State
from runtime.models import Review, Task, TaskSpec


def counts() -> dict[State, int]:
    """Count tasks by state, each capped."""
    found: dict[State, int] = dict.fromkeys(State, 0)
    for state, number in fetch(_COUNTS, [NAMESPACE] * (1 + len(State))):
        found[State(state)] += number
    return {state: min(number, COUNTED) for state, number in found.items()}


# Tasks in a hand are few; the others lie in an index by the state in which they are parked.
_IN_HAND: Final = f"""
SELECT state, count(*) FROM (
    SELECT state FROM runtime_task
    WHERE namespace = %s AND owner IS NOT NULL LIMIT {COUNTED}
) AS held GROUP BY state"""  # noqa: S608 (a number of our own)
_PARKED: Final = [
    f"SELECT '{state.value}', count(*) FROM (SELECT FROM runtime_task "  # noqa: S608 (our own words)
    f"WHERE namespace = %s AND parked_as = '{state.value}' LIMIT {COUNTED}) AS parked"
    for state in State
]
_COUNTS: Final = " UNION ALL ".join([_IN_HAND, *_PARKED])


def versions(ids: Iterable[UUID]) -> dict[UUID, int]:
    """Read how far these tasks are."""
    tasks = Task.objects.filter(namespace=NAMESPACE, id__in=list(ids))
    return dict(tasks.values_list("id", "version"))


def agents() -> list[str]:
    """List the agents that have tasks."""
    return _distinct_agents()


def _distinct_agents() -> list[str]:
    # A loose scan of the index: one look-up for each agent, however many tasks each has.
    found: list[str] = []
    tasks = (
        Task.objects.filter(namespace=NAMESPACE).order_by("agent").values_list("agent", flat=True)
    )
    last = tasks.first()
    while last is not None and len(found) < COUNTED:
        found.append(last)
        last = tasks.filter(agent__gt=last).first()
    return found


def open_reviews() -> int:
    """Count what waits for a person, capped."""
    return Review.objects.filter(namespace=NAMESPACE, status="open")[:COUNTED].count()


def titles(task_ids: Iterable[UUID]) -> dict[UUID, str]:
    """Read the titles of tasks."""
    specs = TaskSpec.objects.filter(task_id__in=list(task_ids))
    return dict(specs.values_list("task_id", "title"))
