"""Hints for open pages: which task has reached which event, and nothing else.

Published to one group of the channel layer by a thread of the process that committed, gathered so
that a busy task costs ten messages a second.  A lost hint costs a page some seconds: it looks at
the database by itself.
"""

import asyncio
import atexit
import logging
import threading
import time
from functools import cache
from typing import Final
from uuid import UUID

from channels.layers import get_channel_layer

_LOG = logging.getLogger("runtime.live")
GROUP: Final = "tasks"
TYPE: Final = "tasks.moved"
GATHER_S: Final = 0.1
FIRST_S: Final = 0.03
"""The first hint waits so long: a short task is told of once, when it is over."""
MOST_IN_ONE: Final = 500
CLOSE_S: Final = 0.5


@cache
def live() -> "Live":
    """Give this process's publisher; its thread starts with the first hint."""
    found = Live()
    atexit.register(found.close)
    return found


class Live:
    """Gathers hints and publishes the newest of each task."""

    def __init__(self) -> None:
        """Start nothing: a process may fork before its first hint."""
        self._moves: dict[UUID, int] = {}
        self._some = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._away = False

    def moved(self, task_id: UUID, seq: int) -> None:
        """Take one hint; never blocks on the network and never fails."""
        with self._some:
            is_first = not self._moves
            if seq > self._moves.get(task_id, 0):
                self._moves[task_id] = seq
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="live", daemon=True)
                self._thread.start()
            if is_first:
                # Once a batch: waking the thread at every commit costs a tenth of a worker.
                self._some.notify()

    def close(self) -> None:
        """Publish what is left and end; hints that come later are dropped."""
        with self._some:
            self._closed = True
            self._some.notify()
        if self._thread is not None:
            self._thread.join(CLOSE_S)

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            sent_s = 0.0
            while moves := self._next(sent_s):
                sent_s = time.monotonic()
                self._publish(runner, moves)

    def _next(self, sent_s: float) -> dict[UUID, int]:
        """Wait for hints, and for those that come right behind them; empty when closed."""
        with self._some:
            self._some.wait_for(lambda: self._moves or self._closed)
            left_s = max(sent_s + GATHER_S - time.monotonic(), FIRST_S)
            self._some.wait_for(lambda: self._closed, left_s)
            moves, self._moves = self._moves, {}
            return moves

    def _publish(self, runner: asyncio.Runner, moves: dict[UUID, int]) -> None:
        known = [[str(task_id), seq] for task_id, seq in moves.items()]
        try:
            for start in range(0, len(known), MOST_IN_ONE):
                part = known[start : start + MOST_IN_ONE]
                _send_twice(runner, {"type": TYPE, "moves": part})
        except Exception as error:  # noqa: BLE001 (a doorbell: whatever fails, nobody waits for it)
            if not self._away:
                _LOG.warning("open pages are not told: %s", error)
            self._away = True
        else:
            self._away = False


def _send_twice(runner: asyncio.Runner, message: dict[str, object]) -> None:
    """Send a message; again if a connection kept from before a restart of Valkey fails."""
    try:
        runner.run(_send(message))
    except Exception:  # noqa: BLE001 (whatever a dead connection raises; the second try tells)
        runner.run(_send(message))


async def _send(message: dict[str, object]) -> None:
    layer = get_channel_layer()
    if layer is not None:
        await layer.group_send(GROUP, message)
