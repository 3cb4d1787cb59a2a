"""The threads and the event loop on which drivers run, and the watch over both.

A thread takes turns with the drivers that can go on; see ``runtime.engine.runqueue``.  A ``def``
tool runs on that same thread: there is no hop, and a worker does thousands of small steps a second.
When a tool outstays its deadline the watch takes the driver away from the hung thread and gives it
to a fresh one.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from django.db import connection, transaction

from runtime.engine.loop import Loop
from runtime.engine.ports import Clock
from runtime.engine.recorder import Recorder
from runtime.engine.requests import (
    Close,
    InTransaction,
    NextSlice,
    OnLoop,
    OnThread,
    Outcome,
    Raised,
    Request,
    Returned,
    RollBack,
    Steps,
    Write,
)
from runtime.engine.runqueue import GoOn, Run, RunQueue, Sign, Together, Waiting
from runtime.engine.tickets import Ticket
from runtime.store.commits import Commit
from runtime.store.session import TogetherRefused, forget_connection, unwrapped

_LOG = logging.getLogger("runtime.pool")

type Committing = Callable[[Sequence[Commit]], list[int | Exception]]
"""Writes steps of different tasks; gives each one's attention, or why it is not written."""
_SLOW_S = 0.0005
"""Code that takes longer than this is something to wait for: others go on meanwhile."""


class _Abandoned(BaseException):
    """The watch has taken the run away: this thread must touch nothing more."""


