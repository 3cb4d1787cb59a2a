"""The event loop of a worker, on a thread of its own: ``async def`` tools run there."""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

from runtime.core.errors import type_name
from runtime.engine.ports import Clock
from runtime.engine.recorder import Recorder
from runtime.engine.requests import OnLoop, Outcome, Raised, Returned
from runtime.engine.runqueue import Run
from runtime.engine.tickets import Ticket

_LOG = logging.getLogger("runtime.pool")
_GRACE_S = 1.0
"""A deadline that passed so long ago was missed by the loop's own timer: some tool blocks it."""


class Loop:
    """Runs coroutines and has their runs go on.

    Args:
        clock: For deadlines.
        recorder: Told which task's code runs.
        put: Has a run go on with the outcome of its call.
    """

    def __init__(
        self, clock: Clock, recorder: Recorder, put: Callable[[Run, Outcome], None]
    ) -> None:
        """Prepare; nothing runs before ``start``."""
        self._clock = clock
        self._recorder = recorder
        self._put = put
        self._under_way: set[Ticket] = set()
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._is_over = False
        self._thread = threading.Thread(target=self._run, name="loop", daemon=True)

    def start(self) -> None:
        """Begin to run."""
        self._thread.start()

    def stop(self) -> None:
        """End soon; coroutines that are under way are left, and none begins any more."""
        with self._lock:
            self._is_over = True
            self._loop.call_soon_threadsafe(self._loop.stop)

    def run(self, run: Run, request: OnLoop) -> None:
        """Run a coroutine for a run, which goes on with its outcome."""
        deadline_s = self._clock.boottime_s() + request.timeout_s
        ticket = Ticket(run, request.timeout_s, deadline_s)
        with self._lock:
            if not self._is_over:
                self._under_way.add(ticket)
                self._loop.call_soon_threadsafe(self._begin, ticket, request)

    def rescue(self, now_s: float) -> int:
        """Have the runs go on whose timers cannot fire because some tool blocks the loop.

        Returns:
            How many there were.
        """
        with self._lock:
            late = [one for one in self._under_way if one.deadline_s + _GRACE_S < now_s]
        for ticket in late:
            self._finish(ticket, ticket.timed_out())
        return len(late)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        while True:
            try:
                self._loop.run_forever()
            except BaseException as error:  # noqa: BLE001 (asyncio lets a tool's exit end the loop)
                _LOG.warning("a tool's %s would have ended the event loop", type_name(error))
            else:
                # A tool may stop the loop, too; the others' calls go on.
                if self._is_over:
                    self._close()
                    return

    def _close(self) -> None:
        with self._lock:
            # What is under way would be complained about, and belongs to nobody any more.
            if not asyncio.all_tasks(self._loop):
                self._loop.close()

    def _begin(self, ticket: Ticket, request: OnLoop) -> None:
        if not ticket.begin():
            return
        try:
            coroutine = self._recorder.stepping(*ticket.run.noted, request.run())
            task = self._loop.create_task(coroutine)
        except BaseException as error:  # noqa: BLE001 (a tool may raise anything)
            self._finish(ticket, Raised(error))
            return
        timer = self._loop.call_later(request.timeout_s, self._expire, ticket, task)

        def done(finished: asyncio.Task[Any]) -> None:
            timer.cancel()
            self._finish(ticket, _outcome(finished))

        task.add_done_callback(done)

    def _expire(self, ticket: Ticket, task: asyncio.Task[Any]) -> None:
        # The outcome is delivered first: a coroutine that swallows its cancellation holds nobody.
        self._finish(ticket, ticket.timed_out())
        task.cancel()

    def _finish(self, ticket: Ticket, outcome: Outcome) -> None:
        if ticket.take():
            with self._lock:
                self._under_way.discard(ticket)
            self._put(ticket.run, outcome)


def _outcome(finished: asyncio.Task[Any]) -> Outcome:
    if finished.cancelled():
        return Raised(asyncio.CancelledError("the tool was cancelled"))
    error = finished.exception()
    return Returned(finished.result()) if error is None else Raised(error)
