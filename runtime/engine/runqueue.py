"""What the threads of a pool do next: go on with a run, or write the steps of several runs.

Runs are few instructions long between two waits, and waking a thread costs more than that.  So one
thread takes turns with all runs, and their steps are gathered and written together.  Another is
woken when no thread takes turns any more: all that are awake are in code that takes its time.
"""

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol
from uuid import UUID

from runtime.engine.ports import Clock
from runtime.engine.requests import Outcome, Steps
from runtime.store.commits import Commit

MOST_TOGETHER = 32
"""Steps of one transaction: beyond it the rows are locked longer and little is gained."""
_FOR_EVER_S = -1.0
OVERDUE_S = 0.004
"""A step waits no longer than this for others to be written with it."""


class Run(Protocol):
    """One driver as the pool sees it."""

    name: str
    script: Steps[None]

    @property
    def noted(self) -> tuple[UUID, int]:
        """The task and the version its code runs on, for the flight recorder."""
        ...

    def over(self, error: BaseException | None) -> None:
        """Hear that the script has ended, by itself or by an error."""
        ...


@dataclass(frozen=True, slots=True)
class Waiting:
    """A run whose step waits to be written; ``by_itself`` if it failed together with others."""

    run: Run
    step: Commit
    since_s: float
    by_itself: bool = False


@dataclass(frozen=True, slots=True)
class GoOn:
    """Go on with a run, with the outcome of what it asked for."""

    run: Run
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Together:
    """Write these steps in one transaction."""

    waiting: tuple[Waiting, ...]


class Sign(Enum):
    """What is no work on a run."""

    LOOK = "look for more"
    STOP = "end this thread"


type Work = GoOn | Together | Sign


