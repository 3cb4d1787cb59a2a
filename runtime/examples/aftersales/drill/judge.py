"""Gathers what the verdict needs once everything has stopped: the journal, the books, the people.

All of it is read from the database and the shop, not remembered: a drill that was interrupted in
the middle of a commit does not know what it did.
"""

import time
from collections import Counter
from typing import Any
from uuid import UUID

import httpx

from runtime import api
from runtime.core.states import TERMINAL
from runtime.examples.aftersales.control import ShopDesk
from runtime.examples.aftersales.demo.verdict import judge_books
from runtime.examples.aftersales.drill.play import Drill
from runtime.examples.aftersales.drill.verdict import Verdict
from runtime.models import Refusal, Review, StepResult, Task, TaskSpec
from runtime.store.session import forget_connection

type Json = dict[str, Any]

BOOKS_TRIES = 20


def judge(drill: Drill) -> Verdict:
    """Hold everything against the books and the journal.

    Must hold: workers and sweep have stopped; database and shop answer.
    """
    forget_connection()
    requests = _requests(drill.run.queue)
    tasks = dict(Task.objects.filter(id__in=requests).values_list("id", "state"))
    unfinished = [task for task, state in tasks.items() if state not in TERMINAL]
    decided = Review.objects.filter(task__in=requests, decision__isnull=False)
    aborted = decided.filter(decision="abort").values_list("task_id", flat=True)
    never_sent = {request["request_id"] for request in drill.seeds.requests}
    never_sent -= set(requests.values())
    return Verdict(
        seed=drill.wanted.seed,
        wanted=drill.wanted.tasks,
        tasks=len(tasks),
        states=Counter(tasks.values()),
        terminal=len(tasks) - len(unfinished),
        steps=StepResult.objects.filter(task_id__in=requests).count(),
        stuck=len(unfinished),
        books=judge_books(
            drill.seeds,
            _books(drill.field.desk),
            aborted={requests[task] for task in aborted} | never_sent,
            unfinished={requests[task] for task in unfinished},
        ),
        answered=Counter(decided.values_list("kind", flat=True)),
        faults=drill.progress.struck,
        recovery_s=drill.field.recoveries.took_s,
        fence_refusals=Refusal.objects.filter(task_id__in=requests).count(),
        problems=[problem for task in requests for problem in _problems(task)],
        restarts=drill.restarts,
        seconds=drill.progress.spent_s,
    )


def _requests(queue: str) -> dict[UUID, str]:
    """Name the request of each task of the run."""
    prefix = f"{queue}-"
    rows: Any = TaskSpec.objects.filter(namespace="default", key__startswith=prefix)
    return {task: key.removeprefix(prefix) for task, key in rows.values_list("task_id", "key")}


def _books(desk: ShopDesk) -> Json:
    """Read the books; the shop may hold connections that the last outage has broken."""
    for _ in range(BOOKS_TRIES - 1):
        try:
            return desk.books()
        except httpx.HTTPStatusError:
            time.sleep(0.2)
    return desk.books()


def _problems(task: UUID) -> list[str]:
    return [f"task {found.task}: {found.what}" for found in api.verify(task=task).problems]
