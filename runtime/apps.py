"""The Django application of the runtime: here its ends are tied together at start."""

from typing import TYPE_CHECKING
from uuid import UUID

from django.apps import AppConfig

if TYPE_CHECKING:
    from runtime.api import BrokerStand, DeadLetter


class RuntimeConfig(AppConfig):
    """Registers the runtime's tables, finds all agents, and joins the facade to the broker."""

    name = "runtime"
    label = "runtime"

    def ready(self) -> None:
        """Import every application's `agents.py`, so that a wrong definition stops the start."""
        from runtime import api

        api.discover()
        api.set_hints(_Hints())
        api.set_dead_letters(_Letters())


# Most commands never ring: the broker's library, slow to import, is loaded by the first that does.


class _Hints:
    def work(self, queue: str, task_id: UUID | None) -> None:
        from runtime.actors.broker import BrokerHints

        BrokerHints().work(queue, task_id)

    def moved(self, task_id: UUID, seq: int) -> None:
        from runtime.actors.live import live

        live().moved(task_id, seq)


class _Letters:
    def stand(self) -> "BrokerStand":
        from runtime.actors.dead import BrokerLetters

        return BrokerLetters().stand()

    def list(self, limit: int) -> "list[DeadLetter]":
        from runtime.actors.dead import BrokerLetters

        return BrokerLetters().list(limit)

    def requeue(self, message_id: str) -> bool:
        from runtime.actors.dead import BrokerLetters

        return BrokerLetters().requeue(message_id)
