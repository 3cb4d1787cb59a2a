"""Why the embedded services could not do their part.

EmbeddedError
├── FolderRefused       a folder cannot be used
├── ServerDidNotStart   a server ended, or never answered
└── NotEmbedded         the service is somebody else's, named by an address
"""

from pathlib import Path

from runtime.core.errors import SignalboxError


class EmbeddedError(SignalboxError):
    """The embedded services cannot do what was asked; the set-up must change first."""

    http_status = 503
    exit_code = 2


class FolderRefused(EmbeddedError):
    """A folder the services need cannot be used."""

    def __init__(self, path: Path | str, why: str) -> None:
        super().__init__(path, why)
        self.path = path
        self.why = why

    def __str__(self) -> str:
        return (
            f"The embedded services cannot use {self.path}: {self.why[:1].lower()}{self.why[1:]}; "
            "put that right, or set SIGNALBOX_DATA_DIR to a folder you can write."
        )


class ServerDidNotStart(EmbeddedError):
    """A server ended before it answered, or never answered."""

    def __init__(self, server: str, cause: str, log: Path | str) -> None:
        super().__init__(server, cause, log)
        self.server = server
        self.cause = cause
        self.log = log

    def __str__(self) -> str:
        return f"The embedded {self.server} did not start: {self.cause} (log: {self.log})."


class NotEmbedded(EmbeddedError):
    """Somebody asked us to stop or break a server that is not ours."""

    def __init__(self, server: str, variable: str) -> None:
        super().__init__(server, variable)
        self.server = server
        self.variable = variable

    def __str__(self) -> str:
        return (
            f"{self.server} is not embedded here, so it cannot be restarted: "
            f"unset {self.variable} to use the embedded one."
        )
