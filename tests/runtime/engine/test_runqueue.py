"""What a pool's thread does next: the pure order of going on, gathering and writing."""

import threading
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from typing import Any, cast

import pytest

from runtime.engine.ports import Clock
from runtime.engine.requests import Returned
from runtime.engine.runqueue import MOST_TOGETHER, OVERDUE_S, GoOn, Run, RunQueue, Sign, Together
from runtime.store.commits import Commit
from tests.support.engine import PATIENCE_S, eventually


class Hands:
    """A clock that moves when told."""

    now_s = 0.0

    def boottime_s(self) -> float:
        """Give the present."""
        return self.now_s


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
def queue(clock: Hands) -> RunQueue:
    return RunQueue(cast("Clock", clock))


def run(name: str) -> Run:
    return cast("Run", name)


def step(name: str) -> Commit:
    return cast("Commit", name)


def writes(queue: RunQueue, *names: str) -> None:
    for name in names:
        queue.write(run(name), step(name))


def names(work: Any) -> list[str]:
    assert isinstance(work, Together)
    return [cast("str", one.step) for one in work.waiting]


def test_runs_go_on_in_the_order_they_came(queue: RunQueue) -> None:
    queue.put(run("a"), None)
    queue.put(run("b"), Returned(1))

    assert [queue.take(), queue.take()] == [GoOn(run("a"), None), GoOn(run("b"), Returned(1))]


def test_steps_gather_while_something_can_go_on_and_are_written_when_nothing_can(
    queue: RunQueue,
) -> None:
    queue.put(run("c"), None)
    writes(queue, "a", "b")

    first, then = queue.take(), queue.take()

    assert first == GoOn(run("c"), None)
    assert names(then) == ["a", "b"]


def test_a_step_does_not_wait_behind_runs_for_long(queue: RunQueue, clock: Hands) -> None:
    queue.put(run("b"), None)
    writes(queue, "a")
    clock.now_s += 2 * OVERDUE_S

    assert names(queue.take()) == ["a"]


def test_no_transaction_becomes_larger_than_allowed(queue: RunQueue) -> None:
    queue.put(run("next"), None)
    writes(queue, *(f"{n}" for n in range(MOST_TOGETHER + 1)))

    assert len(names(queue.take())) == MOST_TOGETHER
    assert queue.take() == GoOn(run("next"), None)


def test_while_one_transaction_is_under_way_the_next_one_gathers(queue: RunQueue) -> None:
    writes(queue, "a")
    under_way = queue.take()
    assert isinstance(under_way, Together)
    writes(queue, "b")
    queue.look()

    meanwhile = queue.take()
    queue.written(under_way, [GoOn(run("a"), Returned(0))])

    assert meanwhile is Sign.LOOK
    assert queue.take() == GoOn(run("a"), Returned(0))
    assert names(queue.take()) == ["b"]


def test_steps_that_failed_together_come_one_by_one_and_before_all_others(queue: RunQueue) -> None:
    writes(queue, "a", "b")
    work = queue.take()
    assert isinstance(work, Together)
    writes(queue, "c")
    queue.put(run("d"), None)
    queue.written(work, [], [replace(one, by_itself=True) for one in reversed(work.waiting)])

    assert [names(queue.take()) for _ in range(2)] == [["a"], ["b"]]
    assert queue.take() == GoOn(run("d"), None)
    # One that waits for its row alone keeps no others from being written.
    assert names(queue.take()) == ["c"]


def test_what_waits_to_be_written_is_written_before_the_threads_end(queue: RunQueue) -> None:
    writes(queue, "a")
    queue.put(run("b"), None)
    queue.stop()

    assert names(queue.take()) == ["a"]
    assert queue.take() is Sign.STOP


def test_a_step_is_stuck_only_while_no_thread_takes_turns(queue: RunQueue) -> None:
    """All threads are in tools that take their time: nobody would come for it."""
    queue.arrive()
    writes(queue, "a")
    while_turning = queue.is_stuck()

    queue.leave()
    while_away = queue.is_stuck()
    queue.arrive()
    queue.put(run("b"), None)
    queue.take()

    assert (while_turning, while_away, queue.is_stuck()) == (False, True, False)


