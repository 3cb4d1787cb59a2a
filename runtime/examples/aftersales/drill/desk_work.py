"""The robot person on a thread of its own: reading the books may take its time."""

import logging
import threading
from collections.abc import Callable

import httpx
from django.db import Error as DatabaseError
from django.db import connection
from psycopg import Error as DriverError

from runtime.examples.aftersales.control import ShopDesk
from runtime.examples.aftersales.demo.person import Person
from runtime.examples.aftersales.demo.watch import Watch
from runtime.store.session import forget_connection

EVERY_S = 0.3
_LOG = logging.getLogger("drill.robot")


class RobotThread:
    """Answers open review items until it is stopped.

    Args:
        desk_url: Where it reads the books.
        watch: The tasks of the run; None before the first.
        may_answer: Asked before each look. Nobody can truthfully say "it did not happen" while a
            process stands still that may wake up and do it.
        tell: Told of each decision.
    """

    def __init__(
        self,
        desk_url: str,
        watch: Callable[[], Watch | None],
        may_answer: Callable[[], bool],
        tell: Callable[[str], None],
    ) -> None:
        self._desk_url = desk_url
        self._watch = watch
        self._may_answer = may_answer
        self._tell = tell
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="robot", daemon=True)

    def start(self) -> None:
        """Start answering."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the present answer."""
        self._stop.set()
        self._thread.join(20)

    def _work(self) -> None:
        with ShopDesk(self._desk_url) as desk:
            person = Person(desk)
            while not self._stop.wait(EVERY_S):
                try:
                    self._look(person)
                except (DatabaseError, DriverError, httpx.HTTPError) as error:
                    # The database or the shop is away: a person comes back later.
                    _LOG.info("the robot was interrupted: %s", error)
                    forget_connection()
        connection.close()

    def _look(self, person: Person) -> None:
        watch = self._watch()
        if watch is None or not self._may_answer():
            return
        for item in watch.open_reviews():
            for sentence in person.take_up([item]):
                self._tell(sentence)
