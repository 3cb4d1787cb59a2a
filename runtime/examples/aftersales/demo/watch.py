"""Where the tasks of one run stand, read from the tables: for display, kill and verdict."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Count, Sum

from runtime.core.states import TERMINAL, State
from runtime.models import Operation, Refusal, Review, Task, Worker


@dataclass(frozen=True, slots=True)
class Standing:
    """Counts of one moment.

    Args:
        states: Tasks in each state.
        commits: Commits of all tasks so far; grows as long as anything moves.
    """

    states: Counter[str] = field(default_factory=Counter)
    commits: int = 0

    @property
    def terminal(self) -> int:
        """Tasks that have ended."""
        return sum(number for state, number in self.states.items() if state in TERMINAL)

    @property
    def waiting(self) -> int:
        """Tasks that wait for a person."""
        return self.states[State.WAITING_HUMAN]


@dataclass(frozen=True, slots=True)
class Holder:
    """A worker, and the tasks in its hands with their versions."""

    worker: UUID
    pid: int
    tasks: dict[UUID, int]


class Watch:
    """Reads about the tasks of one queue; `first` is the oldest, so that indexes serve."""

    def __init__(self, queue: str, first: UUID) -> None:
        self._tasks = Task.objects.filter(queue=queue, id__gte=first)

    def standing(self) -> Standing:
        """Count."""
        rows = self._tasks.values_list("state").annotate(Count("id"), Sum("version"))
        states: Counter[str] = Counter()
        commits = 0
        for state, number, versions in rows:
            states[state] = number
            commits += versions
        return Standing(states, commits)

    def open_reviews(self) -> list[tuple[UUID, UUID]]:
        """List open review items with their tasks, the longest waiting first."""
        waiting = self._tasks.filter(state=State.WAITING_HUMAN).values("id")
        rows = Review.objects.filter(task__in=waiting, status="open").order_by("opened_at")
        return list(rows.values_list("id", "task_id"))

    def holder_of(self, operation_ids: Collection[str]) -> Holder | None:
        """Say which worker holds a task with one of these operations, with all that it holds."""
        tasks = Operation.objects.filter(id__in=operation_ids).values("task_id")
        owner = self._tasks.filter(id__in=tasks, owner__isnull=False)
        worker_id = owner.values_list("owner", flat=True).first()
        if worker_id is None:
            return None
        pid = Worker.objects.filter(id=worker_id).values_list("pid", flat=True).get()
        held = self._tasks.filter(owner=worker_id).values_list("id", "version")
        return Holder(worker_id, pid, dict(held))

    def has_moved_on(self, holder: Holder) -> bool:
        """Tell whether each task that a dead worker held has been carried on by somebody else."""
        rows = self._tasks.filter(id__in=holder.tasks).values_list("id", "owner", "version")
        return all(
            owner != holder.worker and version > holder.tasks[task_id]
            for task_id, owner, version in rows
        )

    def unfinished(self) -> list[UUID]:
        """List the tasks that have not ended."""
        return list(self._tasks.exclude(state__in=TERMINAL).values_list("id", flat=True))

    def refusals(self) -> int:
        """Count the writes that the fence refused."""
        return Refusal.objects.filter(task_id__in=self._tasks.values("id")).count()
