"""The Django application of the runtime."""

from django.apps import AppConfig


class RuntimeConfig(AppConfig):
    """Registers the runtime's tables under the label `runtime`, and finds all agents at start."""

    name = "runtime"
    label = "runtime"

    def ready(self) -> None:
        """Import every application's `agents.py`, so that a wrong definition stops the start."""
        from runtime.tools.agents import discover

        discover()
