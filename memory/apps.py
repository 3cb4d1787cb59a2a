"""The Django application of the memory."""

from django.apps import AppConfig


class MemoryConfig(AppConfig):
    """Registers the memory's tables under the label `memory`."""

    name = "memory"
    label = "memory"
