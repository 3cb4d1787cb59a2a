"""A page's end of a websocket, spoken to the ASGI application itself."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from asgiref.testing import ApplicationCommunicator

WAIT_S = 10.0


class Page:
    """One socket of one page.

    Args:
        application: The ASGI application.
        path: Where the socket leads to.
        headers: As the browser sends them.
    """

    def __init__(self, application: Any, path: str, headers: list[tuple[bytes, bytes]]) -> None:
        scope = {
            "type": "websocket",
            "path": path,
            "query_string": b"",
            "headers": headers,
            "subprotocols": [],
        }
        self._wire: Any = ApplicationCommunicator(application, scope)  # type: ignore[no-untyped-call]

    async def open(self) -> bool:
        """Connect; False if it was refused."""
        await self._wire.send_input({"type": "websocket.connect"})
        answer = await self._wire.receive_output(WAIT_S)
        return bool(answer["type"] == "websocket.accept")

    async def say(self, text: str) -> None:
        """Send a text."""
        await self._wire.send_input({"type": "websocket.receive", "text": text})

    async def hear(self, wanted: Callable[[dict[str, Any]], Any]) -> Any:
        """Wait for the first message in which something is found."""
        async with asyncio.timeout(WAIT_S):
            while True:
                output = await self._wire.receive_output(WAIT_S)
                assert output["type"] == "websocket.send", output
                found = wanted(json.loads(output["text"]))
                if found is not None:
                    return found

    async def closed(self) -> int:
        """Wait until the other side closes; gives its code."""
        async with asyncio.timeout(WAIT_S):
            while True:
                output = await self._wire.receive_output(WAIT_S)
                if output["type"] == "websocket.close":
                    return int(output["code"])

    async def leave(self) -> None:
        """Close, and wait until nothing of it runs."""
        await self._wire.send_input({"type": "websocket.disconnect", "code": 1000})
        await self._wire.wait(WAIT_S)
