"""Races: several actors act on one task at the same moment, over and over."""

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from runtime.engine import levers, sweep
from runtime.store import claims
from runtime.store.session import execute
from tests.support import work
from tests.support.drive import drive

TIMES = 500
TIMEOUT_S = 60.0
_LONGEST_S = 0.004

type Go = Callable[[], object]
type Actor = Callable[[UUID], Go]
"""Prepares for one task, and gives what is done at the signal."""


@dataclass
class Outcomes:
    """What the actors gave or raised, one row per task, in the actors' order."""

    rows: list[list[Any]] = field(default_factory=list)

    def of(self, actor: int) -> list[Any]:
        """Give the outcomes of one actor."""
        return [row[actor] for row in self.rows]


def race(tasks: Sequence[UUID], *actors: Actor, seed: int = 1) -> Outcomes:
    """Let all actors act on each task at once; which of them is first is up to dice and machine.

    Each actor is a thread with a connection of its own for the whole race. What it raises at the
    signal is its outcome; what it raises before is a mistake of the test.
    """
    dice = random.Random(seed)
    delays = [[dice.uniform(0, _LONGEST_S) * dice.randrange(2) for _ in actors] for _ in tasks]
    outcomes = Outcomes([[None] * len(actors) for _ in tasks])
    together = threading.Barrier(len(actors), timeout=TIMEOUT_S)
    mistakes: list[BaseException] = []

    def act(number: int, actor: Actor) -> None:
        never = threading.Event()
        try:
            for row, task_id in enumerate(tasks):
                go = actor(task_id)
                together.wait()
                never.wait(delays[row][number])
                outcomes.rows[row][number] = _outcome(go)
                together.wait()
        except BaseException as error:  # noqa: BLE001 (told to the test's own thread)
            mistakes.append(error)
            together.abort()
        finally:
            connection.close()

    threads = [threading.Thread(target=act, args=pair, daemon=True) for pair in enumerate(actors)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT_S)
        assert not thread.is_alive(), "the race did not end"
    real = [one for one in mistakes if not isinstance(one, threading.BrokenBarrierError)]
    if real:
        raise real[0]
    return outcomes


def _outcome(go: Go) -> object:
    try:
        return go()
    except Exception as error:  # noqa: BLE001 (an outcome like any other)
        return error


def crowd(body: str = "finish", count: int = TIMES) -> list[UUID]:
    """Create the tasks of a race in one transaction."""
    with transaction.atomic():
        return [work.submit(body=body) for _ in range(count)]


def carry_on(worker: UUID, most_rounds: int = 20) -> None:
    """Do what workers and the sweep do, until nothing is left: take what is due, hear commands.

    A task that nobody would ever come back for stays as it is.
    """
    for _ in range(most_rounds):
        taken = claims.claim(worker, [work.QUEUE], [work.AGENT], 2 * TIMES)
        for claimed in taken:
            drive(work.sit(claimed))
        heard = [levers.apply_now(work.PORTS, task_id) for task_id in sweep._unheard()]
        if not taken and not heard:
            return
    message = "there is always something left to do"
    raise AssertionError(message)


def check_nothing_lost(tasks: Sequence[UUID]) -> None:
    """Make sure that no command waits where nobody looks, and that every commit was whole."""
    stuck = execute(
        "SELECT t.id, t.state, t.held FROM runtime_task t WHERE t.id = ANY (%s) "
        "AND (t.owner IS NOT NULL OR EXISTS (SELECT 1 FROM runtime_inbox i "
        "WHERE i.task_id = t.id AND i.consumed_at IS NULL) "
        "OR (t.finished_at IS NULL AND t.attention <> t.attended))",
        (list(tasks),),
    )
    assert stuck == []
    for task_id in tasks:
        work.check_whole(task_id)


def is_due(task_id: UUID) -> bool:
    """Tell whether a task can be taken at once."""
    text = "SELECT due_at <= runtime_now() FROM runtime_task WHERE id = %s"
    return bool(execute(text, (task_id,))[0][0])
