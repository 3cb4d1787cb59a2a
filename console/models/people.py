"""How one person wants to see the console."""

from typing import ClassVar

from django.conf import settings
from django.db import models

THEMES = {"auto": "As the device", "light": "Light", "dark": "Dark"}
DENSITIES = {"comfortable": "Comfortable", "compact": "Compact"}


class Preferences(models.Model):
    """The choices of one account; without a row the defaults hold.

    Args:
        zone: Name of a time zone; empty for the installation's.
        theme: One of `THEMES`.
        density: One of `DENSITIES`.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="preferences"
    )
    zone = models.TextField(default="", blank=True)
    theme = models.TextField(default="auto", choices=THEMES)
    density = models.TextField(default="comfortable", choices=DENSITIES)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(theme__in=list(THEMES)), name="preferences_theme_is_known"
            ),
            models.CheckConstraint(
                condition=models.Q(density__in=list(DENSITIES)),
                name="preferences_density_is_known",
            ),
        ]
