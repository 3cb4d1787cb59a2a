"""How one person wants to see the console."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

#: The names of languages stand in themselves: who cannot read the page must find the way back.
LANGUAGES = {"": _("As the browser"), "en": "English", "zh-hans": "简体中文"}
THEMES = {"auto": _("As the device"), "light": _("Light"), "dark": _("Dark")}
DENSITIES = {"comfortable": _("Comfortable"), "compact": _("Compact")}
TIMES = {"relative": _("How long ago"), "absolute": _("Date and time")}


class Preferences(models.Model):
    """The choices of one account; without a row the defaults hold.

    Args:
        language: One of `LANGUAGES`; empty for the browser's.
        zone: Name of a time zone; empty for the installation's.
        times: Which of the two is read first, one of `TIMES`; the other is the title of it.
        theme: One of `THEMES`.
        density: One of `DENSITIES`.
        shortcuts: Whether single keys do something.
        columns: Names of the optional columns of the task list, in order.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="preferences"
    )
    language = models.TextField(default="", blank=True, choices=LANGUAGES)
    zone = models.TextField(default="", blank=True)
    times = models.TextField(default="relative", choices=TIMES)
    theme = models.TextField(default="auto", choices=THEMES)
    density = models.TextField(default="comfortable", choices=DENSITIES)
    shortcuts = models.BooleanField(default=True)
    columns = models.JSONField(default=list, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(theme__in=list(THEMES)), name="preferences_theme_is_known"
            ),
            models.CheckConstraint(
                condition=models.Q(density__in=list(DENSITIES)),
                name="preferences_density_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(language__in=list(LANGUAGES)),
                name="preferences_language_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(times__in=list(TIMES)), name="preferences_times_are_known"
            ),
        ]
