"""``manage.py web``: one web server process."""

import signal
from argparse import ArgumentParser
from typing import Any

import uvicorn
from django.core.management.base import BaseCommand

from console.connections import keep_connections
from console.supervisor.listening import listen

#: Requests under way get so long when the server is told to stop.
GRACE_S = 5


class Command(BaseCommand):
    """Serve the console until told to stop."""

    help = "Serve the console and its API until told to stop: one process, for production."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1")
        parser.add_argument("--port", type=int, default=8000, help="default: 8000")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Listen and serve."""
        keep_connections()
        with listen(options["host"], options["port"]) as socket:
            config = uvicorn.Config(
                "console.asgi:application",
                lifespan="off",
                timeout_graceful_shutdown=GRACE_S,
                access_log=False,
                log_level="info",
                server_header=False,
            )
            # The server hands the signal that ended it on to whoever listened before.
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            uvicorn.Server(config).run(sockets=[socket])
