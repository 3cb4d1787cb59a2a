"""The servers under a drill, as it needs them: to be broken and brought back.

Who provides them stands in the settings, because the runtime does not know the console.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Literal, Protocol

from django.conf import settings
from django.utils.module_loading import import_string

type StopMode = Literal["fast", "immediate"]


class Servers(Protocol):
    """PostgreSQL and Valkey beside the program; what is not embedded raises when touched."""

    def restart_postgres(self, mode: Literal["smart", "fast", "immediate"] = "fast") -> None:
        """Stop PostgreSQL and start it again."""

    def kill_postgres(self) -> None:
        """End it at once."""

    def start_postgres(self) -> None:
        """Bring it back; nothing happens when it runs."""

    def kill_valkey(self) -> None:
        """End Valkey at once."""

    def start_valkey(self) -> None:
        """Bring it back; nothing happens when it runs."""


def open_servers(environ: Mapping[str, str]) -> AbstractContextManager[Servers]:
    """Start the servers, or adopt the running ones; they stop with the block."""
    opened: AbstractContextManager[Servers] = import_string(settings.SIGNALBOX_SERVERS)(environ)
    return opened
