"""The one reader of hints in a web process: it hears the channel layer for all open sockets.

It joins first and looks at the database after, so that nothing falls between; every few seconds it
looks anyway, and oftener while the layer is silent.  One query serves all sockets of the process.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol
from uuid import UUID
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from channels.layers import get_channel_layer

from console import queries
from console.live.known import memory
from console.live.names import GONE, PING

_LOG = logging.getLogger("console.live")
#: The group and message of `runtime.actors.live`; a test holds the two together.
GROUP: Final = "tasks"
MOVED: Final = "tasks.moved"
GATHER_S: Final = 0.25
BEAT_S: Final = 2.0
SILENT_S: Final = 5.0
LOOK_S: Final = 15.0
LOOK_WHILE_AWAY_S: Final = 2.0
PULSE_S: Final = 1.0


class Socket(Protocol):
    """What the reader asks of a socket; none of it waits for the network."""

    user_id: int
    session: str
    watched: dict[UUID, int]

    def offer(self, moves: Mapping[UUID, int], *, others: bool) -> None:
        """Take how far tasks are; it keeps what it watches and does not know yet."""
        ...

    def tell(self, **facts: Any) -> None:
        """Take facts for everybody."""
        ...

    def end(self, code: int) -> None:
        """Close for good."""
        ...


class Reader:
    """Hears hints while sockets are open."""

    def __init__(self) -> None:
        """Hear nothing yet."""
        self.sockets: set[Socket] = set()
        self.is_away = False
        self._moves: dict[UUID, int] = {}
        self._some = asyncio.Event()
        self._look_now = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._channel: str | None = None
        self._heard_s = 0.0
        self._offset = timedelta(0)
        self._reviews: int | None = None
        self._pulsed_s = 0.0

    def now(self) -> str:
        """Give the present by the database's clock, as of its last look."""
        return (datetime.now(UTC) + self._offset).isoformat()

    def join(self, socket: Socket) -> None:
        """Serve a socket from now on."""
        self.sockets.add(socket)
        if not self._tasks:
            self._heard_s = _clock_s()
            work = (self._listen, self._forward, self._beat, self._look)
            self._tasks = [asyncio.create_task(self._keep(one)) for one in work]
        socket.tell(reviews=self._reviews)

    def leave(self, socket: Socket) -> None:
        """Serve it no longer; the last one ends the reading."""
        self.sockets.discard(socket)
        if not self.sockets:
            for task in self._tasks:
                task.cancel()
            self._tasks, self._channel, self._reviews = [], None, None

    def hear(self, message: Mapping[str, Any]) -> None:
        """Take one message of the layer."""
        self._heard_s = _clock_s()
        if self.is_away:
            self._set_away(away=False)
        match message.get("type"):
            case kind if kind == MOVED:
                for task_id, seq in message["moves"]:
                    known = UUID(task_id)
                    self._moves[known] = max(seq, self._moves.get(known, 0))
                self._some.set()
            case kind if kind == GONE:
                memory.forget()
                for socket in list(self.sockets):
                    if message["user"] == socket.user_id or message["session"] == socket.session:
                        socket.end(message["code"])

    async def look(self) -> None:
        """Ask the database how far all watched tasks are."""
        watched = {task_id for socket in self.sockets for task_id in socket.watched}
        found, now, reviews = await _facts(watched)
        self._offset = now - datetime.now(UTC)
        for socket in list(self.sockets):
            socket.offer(found, others=self.is_away)
        self._say_reviews(reviews)

    # --- what it does all the time ---------------------------------------------------------------

    async def _keep(self, what: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do something again and again, over whatever fails."""
        while True:
            try:
                await what()
            except Exception as error:  # noqa: BLE001 (the layer or the database, away in any way)
                if not self.is_away:
                    _LOG.warning("live updates are interrupted: %s", error)
                self._set_away(away=True)
                await asyncio.sleep(BEAT_S * (0.5 + random.random()))

    async def _listen(self) -> None:
        """Join, look, then hear, for as long as it goes well."""
        self._channel = None
        layer = get_channel_layer()
        channel = await layer.new_channel()
        await layer.group_add(GROUP, channel)
        self._channel = channel
        await self.look()
        while True:
            self.hear(await layer.receive(channel))

    async def _forward(self) -> None:
        await self._some.wait()
        self._some.clear()
        moves, self._moves = self._moves, {}
        for socket in list(self.sockets):
            socket.offer(moves, others=True)
        if _clock_s() - self._pulsed_s > PULSE_S:
            self._pulsed_s = _clock_s()
            self._say_reviews(await _open_reviews())
        await asyncio.sleep(GATHER_S)

    async def _beat(self) -> None:
        await asyncio.sleep(BEAT_S)
        for socket in list(self.sockets):
            socket.tell()
        if _clock_s() - self._heard_s > SILENT_S:
            self._set_away(away=True)
        if self._channel is not None:
            async with asyncio.timeout(BEAT_S):
                await get_channel_layer().send(self._channel, {"type": PING})

    async def _look(self) -> None:
        with contextlib.suppress(TimeoutError):
            wait_s = LOOK_WHILE_AWAY_S if self.is_away else LOOK_S
            await asyncio.wait_for(self._look_now.wait(), wait_s)
        self._look_now.clear()
        await self.look()

    def _set_away(self, *, away: bool) -> None:
        """Say when hints stop or come again; what was missed meanwhile is looked up."""
        if away == self.is_away:
            return
        self.is_away = away
        for socket in list(self.sockets):
            socket.tell()
        self._look_now.set()

    def _say_reviews(self, number: int) -> None:
        if number != self._reviews:
            self._reviews = number
            for socket in list(self.sockets):
                socket.tell(reviews=number)


def _clock_s() -> float:
    return asyncio.get_running_loop().time()


@database_sync_to_async  # type: ignore[untyped-decorator]
def _facts(watched: set[UUID]) -> tuple[dict[UUID, int], datetime, int]:
    return queries.versions(watched), queries.database_now(), queries.open_reviews()


@database_sync_to_async  # type: ignore[untyped-decorator]
def _open_reviews() -> int:
    return queries.open_reviews()


_readers: WeakKeyDictionary[asyncio.AbstractEventLoop, Reader] = WeakKeyDictionary()


def reader() -> Reader:
    """Give the reader of the running loop."""
    return _readers.setdefault(asyncio.get_running_loop(), Reader())
