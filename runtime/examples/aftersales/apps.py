"""Django's entry for the demo, so that its `agents.py` is found at start."""

from django.apps import AppConfig


class AftersalesConfig(AppConfig):
    """The after-sales demo; it has no tables of ours, the shop keeps its own books."""

    name = "runtime.examples.aftersales"
    label = "aftersales"
    verbose_name = "After-sales demo"
