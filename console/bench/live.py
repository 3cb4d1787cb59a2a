"""Pages that are open, without a browser: each does what the scripts of a real one do.

It watches over a socket and fetches what has moved (`js/live.js`, `js/task-list.js`,
`js/task-page.js`), no oftener than they do, and says what it then shows.
"""

import asyncio
import json
import re
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final, NamedTuple, Self
from urllib.parse import urlencode
from uuid import UUID

import httpx
from websockets.asyncio.client import ClientConnection, connect

from console.bench.web import signed_in, web_process

#: As in `js/parts.js`.
LEAST_S: Final = 0.25
SOON_S: Final = 0.03
_ROW: Final = re.compile(r'data-task="([0-9a-f-]{36})"[^>]*?data-seq="(\d+)"')
_NEWS: Final = re.compile(r'id="new-items"[^>]*?data-seq="(\d+)"')


class Seen(NamedTuple):
    """See `runtime.bench.live.Seen`."""

    page: int
    task_id: UUID
    seq: int
    at_s: float


def keep_open(
    tasks: Sequence[UUID], pages: int, seconds: float, tell: Callable[[str], None]
) -> tuple[list[Seen], dict[str, Any]]:
    """Keep pages open for some time; see `runtime.bench.live.KeepOpen`."""
    with web_process() as address:
        cookies = signed_in()
        opened = [
            Page(
                number,
                address,
                cookies,
                list(tasks) if number % 2 else [tasks[number // 2 % len(tasks)]],
                is_list=bool(number % 2),
            )
            for number in range(pages)
        ]
        asyncio.run(_run(opened, seconds, tell))
    return [one for page in opened for one in page.seen], _figures(opened, seconds)


async def _run(pages: "Sequence[Page]", seconds: float, tell: Callable[[str], None]) -> None:
    async with AsyncExitStack() as stack:
        for page in pages:
            await stack.enter_async_context(page)
        tell(f"{len(pages)} pages are open")
        await asyncio.sleep(seconds)
        tell("time is up")
        for page in pages:
            page.close()


def _figures(opened: "Sequence[Page]", seconds: float) -> dict[str, Any]:
    took_ms = [took for page in opened for took in page.took_ms]
    return {
        "fetches_s": round(len(took_ms) / seconds, 1),
        "fetch_ms": {
            "p50": round(statistics.median(took_ms), 1),
            "p95": round(statistics.quantiles(took_ms, n=20)[-1], 1),
        },
        "failed": sum(page.failed for page in opened),
    }


class Page:
    """One open page: a list that shows tasks, or one task's own.

    Args:
        number: Which of the pages.
        address: Of the web process.
        cookies: Of the person who looks.
        tasks: What it shows.
        is_list: Whether it is a list.
    """

    def __init__(
        self,
        number: int,
        address: str,
        cookies: Mapping[str, str],
        tasks: Sequence[UUID],
        *,
        is_list: bool,
    ) -> None:
        self.number = number
        self.seen: list[Seen] = []
        self.took_ms: list[float] = []
        self.failed = 0
        self._address = address
        self._cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
        self._known = dict.fromkeys(map(str, tasks), 0)
        self._wanted: dict[str, int] = {}
        self._some = asyncio.Event()
        self._is_list = is_list
        self._stack = AsyncExitStack()
        self._work: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        """Open the socket and begin."""
        headers = {"Cookie": self._cookie}
        self._client = await self._stack.enter_async_context(
            httpx.AsyncClient(
                base_url=self._address, headers={**headers, "HX-Request": "true"}, timeout=30
            )
        )
        socket = await self._stack.enter_async_context(
            connect(
                self._address.replace("http", "ws", 1) + "/live/",
                additional_headers=headers,
                origin=self._address,  # type: ignore[arg-type]
            )
        )
        self._work = [asyncio.create_task(self._hear(socket)), asyncio.create_task(self._fetch())]
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Close everything."""
        self.close()
        await asyncio.gather(*self._work, return_exceptions=True)
        await self._stack.aclose()

    def close(self) -> None:
        """Do nothing any more."""
        for task in self._work:
            task.cancel()

    async def _hear(self, socket: ClientConnection) -> None:
        await socket.send(json.dumps({"type": "watch", "tasks": self._known}))
        async for text in socket:
            moved = json.loads(text).get("tasks")
            if moved:
                self._wanted |= moved
                self._some.set()

    async def _fetch(self) -> None:
        """Fetch soon after a hint, once for many, and never faster than it is answered."""
        ask: Callable[[dict[str, int]], Awaitable[list[tuple[str, int]]]]
        ask = self._rows if self._is_list else self._parts
        while True:
            await self._some.wait()
            await asyncio.sleep(SOON_S)
            self._some.clear()
            wanted, self._wanted = self._wanted, {}
            began_s = time.perf_counter()
            try:
                shown = await ask(wanted)
            except httpx.HTTPError:
                self.failed += 1
                shown = []
            took_s = time.perf_counter() - began_s
            self.took_ms.append(took_s * 1000)
            now_s = time.time()
            for task_id, seq in shown:
                self._known[task_id] = max(seq, self._known[task_id])
                self.seen.append(Seen(self.number, UUID(task_id), seq, now_s))
            await asyncio.sleep(max(LEAST_S, 2 * took_s))

    async def _rows(self, wanted: dict[str, int]) -> list[tuple[str, int]]:
        query = urlencode([("id", task_id) for task_id in wanted])
        answer = (await self._client.get(f"/tasks/rows/?{query}")).raise_for_status()
        return [(task_id, int(seq)) for task_id, seq in _ROW.findall(answer.text)]

    async def _parts(self, _wanted: dict[str, int]) -> list[tuple[str, int]]:
        (task_id,) = self._known
        after = self._known[task_id]
        query = {"after": after, "from": max(0, after - 200)}
        answer = await self._client.get(f"/tasks/{task_id}/parts/?{urlencode(query)}")
        found = _NEWS.search(answer.raise_for_status().text)
        return [(task_id, int(found[1]))] if found else []
