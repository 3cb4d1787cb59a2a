"""The right to go on with a run after a call."""

import threading

from runtime.engine.requests import CallNotBegun, CallTimedOut, Raised
from runtime.engine.runqueue import Run


class Ticket:
    """The right to go on with a run after a call: caller and watch race for it, one wins."""

    __slots__ = ("_lock", "away", "begun", "deadline_s", "run", "taken", "timeout_s")

    def __init__(self, run: Run, timeout_s: float, deadline_s: float) -> None:
        """Take the run and the deadline of its call, in seconds of the boot clock."""
        self.run = run
        self.timeout_s = timeout_s
        self.deadline_s = deadline_s
        self.begun = False
        self.taken = False
        self.away = False
        self._lock = threading.Lock()

    def begin(self) -> bool:
        """Begin the call, unless somebody has gone on without it: then it must never begin."""
        with self._lock:
            self.begun = not self.taken
            return self.begun

    def goes_away(self) -> bool:
        """Note that the call takes its time; True for whoever notes it first, while it lasts."""
        with self._lock:
            is_first = not (self.taken or self.away)
            self.away = self.away or is_first
            return is_first

    def take(self) -> bool:
        """Win or lose the race."""
        with self._lock:
            won = not self.taken
            self.taken = True
            return won

    def timed_out(self) -> Raised:
        """Give the outcome of a call that outstayed its deadline, or never came to begin."""
        error = CallTimedOut if self.begun else CallNotBegun
        return Raised(error(self.run.name, self.timeout_s))
