"""Pages that listen, as tests of live updates open them: a socket, and who is behind it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import connections
from django.test import Client

from console.access import Role, grant, lay_roles
from console.asgi import application
from runtime import api
from tests.agents_for_tests.clerk import NAME
from tests.support.sockets import Page

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
ORIGIN = "http://testserver"


def signed_in(role: Role | None) -> Client:
    """Give the browser of somebody with this role, or with none."""
    lay_roles()
    user = User.objects.create_user(f"{role or 'nobody'}")
    if role is not None:
        grant(user, role)
    client = Client()
    client.force_login(user, backend=BACKEND)
    return client


def submit() -> UUID:
    """Submit a task."""
    return api.submit(NAME, {"order_id": "A1"}).id


def socket_of(client: Client, origin: str | None = ORIGIN) -> Page:
    """Give the socket of a page, not open yet."""
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    headers = [(b"host", b"testserver"), (b"cookie", cookies.encode())]
    if origin is not None:
        headers.append((b"origin", origin.encode()))
    return Page(application, "/live/", headers)


@asynccontextmanager
async def opened(client: Client) -> AsyncIterator[Page]:
    """Give an open socket and leave in the end."""
    socket = socket_of(client)
    assert await socket.open()
    yield socket
    await socket.leave()


async def watch(socket: Page, tasks: dict[UUID, int]) -> None:
    """Say what the page shows."""
    known = {str(task_id): seq for task_id, seq in tasks.items()}
    await socket.say(json.dumps({"type": "watch", "tasks": known}))


def seq_of(task_id: UUID) -> Callable[[dict[str, Any]], int | None]:
    """Look for what news say of a task."""
    return lambda news: news.get("tasks", {}).get(str(task_id))


def in_thread(work: Callable[[], Any]) -> Coroutine[Any, Any, Any]:
    """Do database work as another process would: in a thread with a connection of its own."""

    def and_close() -> Any:
        try:
            return work()
        finally:
            connections.close_all()

    return asyncio.to_thread(and_close)
