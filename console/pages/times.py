"""Instants in words: how long ago, or date and time in the reader's zone and language."""

from datetime import datetime

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from console.pages.words import age


def ago(then: datetime, now: datetime, phrase: str = "") -> str:
    """Say how long ago; the sentence is one that scripts know, too."""
    passed = age(now, then)
    match phrase:
        case "ago":
            return _("{age} ago").format(age=passed)
        case "waiting":
            return _("waiting {age}").format(age=passed)
        case _other:
            return passed


def at(then: datetime, now: datetime, phrase: str = "") -> str:
    """Say when, as shortly as it is clear today."""
    here, today = timezone.localtime(then), timezone.localtime(now)
    if here.date() == today.date():
        said = here.strftime("%H:%M:%S")
    elif here.year == today.year:
        said = date_format(here, pgettext("a day and time, as Django writes dates", "j M, H:i"))
    else:
        said = date_format(here, pgettext("a day of some year, as Django writes dates", "j M Y"))
    return _("waiting since {when}").format(when=said) if phrase == "waiting" else said
