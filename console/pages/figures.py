"""How numbers are written: counts, shares, durations and times, in the reader's language."""

from datetime import UTC, datetime
from typing import Final

from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _

from console import queries
from console.pages.words import span
from runtime import api

_TENTH: Final = 0.1
"""Shares below it are told to a tenth of a percent."""
_SWEEP_LATE_S: Final = 30.0
"""A sweep counts every two seconds; after so long the numbers are old."""
_GROUPED: Final = 1000
"""Below it no language groups digits, and pages write thousands of them."""
_WHOLE_S: Final = frozenset(range(1, 10))
"""Marks of an axis, which are not measured and need no decimals."""


def count(number: float) -> str:
    """Write a count in the reader's language."""
    whole = int(number)
    if 0 <= whole < _GROUPED:
        return str(whole)
    return str(number_format(whole, force_grouping=True))


def capped(number: int) -> str:
    """Write a count that stops at a cap."""
    return count(number) + ("+" if number >= queries.COUNTED else "")


def percent(share: float) -> str:
    """Write a share."""
    is_fine = share < _TENTH and round(share * 100, 6) % 1
    places = 1 if is_fine else 0
    return _("%(number)s %%") % {"number": number_format(share * 100, places)}


def time_of(seconds: float | None) -> str:
    """Write a duration; a dash for none."""
    if seconds is None:
        return "–"
    if seconds in _WHOLE_S:
        return _("%(n)s s") % {"n": int(seconds)}
    return span(seconds)


def clock(at: datetime) -> str:
    """Write a time of day, in the zone that it has."""
    return date_format(at, "H:i")


def day(at: datetime) -> str:
    """Write a day of a week that is not named otherwise."""
    return date_format(at, "D j")


def instant(at: datetime) -> str:
    """Write an instant for an address."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def counting_is_behind() -> str:
    """Say that numbers are not of now because no sweep counts; empty while one does."""
    return counted_words(api.sweep_age_s())


def counted_words(age_s: float | None) -> str:
    """Say that nothing was counted for too long; empty if it was.

    Args:
        age_s: Seconds since the last count; None if there never was one.
    """
    if age_s is None:
        return _("No sweep has run yet, so nothing is counted. Start one: uv run manage.py sweep")
    if age_s > _SWEEP_LATE_S:
        said = _("No sweep has counted for %(age)s. Start one: uv run manage.py sweep")
        return said % {"age": span(age_s)}
    return ""
