"""How numbers are written: counts, shares, durations and times, in the reader's language."""

from datetime import UTC, datetime
from typing import Final

from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _

from console import queries
from console.pages.words import span

_TENTH: Final = 0.1
"""Shares below it are told to a tenth of a percent."""
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
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
