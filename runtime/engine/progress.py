"""Keeps what running calls report: the latest word of each, written a few times a second."""

import logging
import threading
from uuid import UUID

from runtime.store import health
from runtime.store.claims import Claimed
from runtime.store.session import LOST, forget_connection

_LOG = logging.getLogger("runtime.progress")
type Word = tuple[Claimed, str, object]


class ProgressKeeper:
    """Takes progress without blocking and writes it from a thread of its own."""

    EVERY_S = 0.2

    def __init__(self) -> None:
        """Start with nothing; the thread starts with the first word."""
        self._latest: dict[UUID, Word] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def take(self, claimed: Claimed, call_id: str, progress: object) -> None:
        """Take the latest word of a call."""
        with self._lock:
            self._latest[claimed.id] = (claimed, call_id, progress)
            if self._thread is None:
                self._thread = threading.Thread(target=self._keep, name="progress", daemon=True)
                self._thread.start()

    def flush(self, task_id: UUID) -> None:
        """Write the latest word of one task now, on the calling thread."""
        with self._lock:
            word = self._latest.pop(task_id, None)
        if word is not None:
            _write(word)

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(2)

    def _keep(self) -> None:
        while not self._stop.wait(self.EVERY_S):
            with self._lock:
                words = list(self._latest.values())
                self._latest.clear()
            for word in words:
                _write(word)
        forget_connection()


def _write(word: Word) -> None:
    claimed, call_id, progress = word
    try:
        health.keep_progress(claimed.holder, claimed.namespace, call_id, progress)
    except LOST as error:
        # Progress is a courtesy to the next attempt, not a fact: the latest word comes again.
        _LOG.warning("progress of task %s was not kept: %s", claimed.id, error)
        forget_connection()
