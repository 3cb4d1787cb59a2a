"""Starts and ends a shop process, for the demo, for drills and for tests.

The shop ends with whoever started it: it watches the pipe that is its standard input.
"""

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

START_TIMEOUT_S = 20.0
STOP_TIMEOUT_S = 5.0
_ROOT = Path(__file__).resolve().parents[4]


class ShopDidNotStartError(Exception):
    """The shop's process ended, or said nothing, before it listened."""


class ShopProcess:
    """A running shop; a context manager that stops it at the end."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, schema: str) -> None:
        """Take over a process that listens at `url` and keeps its books in `schema`."""
        self.process = process
        self.url = url
        self.schema = schema

    @property
    def port(self) -> int:
        """The port it listens on, to start another one at the same address."""
        return int(self.url.rpartition(":")[2])

    def stop(self) -> None:
        """End it in good order."""
        self.process.terminate()
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self._reap()

    def kill(self) -> None:
        """End it with SIGKILL, as a crash would."""
        self.process.kill()
        self._reap()

    def _reap(self) -> None:
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop the shop."""
        self.stop()


def start_shop(
    database_url: str,
    *,
    schema: str = "shop",
    port: int = 0,
    seed_orders: int = 0,
    seed: int = 1,
) -> ShopProcess:
    """Start a shop and wait until it listens.

    Args:
        database_url: where its books are; also sees the schema created.
        schema: the schema of its tables.
        port: 0 takes any free one.
        seed_orders: how many odd orders to store at start.
        seed: which ones.

    Raises:
        ShopDidNotStartError: it ended or did not listen within 20 seconds.
    """
    command = [sys.executable, "-m", "runtime.examples.aftersales.shop"]
    command += ["--database-url", database_url, "--schema", schema, "--port", str(port)]
    command += ["--seed-orders", str(seed_orders), "--seed", str(seed), "--until-stdin-closes"]
    process = subprocess.Popen(
        command,
        cwd=_ROOT,
        env=os.environ | {"PYTHONPATH": str(_ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # A group of its own: Ctrl-C in a terminal is for who started it, who then stops it.
        start_new_session=True,
    )
    line = _first_line(process)
    if not line:
        process.kill()
        ShopProcess(process, "", schema)._reap()  # noqa: SLF001 - it never came to life
        message = f"the shop ended with status {process.returncode} before it listened"
        raise ShopDidNotStartError(message)
    return ShopProcess(process, json.loads(line)["url"], schema)


def _first_line(process: subprocess.Popen[bytes]) -> bytes:
    """Read the one line the shop prints; empty when it ended or took too long."""
    if process.stdout is None:
        return b""
    descriptor = process.stdout.fileno()
    deadline, line = time.monotonic() + START_TIMEOUT_S, b""
    while not line.endswith(b"\n"):
        left = max(0.0, deadline - time.monotonic())
        if not select.select([descriptor], [], [], left)[0]:
            return b""
        chunk = os.read(descriptor, 4096)
        if not chunk:
            return b""
        line += chunk
    return line
