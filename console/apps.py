"""The Django application of the console."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    """Registers the console's commands, templates and tables under the label `console`."""

    name = "console"
    label = "console"

    def ready(self) -> None:
        """Have open pages told when somebody signs out or loses a right; keep where they are."""
        from console import sessions
        from console.live import signals

        # Receivers run in this order: a session must be over before everybody is told that it is.
        sessions.connect()
        signals.connect()
