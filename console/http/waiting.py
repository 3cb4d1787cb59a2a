"""Waiting for a task to move: one small query serves everybody who waits in this process.

A waiter holds no database connection.  It is told when its task has ended or moved; nothing breaks
when it is not told, because its caller asks again.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import connection

from runtime import api

_LOG = logging.getLogger("console.http.waiting")
EVERY_S: Final = 0.1
MOST_WAITERS: Final = 500
"""Waiting is a courtesy: a crowd is answered at once, and asks again."""

type Versions = Callable[[Sequence[UUID]], dict[UUID, tuple[int, bool]]]


@dataclass(frozen=True, slots=True, eq=False)
class _Waiter:
    task_id: UUID
    beyond: int | None
    loop: asyncio.AbstractEventLoop
    told: asyncio.Future[None]


class Watch:
    """Watches tasks for waiters; its thread lives as long as somebody waits.

    Args:
        versions: Reads of each task its version and whether it has ended.
        most: Waiters at once; beyond this many a caller is answered at once.
    """

    def __init__(self, versions: Versions = api.versions, most: int = MOST_WAITERS) -> None:
        self._versions = versions
        self._most = most
        self._lock = threading.Lock()
        self._waiters: set[_Waiter] = set()
        self._is_running = False
        self._pause = threading.Event()  # never set: a pause that costs no sleep in tests

    @property
    def waiting(self) -> int:
        """How many wait now."""
        return len(self._waiters)

    async def wait(self, task_id: UUID, timeout_s: float, beyond: int | None = None) -> None:
        """Return when a task has ended or is gone, or after a time.

        Args:
            task_id: The task.
            timeout_s: Seconds to wait at most.
            beyond: Return also when its version is greater than this.
        """
        loop = asyncio.get_running_loop()
        waiter = _Waiter(task_id, beyond, loop, loop.create_future())
        if not self._join(waiter):
            return
        try:
            async with asyncio.timeout(timeout_s):
                await waiter.told
        except TimeoutError:
            pass
        finally:
            with self._lock:
                self._waiters.discard(waiter)

    def _join(self, waiter: _Waiter) -> bool:
        with self._lock:
            if len(self._waiters) >= self._most:
                return False
            self._waiters.add(waiter)
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name="watch", daemon=True).start()
        return True

    def _run(self) -> None:
        try:
            while waiters := self._present():
                try:
                    self._look(waiters)
                except Exception as error:  # noqa: BLE001 (the database is away: waiters time out)
                    _LOG.warning("waiting tasks could not be looked at: %s", error)
                    connection.close()
                self._pause.wait(EVERY_S)
        finally:
            connection.close()

    def _present(self) -> list[_Waiter]:
        with self._lock:
            if not self._waiters:
                self._is_running = False
            return list(self._waiters)

    def _look(self, waiters: list[_Waiter]) -> None:
        known = self._versions(list({waiter.task_id for waiter in waiters}))
        for waiter in waiters:
            version, ended = known.get(waiter.task_id, (0, True))
            if ended or (waiter.beyond is not None and version > waiter.beyond):
                _tell(waiter)


def _tell(waiter: _Waiter) -> None:
    def set_told() -> None:
        if not waiter.told.done():
            waiter.told.set_result(None)

    try:
        waiter.loop.call_soon_threadsafe(set_told)
    except RuntimeError:  # its loop has ended, and it with it
        _LOG.debug("a waiter's loop is gone")


watch = Watch()
