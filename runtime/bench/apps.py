"""The Django application of the bench."""

from django.apps import AppConfig


class BenchConfig(AppConfig):
    """Brings the bench's agents into the workers that the bench starts."""

    name = "runtime.bench"
    label = "bench"
