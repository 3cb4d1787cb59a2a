"""``manage.py worker``: one worker process."""

import os
import sys
from argparse import ArgumentParser
from typing import Any

import dramatiq
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from runtime import telemetry
from runtime.actors.bell import Bell
from runtime.actors.broker import BrokerHints, declare
from runtime.engine.options import RuntimeOptions
from runtime.engine.ports import Ports
from runtime.engine.process import until_told_to_stop
from runtime.engine.worker import Worker
from runtime.tools.checks import QUEUE_NAME, is_queue

WAIT_MS = 200
"""How long dramatiq sleeps between two looks at an idle queue; whoever listens to the bell does not
wait for it."""
MOST_THREADS = 48
"""The flight recorder has so many places, with some to spare for threads that were given up."""


class Command(BaseCommand):
    """Take tasks and drive them until told to stop."""

    help = "Take tasks and drive them until told to stop."
    # They would load every page of the console: half of the time that a restart takes.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--queues", default="default", help="comma-separated; default: default")
        parser.add_argument("--threads", type=int, default=8, help="default: 8")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Run the worker."""
        telemetry.configure_logs()
        queues = tuple(name.strip() for name in options["queues"].split(",") if name.strip())
        if not queues:
            message = "--queues names no queue"
            raise CommandError(message)
        if not all(is_queue(name) for name in queues):
            message = f"--queues: the name of a queue is {QUEUE_NAME}"
            raise CommandError(message)
        if not 1 <= options["threads"] <= MOST_THREADS:
            message = f"--threads must be from 1 to {MOST_THREADS}"
            raise CommandError(message)
        # The witness is forked before anything starts a thread or leaves a connection open.
        connection.close()
        chosen = RuntimeOptions.from_settings(threads=options["threads"], queues=queues)
        worker = Worker(Ports(hints=BrokerHints()), chosen)
        worker.start()
        telemetry.start("worker")
        door = declare(worker.take, queues)
        bell = Bell(door, queues, worker.look, worker.has_room)
        bell.start()
        consumer = dramatiq.Worker(
            door,
            queues=set(queues),
            worker_threads=1,
            worker_timeout=WAIT_MS,
        )
        consumer.start()
        told = until_told_to_stop(lambda: worker.worn_out)
        worker.stopping = True
        bell.stop()
        consumer.stop(timeout=5_000)
        worker.stop()
        telemetry.stop()
        if not told:
            # Threads that hang cannot be ended; a fresh process is the only cure.
            os.execv(sys.executable, [sys.executable, *sys.argv])  # noqa: S606 (ourselves)