class RunQueue:
    """The queue of one pool.

    Args:
        clock: Tells how long a step has waited.
    """

    def __init__(self, clock: Clock) -> None:
        """Begin with nothing to do."""
        self._clock = clock
        self._ready: deque[GoOn] = deque()
        self._writes: deque[Waiting] = deque()
        self._lock = threading.Lock()
        #: Threads that sleep, each behind a lock of its own; the last one is the first to wake.
        self._asleep: list[threading.Lock] = []
        self._turning = 0
        self._writing = 0
        self._look = False
        self._stopping = False
        self._taken = 0
        self._seen = -1
        self._still = 0

    @property
    def backlog(self) -> int:
        """Runs that wait for a thread."""
        return len(self._ready) + len(self._writes)

    @property
    def has_hand(self) -> bool:
        """Whether a thread would take what comes now: not all are in code that takes its time."""
        return bool(self._asleep) or self._turning > 0

    @property
    def sleeping(self) -> int:
        """Threads that wait to be woken."""
        return len(self._asleep)

    # --- from anywhere ---------------------------------------------------------------------------

    def put(self, run: Run, outcome: Outcome) -> None:
        """Have a run go on as soon as a thread is free."""
        with self._lock:
            self._ready.append(GoOn(run, outcome))
            self._wake()

    def look(self) -> None:
        """Have a thread look for more work once nothing else is to be done."""
        with self._lock:
            self._look = True
            self._wake()

    def stop(self) -> None:
        """End each thread at its next turn; steps that wait are written first."""
        with self._lock:
            self._stopping = True
            while self._asleep:
                self._rouse()

    # --- from the pool's threads -----------------------------------------------------------------

    def arrive(self) -> None:
        """Count a thread that begins to take turns, or comes back to it."""
        with self._lock:
            self._turning += 1

    def leave(self) -> None:
        """Count a thread out that ends or is in code which takes its time: others go on."""
        with self._lock:
            self._turning -= 1
            if self._ready or self._writes or self._look:
                self._wake()

    def begin_at_once(self) -> bool:
        """Begin to write one step at once, if there is nothing else to do meanwhile or with it.

        Returns:
            False if there is: then the step is gathered with ``write``.
        """
        with self._lock:
            if self._ready or self._writes or self._look or self._writing or self._stopping:
                return False
            self._writing += 1
            return True

    def end_at_once(self) -> None:
        """End what ``begin_at_once`` began."""
        with self._lock:
            self._writing -= 1
            self._taken += 1

    def write(self, run: Run, step: Commit) -> None:
        """Have a run's step written with the next ones."""
        with self._lock:
            self._writes.append(Waiting(run, step, self._clock.boottime_s()))

    def written(
        self, batch: Together, outcomes: Iterable[GoOn], again: Iterable[Waiting] = ()
    ) -> None:
        """Take back what ``Together`` gave: runs that go on, and steps that go by themselves."""
        with self._lock:
            if not batch.waiting[0].by_itself:
                self._writing -= 1
            self._ready.extend(outcomes)
            self._writes.extendleft(again)
            self._wake()

    def gather(self) -> Together | None:
        """Take the steps that wait, without waiting for more.

        Returns:
            None if there are none, or the first one is to be written by itself: that may take as
            long as somebody holds its row, and is left to who has nothing else to do.
        """
        with self._lock:
            return self._together() if self._writes and not self._writes[0].by_itself else None

    def gather_stuck(self) -> Together | None:
        """Take the steps that wait, for who has nothing else to do."""
        with self._lock:
            return self._together() if self._writes else None

    def take(self) -> Work:
        """Wait for the next thing to do."""
        with self._lock:
            self._taken += 1
            while True:
                if self._writes and self._is_time():
                    return self._together()
                if self._stopping:
                    return Sign.STOP
                if self._ready:
                    return self._ready.popleft()
                if self._look:
                    self._look = False
                    return Sign.LOOK
                # Who writes meanwhile may wait for a row: then the gathered steps go without it.
                self._sleep(OVERDUE_S if self._writes else _FOR_EVER_S)

    # --- from the watch --------------------------------------------------------------------------

    def is_stuck(self) -> bool:
        """Look whether threads take turns at all, some milliseconds after the last look.

        The one that should may wait for a row that somebody holds, or for a slow store of
        artifacts: then another is woken.

        Returns:
            True if none is left to be woken and steps wait to be written.
        """
        with self._lock:
            waits = self._ready or self._writes or self._look
            is_still = bool(waits) and self._taken == self._seen
            self._still = self._still + 1 if is_still else 0
            self._seen = self._taken
            if self._asleep:
                if self._still > 1:
                    self._rouse()
                return False
            return bool(self._writes) and (self._turning <= 0 or self._still > 1)

    # --- under the lock --------------------------------------------------------------------------

    def _wake(self) -> None:
        if self._asleep and self._turning <= 0:
            self._rouse()

    def _rouse(self) -> None:
        # The one that slept last: the server knows its statements, and both have them at hand.
        self._asleep.pop().release()
        self._turning += 1

    def _sleep(self, longest_s: float) -> None:
        mine = threading.Lock()
        mine.acquire()
        self._asleep.append(mine)
        self._turning -= 1
        self._lock.release()
        try:
            mine.acquire(timeout=longest_s)
        finally:
            self._lock.acquire()
            if mine in self._asleep:
                self._asleep.remove(mine)
                self._turning += 1

    def _age_s(self) -> float:
        return self._clock.boottime_s() - self._writes[0].since_s

    def _is_time(self) -> bool:
        if self._writes[0].by_itself or self._stopping or len(self._writes) >= MOST_TOGETHER:
            return True
        # While one transaction is under way the next one gathers.
        if not self._ready and not self._writing:
            return True
        return self._age_s() > OVERDUE_S

    def _together(self) -> Together:
        if self._writes[0].by_itself:
            # It may wait for its row as long as somebody likes: nothing gathers meanwhile.
            return Together((self._writes.popleft(),))
        self._writing += 1
        taken: list[Waiting] = []
        while self._writes and len(taken) < MOST_TOGETHER and not self._writes[0].by_itself:
            taken.append(self._writes.popleft())
        return Together(tuple(taken))
