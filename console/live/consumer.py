"""One open page's socket: who it is, what it watches, what it has not been told yet.

It takes one kind of message, "I watch these tasks and know them up to here", and sends how far they
are.  Nothing is written here, and what waits to be sent is merged, so a slow page costs no memory.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from channels.auth import get_user
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.http.request import split_domain_port, validate_host

from console import queries
from console.access import Permission, allowed
from console.live.marks import mark
from console.live.names import MALFORMED, NOT_ALLOWED, SIGNED_OUT, session_mark
from console.live.reader import reader

MOST_WATCHED: Final = 600
CHECK_S: Final = 60.0


class LiveConsumer(AsyncJsonWebsocketConsumer):  # type: ignore[misc] # it carries no types
    """See `console.live.reader.Socket` for what the reader asks of it."""

    permission = Permission.VIEW_TASKS
    #: It hears through the reader of its process and needs no channel of its own.
    channel_layer_alias = ""

    async def connect(self) -> None:
        """Let somebody in who is signed in, may see tasks, and comes from a page of ours."""
        self.watched: dict[UUID, int] = {}
        self.user_id = 0
        self.session = ""
        self._news: dict[str, Any] = {}
        self._some = asyncio.Event()
        self._work: list[asyncio.Task[None]] = []
        if not _is_ours(self.scope) or await self._refusal() is not None:
            await self.close()
            return
        self.user_id = self.scope["user"].pk
        self.session = session_mark(self.scope["session"].session_key)
        await self.accept()
        self._work = [asyncio.create_task(self._send()), asyncio.create_task(self._check())]
        reader().join(self)

    async def disconnect(self, code: int) -> None:  # noqa: ARG002 (the base's signature)
        """Leave nothing running."""
        reader().leave(self)
        for task in self._work:
            task.cancel()

    async def receive(
        self, text_data: str | None = None, bytes_data: bytes | None = None, **kwargs: Any
    ) -> None:
        """Take a message; what cannot be read ends the connection."""
        try:
            await super().receive(text_data=text_data, bytes_data=bytes_data, **kwargs)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            await self.close(MALFORMED)

    async def receive_json(self, content: Any, **_kwargs: Any) -> None:
        """Watch tasks: from now on first, then from where the page says it is.

        Raises:
            ValueError: It is no such message.
        """
        tasks = content["tasks"]
        if content["type"] != "watch" or len(tasks) > MOST_WATCHED:
            raise ValueError(content["type"])
        refusal = await self._refusal()
        if refusal is not None:
            await self.close(refusal)
            return
        self.watched = {UUID(task_id): int(seq) for task_id, seq in tasks.items()}
        # Hints that come during this look are kept: it only ever adds to what is known.
        self.offer(await _versions(set(self.watched)), others=bool(content.get("again")))

    # --- what the reader says ----------------------------------------------------------------

    def offer(self, moves: Mapping[UUID, int], *, others: bool) -> None:
        """Keep what it watches and does not know; `others` says that something else moved."""
        if len(moves) < len(self.watched):
            further = {one: seq for one, seq in moves.items() if seq > self.watched.get(one, seq)}
        else:
            further = {
                one: moves[one] for one, seq in self.watched.items() if moves.get(one, 0) > seq
            }
        if not further and not others:
            return
        self.watched |= further
        self._news.setdefault("tasks", {}).update((str(one), seq) for one, seq in further.items())
        if others and (len(moves) > len(further) or not moves):
            self._news["others"] = True
        self._some.set()

    def tell(self, **facts: Any) -> None:
        """Take facts for everybody; with none of them it is a sign of life."""
        self._news |= facts
        self._some.set()

    def end(self, code: int) -> None:
        """Close for good."""
        self._work.append(asyncio.create_task(self._close(code)))

    # --- what it does all the time -----------------------------------------------------------

    async def _send(self) -> None:
        while True:
            await self._some.wait()
            self._some.clear()
            news, self._news = self._news, {}
            # Each says whether hints arrive: a sign of life alone is no sign of that.
            stands = {"now": reader().now(), "mark": mark(), "away": reader().is_away}
            await self.send_json({"type": "news", **news, **stands})

    async def _check(self) -> None:
        """Look now and then whether the person may still be here: sessions end by time, too."""
        while True:
            await asyncio.sleep(CHECK_S)
            refusal = await self._refusal()
            if refusal is not None:
                await self._close(refusal)

    async def _close(self, code: int) -> None:
        reader().leave(self)
        with contextlib.suppress(RuntimeError):  # the page was faster
            await self.close(code)

    async def _refusal(self) -> int | None:
        """Give the code to close with, or None for somebody who may be here."""
        key = self.scope["session"].session_key
        user = await get_user({"session": SessionStore(key)}) if key else None
        if user is None or not user.is_authenticated:
            return SIGNED_OUT
        return None if await _allowed(user) else NOT_ALLOWED


@database_sync_to_async  # type: ignore[untyped-decorator]
def _allowed(user: Any) -> bool:
    return allowed(user, LiveConsumer.permission)


@database_sync_to_async  # type: ignore[untyped-decorator]
def _versions(ids: set[UUID]) -> dict[UUID, int]:
    return queries.versions(ids)


def _is_ours(scope: Mapping[str, Any]) -> bool:
    """Tell whether the page that opens a socket came from where the socket leads to."""
    headers = dict(scope["headers"])
    origin = headers.get(b"origin", b"").decode("latin-1").lower()
    host = headers.get(b"host", b"").decode("latin-1").lower()
    domain, _port = split_domain_port(host)
    hosts = settings.ALLOWED_HOSTS or (
        ["localhost", "127.0.0.1", "[::1]"] if settings.DEBUG else []
    )
    if not origin or not domain or not validate_host(domain, hosts):
        return False
    return urlsplit(origin).netloc == host or origin in settings.CSRF_TRUSTED_ORIGINS
