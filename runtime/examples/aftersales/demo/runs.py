"""One run of the demo by its name, and what is left of earlier ones.

Each run has a shop schema, a queue and a log folder of its own, so that the tasks of a run that
died are never worked on against another run's shop.
"""

import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import psycopg
from django.conf import settings

from runtime import api
from runtime.core.errors import SignalboxError
from runtime.core.states import TERMINAL
from runtime.examples.aftersales.shop.ledger import drop_schema
from runtime.models import Task
from runtime.tools.agents import Agent

KEPT_RUNS = 3
ACCOUNT = "demo"
_SCHEMA = "shop_demo_"
_QUEUE = "demo-"


@dataclass(frozen=True, slots=True)
class Run:
    """One run: when it began, and a few letters by chance."""

    name: str

    @classmethod
    def new(cls) -> Self:
        """Name a run that begins now."""
        return cls(f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}")

    @property
    def schema(self) -> str:
        """Where its shop keeps the books."""
        return _SCHEMA + self.name.replace("-", "_")

    @property
    def queue(self) -> str:
        """Where its tasks wait; nobody but its own workers serves it."""
        return _QUEUE + self.name

    @property
    def logs(self) -> Path:
        """The folder in which its processes write."""
        return _logs() / self.name


def on_queue(agent: Agent, queue: str) -> Agent:
    """Define an agent once more with another queue; its tasks differ in nothing else."""
    return Agent(
        agent.name,
        role=agent.role,
        tools=list(agent.tools.values()),
        planner=agent.planner,
        manifest=agent.manifest.model_dump(mode="json", exclude_unset=True),
        input=agent.input,
        version=agent.version,
        queue=queue,
        description=agent.description,
    )


def tidy() -> None:
    """Close what runs that are over left behind, and throw the oldest books and logs away.

    Their tasks that never ended are cancelled: the shop they were about has closed.
    """
    with psycopg.connect(settings.DATABASE_URL, autocommit=True) as connection:
        open_shops = _open_shops(connection)
        closed = [run for run in _earlier_runs(connection) if run.schema not in open_shops]
    for run in closed:
        _cancel_the_rest(run)
    for run in closed[: max(0, len(closed) - KEPT_RUNS)]:
        drop_schema(settings.DATABASE_URL, run.schema)
        shutil.rmtree(run.logs, ignore_errors=True)


def _logs() -> Path:
    return Path(settings.SIGNALBOX_DATA_DIR) / "demo"


def _earlier_runs(connection: psycopg.Connection) -> list[Run]:
    """Runs that have books, oldest first."""
    query = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s) ORDER BY nspname"
    found = connection.execute(query, [_SCHEMA]).fetchall()
    return [Run(name.removeprefix(_SCHEMA).replace("_", "-")) for (name,) in found]


def _open_shops(connection: psycopg.Connection) -> set[str]:
    """Schemas of shops that run now, whoever started them."""
    query = "SELECT DISTINCT application_name FROM pg_stat_activity"
    return {str(name).removeprefix("shop ") for (name,) in connection.execute(query).fetchall()}


def _cancel_the_rest(run: Run) -> None:
    unfinished = Task.objects.filter(queue=run.queue).exclude(state__in=TERMINAL)
    for task_id, namespace in unfinished.values_list("id", "namespace"):
        # It may end by itself, or be ended by another demo that tidies, in this moment.
        with suppress(SignalboxError):
            reason = "the shop of this demo run has closed"
            api.cancel(task_id, reason=reason, by=ACCOUNT, namespace=namespace)
