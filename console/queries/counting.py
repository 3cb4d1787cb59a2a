"""How many there are, how far they are, and whose: the counts and names that many pages show."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import F, Value
from django.db.models.fields import TextField

from console.queries.base import COUNTED, NAMESPACE
from runtime.core.states import State
from runtime.models import Review, Task, TaskSpec


def counts() -> dict[State, int]:
    """Count tasks by state, each capped."""
    tasks = Task.objects.filter(namespace=NAMESPACE)
    label = {"output_field": TextField()}
    parts = [
        tasks.filter(parked_as=state)
        .annotate(s=Value(state.value, **label))
        .values_list("s")[:COUNTED]
        for state in State
    ]
    held = tasks.filter(owner__isnull=False).annotate(s=F("state")).values_list("s")[:COUNTED]
    found: dict[State, int] = dict.fromkeys(State, 0)
    for (state,) in held.union(*parts, all=True):
        found[State(state)] += 1
    return {state: min(number, COUNTED) for state, number in found.items()}


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
