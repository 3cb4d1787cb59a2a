"""Why `up` or `web` did not start."""

from runtime.core.errors import SignalboxError


class AlreadyUp(SignalboxError):
    """Another `up` runs on the same data folder."""

    http_status = 409
    exit_code = 2
    code = "already_up"

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self.folder = folder

    def __str__(self) -> str:
        return (
            f"Signalbox is already up on {self.folder}: stop that one first, "
            "or set SIGNALBOX_DATA_DIR to another folder."
        )


class CannotListen(SignalboxError):
    """The address for the web server cannot be used."""

    http_status = 409
    exit_code = 2
    code = "cannot_listen"

    def __init__(self, host: str, port: int, why: str) -> None:
        super().__init__(host, port, why)
        self.host = host
        self.port = port
        self.why = why

    def __str__(self) -> str:
        why = self.why[:1].lower() + self.why[1:]
        return f"Cannot listen on {self.host} port {self.port}: {why}; choose another with --port."
