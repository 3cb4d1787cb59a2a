"""The Django application of the runtime."""

from django.apps import AppConfig


class RuntimeConfig(AppConfig):
    """Registers the runtime's tables under the label `runtime`."""

    name = "runtime"
    label = "runtime"
