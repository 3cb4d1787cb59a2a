"""Tasks of one worker whose steps are written together do not depend on each other."""

import queue
import threading
from collections.abc import Iterator, Sequence
from typing import cast
from uuid import uuid4

import psycopg
import pytest

from runtime.engine.pool import Pool
from runtime.engine.ports import Clock
from runtime.engine.recorder import Recorder
from runtime.engine.requests import NextSlice, OnThread, Request, Steps, Write
from runtime.store.commits import Commit
from tests.support.engine import PATIENCE_S, Site, eventually


def test_a_task_whose_row_somebody_holds_keeps_no_other_task_waiting(site: Site) -> None:
    """Somebody looked at it in a console of the database and forgot the transaction."""
    held, *others = [site.script(*[{"call": "echo", "value": n}] * 40) for n in range(12)]
    site.worker(threads=2)
    site.eventually(lambda: site.results(held))
    with psycopg.connect(site.database_url) as other, other.transaction():
        other.execute("SELECT 1 FROM runtime_task WHERE id = %s FOR NO KEY UPDATE", (held,))
        site.settle(*others)

    site.settle(held)
    assert site.row(held).state == "terminated_success"
    site.check(held, *others)


class Script:
    """A run of a pool that asks for these requests, one after the other."""

    def __init__(self, *requests: Request) -> None:
        self.name = "a task of this test"
        self.noted = (uuid4(), 1)
        self.ended = threading.Event()
        self.script = self._ask(requests)

    def over(self, error: BaseException | None) -> None:
        """Hear that all was done."""
        assert error is None
        self.ended.set()

    def _ask(self, requests: Sequence[Request]) -> Steps[None]:
        for request in requests:  # noqa: UP028 (a tuple cannot be sent to)
            yield request


@pytest.fixture
def written() -> "queue.Queue[Commit]":
    return queue.Queue()


@pytest.fixture
def threads() -> int:
    return 1


@pytest.fixture
def pool(written: "queue.Queue[Commit]", threads: int) -> Iterator[Pool]:
    def commit(steps: Sequence[Commit]) -> list[int | Exception]:
        for step in steps:
            written.put(step)
        return [0] * len(steps)

    pool = Pool(Clock(), Recorder(), threads, lambda: None, commit)
    pool.start()
    yield pool
    pool.stop(PATIENCE_S)
    eventually(lambda: not any(one.name == "loop" for one in threading.enumerate()))


def test_a_step_is_written_although_every_thread_is_in_the_hands_of_a_tool(
    pool: Pool, written: "queue.Queue[Commit]"
) -> None:
    """What a call gave is not kept in memory until some other task's tool comes back."""
    step = cast("Commit", "the step")
    entered, gate = threading.Event(), threading.Event()
    quick = Script(*[OnThread(lambda: None, PATIENCE_S, "quick so far")] * 20)
    pool.put(quick)
    assert quick.ended.wait(PATIENCE_S)

    def hang() -> None:
        entered.set()
        assert gate.wait(PATIENCE_S)

    def begin() -> None:
        # On the pool's only thread, so that what follows finds both in the queue.
        pool.put(writing)
        pool.put(hanging)

    writing, hanging = Script(Write(step)), Script(OnThread(hang, PATIENCE_S, "quick so far"))
    both = Script(OnThread(begin, PATIENCE_S, "begins"))
    pool.put(both)

    assert entered.wait(PATIENCE_S)
    assert written.get(timeout=PATIENCE_S) is step
    assert not hanging.ended.is_set()
    gate.set()
    assert hanging.ended.wait(PATIENCE_S)
    assert writing.ended.wait(PATIENCE_S)


def test_before_a_tool_that_takes_its_time_what_was_gathered_is_written(
    pool: Pool, written: "queue.Queue[Commit]"
) -> None:
    """No step waits for a call of another task that is known to be slow, or not known at all."""
    step = cast("Commit", "the step")
    seen: list[bool] = []
    writing = Script(Write(step))
    slow = Script(OnThread(lambda: seen.append(not written.empty()), PATIENCE_S, "never seen"))

    def begin() -> None:
        pool.put(writing)
        pool.put(slow)

    pool.put(Script(OnThread(begin, PATIENCE_S, "begins")))

    assert slow.ended.wait(PATIENCE_S)
    assert seen == [True]
    assert writing.ended.wait(PATIENCE_S)


class Stuck(Script):
    """A run whose driver itself waits: for its row at a release, for a slow store of artifacts."""

    def __init__(self) -> None:
        self.entered, self.gate = threading.Event(), threading.Event()
        super().__init__()

    def _ask(self, requests: Sequence[Request]) -> Steps[None]:  # noqa: ARG002 (it asks nothing)
        self.entered.set()
        assert self.gate.wait(PATIENCE_S)
        yield NextSlice()


@pytest.mark.parametrize("threads", [2])
def test_a_run_that_waits_between_its_requests_keeps_no_other_run_waiting(pool: Pool) -> None:
    stuck, other = Stuck(), Script(OnThread(lambda: None, PATIENCE_S, "quick"))
    pool.put(stuck)
    assert stuck.entered.wait(PATIENCE_S)

    pool.put(other)

    assert other.ended.wait(PATIENCE_S)
    assert not stuck.ended.is_set()
    stuck.gate.set()
    assert stuck.ended.wait(PATIENCE_S)


def test_a_step_is_written_although_the_only_thread_waits_between_two_requests(
    pool: Pool, written: "queue.Queue[Commit]"
) -> None:
    step = cast("Commit", "the step")
    stuck, writing = Stuck(), Script(Write(step))

    def begin() -> None:
        pool.put(writing)
        pool.put(stuck)

    pool.put(Script(OnThread(begin, PATIENCE_S, "begins")))

    assert stuck.entered.wait(PATIENCE_S)
    assert written.get(timeout=PATIENCE_S) is step
    stuck.gate.set()
    assert stuck.ended.wait(PATIENCE_S)