class Pool:
    """Threads, loop and watch of one worker.

    Args:
        clock: For deadlines.
        recorder: Told which task's code runs.
        threads: Threads that work at once.
        idle: Called on a thread that has little to do; may put new runs.
        commit: Writes the steps of several runs.
    """

    WATCH_S = 0.02

    def __init__(
        self,
        clock: Clock,
        recorder: Recorder,
        threads: int,
        idle: Callable[[], None],
        commit: Committing,
    ) -> None:
        """Prepare; nothing runs before ``start``."""
        self._clock = clock
        self._recorder = recorder
        self._threads = threads
        self._idle = idle
        self._commit = commit
        self._queue = RunQueue(clock)
        #: How long code took the last times, by its name.
        self._took_s: dict[str, float] = {}
        self._pace_s = 1.0
        self._current: dict[int, Ticket] = {}
        self._slots: dict[int, int] = {}
        self._stopping = threading.Event()
        self._rescue = threading.Lock()
        self._workers: list[threading.Thread] = []
        self._loop = Loop(clock, recorder, self.put)
        self.abandoned = 0

    def start(self) -> None:
        """Start threads, loop and watch."""
        for _ in range(self._threads):
            self._spawn()
        self._loop.start()
        threading.Thread(target=self._watch, name="watch", daemon=True).start()

    def put(self, run: Run, outcome: Outcome = None) -> None:
        """Have a run go on as soon as a thread is free."""
        self._queue.put(run, outcome)

    def nudge(self) -> None:
        """Wake one thread to look for work."""
        self._queue.look()

    @property
    def backlog(self) -> int:
        """Runs that wait for a thread."""
        return self._queue.backlog

    @property
    def has_hand(self) -> bool:
        """Whether a thread would take what comes now."""
        return self._queue.has_hand

    @property
    def is_brisk(self) -> bool:
        """Whether code takes so little time that one thread can take turns with many runs."""
        return self._pace_s < _SLOW_S

    def is_quick(self, name: str) -> bool:
        """Whether code of this name took so little time lately that nothing goes on meanwhile."""
        return self._took_s.get(name, 1.0) < _SLOW_S

    def stop(self, timeout_s: float) -> None:
        """End the threads once they have nothing to do; hung ones are left behind."""
        self._stopping.set()
        self._queue.stop()
        until = self._clock.boottime_s() + timeout_s
        for thread in self._workers:
            thread.join(max(0.0, until - self._clock.boottime_s()))
        self._loop.stop()

    # --- threads ---------------------------------------------------------------------------------

    def _spawn(self) -> None:
        number = len(self._workers)
        thread = threading.Thread(
            target=self._work,
            args=(number,),
            name=f"work-{number}",
            daemon=True,
        )
        self._workers.append(thread)
        thread.start()

    def _work(self, number: int) -> None:
        self._slots[threading.get_ident()] = number
        self._queue.arrive()
        try:
            while self._turn():
                if self._queue.backlog < self._threads:
                    self._idle()
        except _Abandoned:
            pass
        except Exception:  # noqa: BLE001 (a bug of ours must not cost the worker a thread)
            _LOG.exception("a thread of the pool ended")
            self._spawn()
        finally:
            self._queue.leave()
            self._current.pop(threading.get_ident(), None)
            self._slots.pop(threading.get_ident(), None)
            connection.close()

    def _turn(self) -> bool:
        """Do the next thing; False when this thread is to end."""
        match self._queue.take():
            case GoOn(run, outcome):
                self._go_on(run, outcome)
            case Together(waiting) as batch if waiting[0].by_itself:
                # Its row may be locked for as long as somebody likes.
                self._queue.leave()
                self._write(batch)
                self._queue.arrive()
            case Together() as batch:
                self._write(batch)
            case Sign.STOP:
                return False
            case Sign.LOOK:
                pass
        return True

    def _go_on(self, run: Run, outcome: Outcome) -> None:
        """Run a driver until it must wait or is over."""
        try:
            request: Request | None = run.script.send(outcome)
            while request is not None:
                request = self._serve(run, request)
        except StopIteration:
            run.over(None)
        except _Abandoned:
            raise
        except BaseException as error:  # noqa: BLE001 (the driver's own error: its owner decides)
            run.over(error)

    def _serve(self, run: Run, request: Request) -> Request | None:
        """Do what a driver asked for and give its next request; None once it waits elsewhere."""
        match request:
            case Write(step):
                if self._queue.begin_at_once():
                    return run.script.send(self._write_at_once(step))
                self._queue.write(run, step)
            case OnThread():
                return run.script.send(self._call(run, request))
            case InTransaction():
                self._leave_nothing_waiting()
                return self._call_in_transaction(run, request)
            case OnLoop():
                self._loop.run(run, request)
            case NextSlice():
                self.put(run)
            case Close() | RollBack():
                return run.script.send(None)
        return None

    def _write_at_once(self, step: Commit) -> Outcome:
        """Write the step of the only run that has anything to do: it need not queue."""
        try:
            (found,) = self._commit([step])
        finally:
            self._queue.end_at_once()
        return _told(found)

    def _write(self, batch: Together) -> None:
        """Write steps together; if that cannot be, each one by itself."""
        outcomes: list[GoOn] = []
        apart: list[Waiting] = []
        try:
            found = self._commit([one.step for one in batch.waiting])
        except TogetherRefused:
            # One of them holds up the others, or fails all of them: nobody knows which.
            apart = [replace(one, by_itself=True) for one in reversed(batch.waiting)]
        else:
            outcomes = [
                GoOn(one.run, _told(what)) for one, what in zip(batch.waiting, found, strict=True)
            ]
        self._queue.written(batch, outcomes, apart)

    def _call(self, run: Run, request: OnThread | InTransaction) -> Outcome:
        me, name = threading.get_ident(), request.name
        is_slow = not self.is_quick(name)
        if is_slow and isinstance(request, OnThread):
            self._leave_nothing_waiting()
        started_s = self._clock.boottime_s()
        ticket = Ticket(run, request.timeout_s, started_s + request.timeout_s)
        if is_slow and ticket.goes_away():
            self._queue.leave()
        ticket.begin()
        self._current[me] = ticket
        slot = self._slots[me]
        self._recorder.enter(slot, *run.noted)
        try:
            outcome: Outcome = Returned(request.run())
        except BaseException as error:  # noqa: BLE001 (a tool may raise anything, SystemExit too)
            outcome = Raised(error)
        self._recorder.leave(slot)
        took_s = self._clock.boottime_s() - started_s
        self._took_s[name] = (took_s + self._took_s.get(name, took_s)) / 2
        self._pace_s += (took_s - self._pace_s) / 16
        won = ticket.take()
        if ticket.away:
            self._queue.arrive()
        if not won:
            raise _Abandoned
        self._current.pop(me, None)
        return outcome

    def _leave_nothing_waiting(self) -> None:
        """Write what was gathered: this thread is about to be away for a while."""
        batch = self._queue.gather()
        if batch is not None:
            self._write(batch)

    def _call_in_transaction(self, run: Run, request: InTransaction) -> Request:
        """Run a ``local`` tool and the commit of its step in one transaction.

        The driver commits its step while the transaction is open and then yields ``Close``; when
        the tool fails, the transaction is rolled back before the driver hears of it.
        """
        request_next: Request = Close()
        failed: Outcome = None
        try:
            with transaction.atomic():
                outcome = self._call(run, request)
                if isinstance(outcome, Raised):
                    failed = outcome
                    transaction.set_rollback(True)
                else:
                    request_next = self._write_here(run.script, run.script.send(outcome))
                    if isinstance(request_next, RollBack):
                        transaction.set_rollback(True)
        except Exception as error:  # noqa: BLE001 (a lost connection at COMMIT is the driver's matter)
            if not isinstance(request_next, RollBack):
                return run.script.throw(unwrapped(error))
            # The server that could not roll back is gone, and the transaction with it.
            forget_connection()
        if failed is not None:
            return run.script.send(failed)
        return run.script.send(None) if isinstance(request_next, Close | RollBack) else request_next

    def _write_here(self, script: Steps[None], request: Request) -> Request:
        """Write the steps of a driver in the transaction that is open on this thread."""
        while isinstance(request, Write):
            (found,) = self._commit([request.step])
            request = script.send(_told(found))
        return request

    # --- watch -----------------------------------------------------------------------------------

    def _watch(self) -> None:
        ticks = 0
        while not self._stopping.wait(self.WATCH_S):
            now_s = self._clock.boottime_s()
            for me, ticket in list(self._current.items()):
                self._notice(ticket, now_s)
                if ticket.deadline_s < now_s and ticket.take():
                    self._current.pop(me, None)
                    self._replace(ticket)
            if self._queue.is_stuck() and self._rescue.acquire(blocking=False):
                threading.Thread(target=self._write_stuck, name="rescue", daemon=True).start()
            ticks += 1
            if ticks % 50 == 0:
                self.abandoned += self._loop.rescue(now_s)

    def _notice(self, ticket: Ticket, now_s: float) -> None:
        """Have another thread take turns while a call takes longer than its kind did before."""
        usual_s = min(self.WATCH_S, ticket.timeout_s)
        if now_s - (ticket.deadline_s - ticket.timeout_s) > usual_s and ticket.goes_away():
            self._queue.leave()

    def _write_stuck(self) -> None:
        """Write what waits while every thread of the pool is in the hands of some tool."""
        batch = self._queue.gather_stuck()
        if batch is None or batch.waiting[0].by_itself:
            # It may wait for its row as long as somebody likes: that must not end all rescues.
            self._rescue.release()
        try:
            if batch is not None:
                self._write(batch)
        finally:
            if batch is not None and not batch.waiting[0].by_itself:
                self._rescue.release()
            connection.close()

    def _replace(self, ticket: Ticket) -> None:
        """Leave a hung thread behind: its run goes on elsewhere, a fresh thread takes its place."""
        _LOG.warning("%s: a tool outstayed its deadline; its thread is abandoned", ticket.run.name)
        self.abandoned += 1
        self._spawn()
        self.put(ticket.run, ticket.timed_out())


def _told(found: int | Exception) -> Returned | Raised:
    return Raised(found) if isinstance(found, Exception) else Returned(found)
