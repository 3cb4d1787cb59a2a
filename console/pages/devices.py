"""Names for the browsers that people sign in with, from what those call themselves. Pure."""

from typing import Final

from django.utils.translation import gettext as _

# The more special first: nearly all of them claim to be Safari as well.
_BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("FxiOS", "Firefox"),
    ("HeadlessChrome", "Chromium"),
    ("Chrome/", "Chrome"),
    ("CriOS", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS: Final = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def device(agent: str) -> str:
    """Name a browser and its system: ``Firefox on Linux``; the agent's own words if unknown."""
    browser = next((name for mark, name in _BROWSERS if mark in agent), None)
    system = next((name for mark, name in _SYSTEMS if mark in agent), None)
    if browser and system:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return browser or system or agent[:60] or _("A browser that does not say its name")
