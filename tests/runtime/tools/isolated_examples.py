"""Isolated tools that behave in every way the parent must survive; a child process imports them."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import NoReturn

from runtime.core.errors import Ambiguous, Permanent, Retryable
from runtime.tools.registry import tool


class TwoArguments(Exception):
    """Hazard CR-07: it can neither be rebuilt from `args` nor pickled."""

    def __init__(self, code: int, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.lock = threading.Lock()


class NoText(Exception):
    def __str__(self) -> str:
        raise RuntimeError


class ShopIsClosed(Permanent):
    """A subclass of the author's stays what it is derived from."""


@tool(effect="read", isolate=True)
def add(price: Decimal, at: datetime) -> dict[str, object]:
    return {"price": price + 1, "at": at, "types": [type(price).__name__, type(at).__name__]}


@tool(effect="keyed", isolate=True)
def charge(amount: int, *, operation_id: str) -> list[object]:
    return [amount, operation_id]


@tool(effect="read", isolate=True)
def large(size: int) -> str:
    return "ä" * size


@tool(effect="read", isolate=True)
def noisy() -> str:
    print('{"kind": "value", "size": 1}')  # noqa: T201 - that is the point
    os.write(1, b"x" * 100_000)
    return "quiet"


@tool(effect="read", isolate=True)
def environment() -> dict[str, str]:
    return dict(os.environ)


@tool(effect="read", isolate=True)
def hang(started: str) -> None:
    helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    _note(started, f"{os.getpid()} {helper.pid}")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(600)


@tool(effect="read", isolate=True)
def forget_a_helper(started: str) -> int:
    helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    _note(started, f"{os.getpid()} {helper.pid}")
    threading.Thread(target=time.sleep, args=(600,)).start()
    return helper.pid


@tool(effect="read", isolate=True)
def die(number: int) -> None:
    os.kill(os.getpid(), number)


@tool(effect="read", isolate=True)
def crash() -> None:
    ctypes.string_at(0)


@tool(effect="read", isolate=True)
def leave(status: int) -> NoReturn:
    os._exit(status)


@tool(effect="read", isolate=True)
def fail(kind: str) -> NoReturn:
    raise {
        "retryable": Retryable("busy", after_s=7.5),
        "permanent": ShopIsClosed("closed for good"),
        "ambiguous": Ambiguous("no answer"),
        "two": TwoArguments(402, "no money\x00\ud835"),
        "no text": NoText(),
        "exit": SystemExit(3),
    }[kind]


@tool(effect="read", isolate=True)
def django_is_ready() -> bool:
    from django.apps import apps

    return apps.ready


@tool(effect="read", isolate=True)
def now() -> datetime:
    return datetime(2030, 1, 1, tzinfo=UTC)


def _note(path: str, text: str) -> None:
    unfinished = Path(f"{path}.part")
    unfinished.write_text(text)
    unfinished.rename(path)
