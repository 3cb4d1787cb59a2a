"""What tests plug into the crash points: count the visits, or die at one of them.

The counts live in shared memory, so that the test reads what a killed process did.
"""

import mmap
import os
import signal
import struct
import sys
import threading
from dataclasses import dataclass

from runtime.engine.ports import CrashPoint
from runtime.engine.worker import Worker

_POINTS = list(CrashPoint)
_NUMBER = struct.Struct("=q")


@dataclass(frozen=True)
class Case:
    """Where a process dies: at the n-th visit of a crash point."""

    point: CrashPoint
    visit: int

    def __str__(self) -> str:
        return f"{self.point}:{self.visit}"


class Visits:
    """Counts of visits, shared by a test and its forks."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _NUMBER.size * len(_POINTS))

    def __call__(self, point: CrashPoint) -> None:
        """Count a visit."""
        place = _POINTS.index(point) * _NUMBER.size
        _NUMBER.pack_into(self._memory, place, self.of(point) + 1)

    def of(self, point: CrashPoint) -> int:
        """Tell how often a point was visited."""
        return int(_NUMBER.unpack_from(self._memory, _POINTS.index(point) * _NUMBER.size)[0])


class DieAt:
    """Dies by SIGKILL at one visit, its witness first if asked; or stands still.

    Args:
        case: Where.
        number: SIGSTOP has it stand still instead, as a suspended machine would.
        stand_still_in_call: Calls stop once their effect is there, so that the process dies while
            one is under way; for points that other threads visit.
        blind: Takes the witness along, as the loss of a whole machine would.
        drain_at_commit: The worker begins to drain after this commit; for points of the release.
    """

    def __init__(
        self,
        case: Case,
        *,
        number: int = signal.SIGKILL,
        stand_still_in_call: bool = False,
        blind: bool = False,
        drain_at_commit: int | None = None,
    ) -> None:
        self.visits = Visits()
        self._case = case
        self._number = number
        self._awoke = threading.Event()
        self._woken = mmap.mmap(-1, 1)
        self._stands_still = stand_still_in_call
        self._blind = blind
        self._drains_at = drain_at_commit
        self._worker: Worker | None = None

    def prepare(self, worker: Worker) -> None:
        """Get to know the worker in its own process."""
        self._worker = worker

    def __call__(self, point: CrashPoint) -> None:
        """Count a visit, and die if it is the one."""
        self.visits(point)
        its_turn = point == self._case.point and self.visits.of(point) >= self._case.visit
        if its_turn and not self._waits_for_effect():
            self._die()
        if point is CrashPoint.AFTER_COMMIT and self.visits.of(point) == self._drains_at:
            assert self._worker is not None
            self._worker.stopping = True
        if self._stands_still and point is CrashPoint.IN_CALL and self._effect_is_there():
            self._awoke.wait()

    def _waits_for_effect(self) -> bool:
        return self._stands_still and not self._effect_is_there()

    def _effect_is_there(self) -> bool:
        # A look before the one thing: two visits of it; then before and after the thing itself.
        return self.visits.of(CrashPoint.IN_CALL) >= 4

    def _die(self) -> None:
        worker = self._worker
        if self._blind and worker is not None and worker._recorder._watcher is not None:
            os.kill(worker._recorder._watcher, signal.SIGKILL)
        # Once only: the process may wake up again.
        self._case = Case(self._case.point, sys.maxsize)
        os.kill(os.getpid(), self._number)
        # A signal takes its time: without this the thread that sent it could go on for a moment
        # and do what it is stopped from doing.
        never = threading.Event()
        while not self._woken[0]:
            never.wait(0.001)
        self._awoke.set()

    def wake(self) -> None:
        """Tell a process that stands still that it may go on; SIGCONT must follow."""
        self._woken[0] = 1