def test_a_thread_that_takes_no_turn_any_more_is_noticed_at_the_third_look(
    queue: RunQueue,
) -> None:
    """It waits for a row, or a slow store; the steps gathered meanwhile must not wait with it."""
    queue.arrive()
    writes(queue, "a")

    looks = [queue.is_stuck() for _ in range(4)]

    assert looks == [False, False, True, True]


def test_a_thread_sleeps_on_while_another_takes_turns_and_wakes_when_that_one_goes_away(
    queue: RunQueue,
) -> None:
    queue.arrive()
    taken: SimpleQueue[Any] = SimpleQueue()

    def second() -> None:
        queue.arrive()
        taken.put(queue.take())

    other = threading.Thread(target=second)
    other.start()
    eventually(lambda: queue.sleeping == 1)
    queue.put(run("a"), None)
    still_asleep = taken.empty()
    queue.leave()

    assert taken.get(timeout=PATIENCE_S) == GoOn(run("a"), None)
    assert still_asleep
    other.join(PATIENCE_S)


def _sleep(queue: RunQueue, threads: int) -> bool:
    return queue.sleeping == threads


def test_the_thread_that_slept_last_is_woken_first(queue: RunQueue) -> None:
    """Its connection knows the statements, and the server's process has them at hand."""
    taken: SimpleQueue[str] = SimpleQueue()

    def work(name: str) -> None:
        queue.arrive()
        while queue.take() is not Sign.STOP:
            taken.put(name)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("first", "second")]
    for number, thread in enumerate(threads, 1):
        thread.start()
        eventually(partial(_sleep, queue, number))

    woken = []
    for _ in range(3):
        queue.put(run("a"), None)
        woken.append(taken.get(timeout=PATIENCE_S))
        eventually(partial(_sleep, queue, len(threads)))
    queue.stop()

    assert woken == ["second"] * 3
    for thread in threads:
        thread.join(PATIENCE_S)


def test_the_step_of_the_only_run_need_not_queue(queue: RunQueue) -> None:
    began = queue.begin_at_once()
    queue.end_at_once()

    assert began
    assert queue.begin_at_once()


@pytest.mark.parametrize("meanwhile", ["put", "write", "look", "stop"])
def test_a_step_is_gathered_when_there_is_anything_else_to_do(
    queue: RunQueue, meanwhile: str
) -> None:
    match meanwhile:
        case "put":
            queue.put(run("a"), None)
        case "write":
            writes(queue, "a")
        case "look":
            queue.look()
        case "stop":
            queue.stop()

    assert not queue.begin_at_once()


def test_while_a_step_is_written_alone_the_next_ones_gather(queue: RunQueue, clock: Hands) -> None:
    queue.begin_at_once()
    writes(queue, "a")
    queue.look()

    assert queue.take() is Sign.LOOK
    clock.now_s += 2 * OVERDUE_S
    assert names(queue.take()) == ["a"]


def test_what_was_gathered_goes_without_a_step_that_waits_for_its_row(
    queue: RunQueue, clock: Hands
) -> None:
    """Whoever writes that one comes back when it pleases somebody; nobody else is woken for it."""
    queue.begin_at_once()
    writes(queue, "a")
    taken: SimpleQueue[Any] = SimpleQueue()

    def other() -> None:
        queue.arrive()
        taken.put(queue.take())

    thread = threading.Thread(target=other)
    thread.start()
    clock.now_s += 2 * OVERDUE_S

    assert names(taken.get(timeout=PATIENCE_S)) == ["a"]
    thread.join(PATIENCE_S)


def test_a_thread_about_to_be_away_does_not_wait_for_the_row_of_a_step_that_goes_by_itself(
    queue: RunQueue,
) -> None:
    writes(queue, "a")
    work = queue.take()
    assert isinstance(work, Together)
    queue.written(work, [], [replace(one, by_itself=True) for one in work.waiting])

    assert queue.gather() is None
    assert names(queue.gather_stuck()) == ["a"]


def test_there_is_a_hand_while_some_thread_takes_turns_or_sleeps(queue: RunQueue) -> None:
    before = queue.has_hand
    queue.arrive()
    turning = queue.has_hand
    queue.leave()

    assert (before, turning, queue.has_hand) == (False, True, False)


def test_before_a_long_wait_everything_gathered_is_taken(queue: RunQueue) -> None:
    nothing = queue.gather()
    writes(queue, "a", "b")

    assert nothing is None
    assert names(queue.gather()) == ["a", "b"]
