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
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

import httpx
from websockets.asyncio.client import ClientConnection, connect

from console.bench.web import signed_in, web_process

LIST: Final = "/tasks/?agent=bench-linger"
#: As in `js/parts.js` and `js/task-list.js`.
LEAST_S: Final = 0.4
SOON_S: Final = 0.03
NEWS_S: Final = 2.0
_TASK: Final = re.compile(r'data-task="([0-9a-f-]{36})"[^>]*?data-seq="(\d+)"')
_PAGE: Final = re.compile(r'data-(rows|news|newest|parts|from)="([^"]*)"')
_NEW_ITEMS: Final = re.compile(r'id="new-items"[^>]*?data-seq="(\d+)"')


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
    with web_process() as web:
        cookies = signed_in()
        opened = [
            Page(
                number,
                LIST if number % 2 else f"/tasks/{tasks[number // 2 % len(tasks)]}/",
                cookies,
            )
            for number in range(pages)
        ]
        before_s = web.cpu_s()
        asyncio.run(_run(opened, web.address, seconds, tell))
        used_s = web.cpu_s() - before_s
    figures = _figures(opened, seconds) | {"web_cpus": round(used_s / seconds, 2)}
    return [one for page in opened for one in page.seen], figures


async def _run(
    pages: "Sequence[Page]", address: str, seconds: float, tell: Callable[[str], None]
) -> None:
    try:
        for page in pages:
            await page.open(address)
        tell(f"{len(pages)} pages are open")
        await asyncio.sleep(seconds)
        tell("time is up")
    finally:
        for page in pages:
            await page.close()


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
        path: What is opened.
        cookies: Of the person who looks.
    """

    def __init__(self, number: int, path: str, cookies: Mapping[str, str]) -> None:
        self.number = number
        self.seen: list[Seen] = []
        self.took_ms: list[float] = []
        self.failed = 0
        self._path, _, self._query = path.partition("?")
        self._cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
        self._known: dict[str, int] = {}
        self._page: dict[str, str] = {}
        self._wanted: set[str] = set()
        self._some = asyncio.Event()
        self._others = asyncio.Event()
        self._stack = AsyncExitStack()
        self._work: list[asyncio.Task[None]] = []

    async def open(self, address: str) -> None:
        """Show the page and open its socket."""
        headers = {"Cookie": self._cookie}
        self._client = await self._stack.enter_async_context(
            httpx.AsyncClient(base_url=address, headers=headers, timeout=30)
        )
        answer = await self._client.get(f"{self._path}?{self._query}")
        html = answer.raise_for_status().text
        self._client.headers["HX-Request"] = "true"
        self._known = {task_id: int(seq) for task_id, seq in _TASK.findall(html)}
        self._page = dict(_PAGE.findall(html))
        socket = await self._stack.enter_async_context(
            connect(
                address.replace("http", "ws", 1) + "/live/",
                additional_headers=headers,
                origin=address,  # type: ignore[arg-type]
            )
        )
        work = [self._hear(socket), self._again(self._some, self._show, LEAST_S)]
        if self._is_list:
            work.append(self._again(self._others, self._news, NEWS_S))
        self._work = [asyncio.create_task(one) for one in work]

    async def close(self) -> None:
        """Leave."""
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        await self._stack.aclose()

    @property
    def _is_list(self) -> bool:
        return "rows" in self._page

    async def _hear(self, socket: ClientConnection) -> None:
        await socket.send(json.dumps({"type": "watch", "tasks": self._known}))
        async for text in socket:
            news = json.loads(text)
            self._client.headers["Signalbox-Mark"] = news["mark"]
            if news.get("tasks"):
                self._wanted |= set(news["tasks"])
                self._some.set()
            if news.get("others"):
                self._others.set()

    async def _again(
        self, asked: asyncio.Event, work: Callable[[], Awaitable[None]], least_s: float
    ) -> None:
        """Do something soon after it was asked for, once for many, never faster than answered."""
        while True:
            await asked.wait()
            await asyncio.sleep(SOON_S)
            asked.clear()
            began_s = time.perf_counter()
            try:
                await work()
            except httpx.HTTPError:
                self.failed += 1
            took_s = time.perf_counter() - began_s
            self.took_ms.append(took_s * 1000)
            await asyncio.sleep(max(least_s, 2 * took_s))

    async def _show(self) -> None:
        wanted, self._wanted = self._wanted, set()
        if self._is_list:
            query = [*parse_qsl(self._query), *(("id", task_id) for task_id in sorted(wanted))]
            html = await self._part("rows", query)
            shown = [(task_id, int(seq)) for task_id, seq in _TASK.findall(html)]
        else:
            (task_id,) = self._known
            asked = {"since": self._known[task_id], "from": self._page["from"], "grows": 1}
            html = await self._part("parts", list(asked.items()))
            shown = [(task_id, int(seq)) for seq in _NEW_ITEMS.findall(html)]
        now_s = time.time()
        for task_id, seq in shown:
            self._known[task_id] = max(seq, self._known.get(task_id, 0))
            self.seen.append(Seen(self.number, UUID(task_id), seq, now_s))

    async def _news(self) -> None:
        newest = [("newest", self._page["newest"]), ("left", "0")]
        await self._part("news", [*parse_qsl(self._query), *newest])

    async def _part(self, name: str, query: Sequence[tuple[str, object]]) -> str:
        answer = await self._client.get(f"{self._page[name]}?{urlencode(query)}")
        return answer.raise_for_status().text
