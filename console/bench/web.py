"""A web process to measure, and somebody who is signed in there."""

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import httpx
import psutil
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore

from console.access import Role, grant
from console.supervisor.listening import free_port

ACCOUNT: Final = "bench"
_PATIENCE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Web:
    """A web process that answers."""

    address: str
    pid: int

    def cpu_s(self) -> float:
        """Give the seconds of processor that it has used."""
        used = psutil.Process(self.pid).cpu_times()
        return float(used.user + used.system)


@contextmanager
def web_process() -> Iterator[Web]:
    """Run a web process on a free port."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "web", "--port", str(port)]
    process = subprocess.Popen(
        command,
        env=dict(os.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_until_it_answers(address, process)
        yield Web(address, process.pid)
    finally:
        process.terminate()
        process.wait(30)


def _wait_until_it_answers(address: str, process: "subprocess.Popen[bytes]") -> None:
    until_s = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until_s and process.poll() is None:
        try:
            httpx.get(f"{address}/healthz", timeout=2).raise_for_status()
        except httpx.HTTPError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError


def signed_in(name: str = ACCOUNT) -> dict[str, str]:
    """Sign an administrator in whose password nobody knows; gives the cookie."""
    user, is_new = User.objects.get_or_create(username=name)
    if is_new:
        user.set_password(secrets.token_urlsafe(32))
        user.save()
    grant(user, Role.ADMINISTRATOR)
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    return {settings.SESSION_COOKIE_NAME: str(session.session_key)}
