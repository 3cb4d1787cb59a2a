"""The embedded Valkey: started, stopped and killed. It keeps nothing on disk.

What it holds can be lost at any time; the rows in PostgreSQL are the truth. `services` is its only
caller and holds the start lock around every call that changes something.
"""

import signal
from dataclasses import dataclass
from pathlib import Path

import redis

from console.embedded import processes
from console.embedded.account import Account
from console.embedded.errors import ServerDidNotStart

NAME = "valkey-server"
START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 10.0
SETTINGS = {
    "port": "0",
    "unixsocketperm": "700",
    "save": "",
    "appendonly": "no",
    "maxmemory-policy": "noeviction",
    "databases": "64",  # each test session uses one of its own
}


@dataclass(frozen=True)
class Valkey:
    """One Valkey server.

    Args:
        home: Its folder, a real path.
        socket: The socket it listens on.
        program: The server program.
        account: Who runs it.
        log: What it says.
    """

    home: Path
    socket: Path
    program: Path
    account: Account
    log: Path

    def start(self) -> None:
        """Start the server, or adopt the one that runs, and wait until it answers.

        Raises:
            ServerDidNotStart: It ended, or did not answer in time.
        """
        living = self._living()
        pid = living[0] if living else self._launch()
        processes.wait_until(lambda: self.answers() or not processes.is_alive(pid), START_TIMEOUT_S)
        if not self.answers():
            lines = processes.tail(self.log)
            cause = lines[-1].strip() if lines else "it gave no reason"
            raise ServerDidNotStart("Valkey", cause, self.log)

    def stop(self) -> None:
        """Stop the server and wait until it has ended."""
        processes.send(self._living(), signal.SIGTERM)
        if not processes.wait_until(self._gone, STOP_TIMEOUT_S):
            self.kill()

    def kill(self) -> None:
        """End the server at once."""
        processes.send(self._living(), signal.SIGKILL)
        processes.wait_until(self._gone, STOP_TIMEOUT_S)

    def answers(self) -> bool:
        """Whether it answers a ping."""
        try:
            with redis.Redis(unix_socket_path=str(self.socket), socket_timeout=5) as client:
                return bool(client.ping())
        except (redis.RedisError, OSError):
            return False

    def _launch(self) -> int:
        settings = SETTINGS | {"unixsocket": str(self.socket), "dir": str(self.home)}
        arguments = [part for name, value in settings.items() for part in (f"--{name}", value)]
        return processes.launch([self.program, *arguments], self.account, self.log)

    def _living(self) -> list[int]:
        return processes.living_in(self.home, NAME)

    def _gone(self) -> bool:
        return not self._living()
