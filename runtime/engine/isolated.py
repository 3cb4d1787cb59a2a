"""The process in which one suspect runs: ``python -m runtime.engine.isolated TASK``."""

import signal
import sys
from uuid import UUID

import django


def main(task_id: str) -> None:
    """Drive one task until its next commit, then give it back."""
    django.setup()
    # Only now: these need the configured applications.
    from runtime.engine.options import RuntimeOptions
    from runtime.engine.ports import Ports
    from runtime.engine.worker import Worker

    options = RuntimeOptions.from_settings(threads=2)
    worker = Worker(Ports(), options, only=UUID(task_id))
    signal.signal(signal.SIGTERM, lambda *_: setattr(worker, "stopping", True))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    worker.start()
    while not worker.wait_until_idle(3600):
        pass
    worker.stop()


if __name__ == "__main__":
    main(sys.argv[1])
