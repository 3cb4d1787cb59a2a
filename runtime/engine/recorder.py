"""The flight recorder: which task's own code was running when a worker's process ended.

A killed process cannot say anything any more, so it notes in shared memory what it is about to run
and a small process beside it reads that once the worker is gone.  It enters the death at once and
counts it against exactly the tasks whose code was running with nothing committed since; the
thousand that were merely waiting stay innocent.  If it dies too, the sweep notices the death and
nobody is accused.
"""

import mmap
import os
import signal
import struct
import sys
import threading
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any
from uuid import UUID

import psycopg

from runtime.store import leases
from runtime.store.session import AGAIN, bind

SLOTS = 64
_SLOT = struct.Struct("=16sq?")
_LOOP = SLOTS - 1
_BYE = b"bye"
_TRIES = 60
_PAUSE_S = 0.5


class Recorder:
    """Shared memory between a worker and the process that outlives it."""

    def __init__(self) -> None:
        """Make the memory; it is shared with whatever is forked later."""
        self._memory = mmap.mmap(-1, _SLOT.size * SLOTS)
        self._write_fd: int | None = None
        self._watcher: int | None = None
        self._worker = UUID(int=0)

    def enter(self, slot: int, task_id: UUID, version: int) -> None:
        """Note that code of a task runs from now on in this slot (a thread's number)."""
        if slot < SLOTS:
            runs = True
            _SLOT.pack_into(self._memory, slot * _SLOT.size, task_id.bytes, version, runs)

    def leave(self, slot: int) -> None:
        """Note that it has ended."""
        if slot < SLOTS:
            self._memory[slot * _SLOT.size + _SLOT.size - 1] = 0

    async def stepping[T](
        self,
        task_id: UUID,
        version: int,
        coroutine: Coroutine[Any, Any, T],
    ) -> T:
        """Run a coroutine so that it is noted exactly while its own code runs."""
        value: T = await self._steps(task_id, version, coroutine)
        return value

    @types.coroutine
    def _steps[T](
        self,
        task_id: UUID,
        version: int,
        coroutine: Coroutine[Any, Any, T],
    ) -> Generator[Any, Any, T]:
        """Drive a coroutine; the loop sees exactly what it would see without us."""
        step: Callable[[Any], Any] = coroutine.send
        sent: Any = None
        while True:
            self.enter(_LOOP, task_id, version)
            try:
                waits_for = step(sent)
            except StopIteration as stop:
                value: T = stop.value
                return value
            finally:
                self.leave(_LOOP)
            try:
                sent, step = (yield waits_for), coroutine.send
            except BaseException as error:  # noqa: BLE001 (cancellation too goes to the tool)
                sent, step = error, coroutine.throw

    # --- the process beside the worker -----------------------------------------------------------

    def fork(self, worker: UUID, direct_url: str) -> None:
        """Start the watching process; must hold: this process has no other threads yet."""
        read_fd, write_fd = os.pipe()
        self._worker = worker
        pid = os.fork()
        if pid == 0:
            os.close(write_fd)
            self._watch(read_fd, worker, direct_url)
        os.close(read_fd)
        self._write_fd, self._watcher = write_fd, pid

    def retire(self) -> None:
        """Tell the watching process that the worker ends of its own will."""
        if self._write_fd is None:
            return
        os.write(self._write_fd, _BYE)
        os.close(self._write_fd)
        self._write_fd = None
        if self._watcher is not None:
            os.waitpid(self._watcher, 0)

    def rename(self, worker: UUID) -> None:
        """Tell the watching process that the worker goes on as another incarnation."""
        if self._write_fd is not None:
            os.write(self._write_fd, worker.bytes)

    def _watch(self, read_fd: int, worker: UUID, direct_url: str) -> None:
        """Wait for the worker's end; never returns."""
        try:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            # Its own session: what ends the worker's terminal must not end its witness first.
            os.setsid()
            said = b""
            while chunk := os.read(read_fd, 64):
                said += chunk
            if not said.endswith(_BYE):
                renamed = UUID(bytes=said[-16:]) if len(said) >= 16 else worker  # noqa: PLR2004
                self._report(renamed, direct_url)
        except BaseException as error:  # noqa: BLE001 (nobody is left to hear it)
            sys.stderr.write(f"flight recorder: {error}\n")
        finally:
            os._exit(0)

    def _report(self, worker: UUID, direct_url: str) -> None:
        """Enter the death, all of it or nothing; a database that is away is waited for a while."""
        for left in reversed(range(_TRIES)):
            try:
                with psycopg.connect(direct_url, connect_timeout=5) as raw:
                    bind(raw)
                    for task_id, version in self.running():
                        leases.accuse(task_id, version)
                    leases.bury_one(worker, "its process was killed")
            except (*AGAIN, psycopg.OperationalError):
                # Lost in the middle of a commit it may count a death twice: one too many has a
                # task run on its own, one too few lets it kill another worker.
                if not left:
                    raise
                threading.Event().wait(_PAUSE_S)
            else:
                return

    def running(self) -> list[tuple[UUID, int]]:
        """List what is noted as running."""
        found = []
        for slot in range(SLOTS):
            task, version, runs = _SLOT.unpack_from(self._memory, slot * _SLOT.size)
            if runs:
                found.append((UUID(bytes=task), version))
        return found
