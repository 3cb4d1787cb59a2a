"""The words that scripts show, in the language of the page; `js/words.js` reads them from it.

`{name}` is filled in by the script. A test holds the names here against those the scripts ask for.
"""

from django.utils.translation import gettext as _


def script_words() -> dict[str, str]:
    """Give every text that a script may show."""
    return {
        "now": _("now"),
        "seconds": _("%(number)s s") % {"number": "{number}"},
        "minutes": _("%(minutes)s min") % {"minutes": "{number}"},
        "hours": _("%(hours)s h") % {"hours": "{number}"},
        "days": _("%(days)s d") % {"days": "{number}"},
        "ago": _("{age} ago"),
        "waiting": _("waiting {age}"),
        "live": _("Live · {number} s ago"),
        "away": _("Reconnecting… {number} s"),
        "paused": _("Paused"),
        "off": _("Not live yet"),
        "copied": _("copied"),
        "close": _("Close"),
        "try again": _("Try again"),
        "not allowed": _("Your account may not do this."),
        "nothing there": _("There is nothing at this address any more."),
        "server failed": _("The server failed ({status}). What you sent may not have been done."),
        "no answer": _("The server does not answer. What you sent may not have been done."),
        "moved": _("This changed while you looked."),
        "moved on": _("The task has moved on."),
        "show now": _("Show it as it is now"),
        "say why": _("Say why: ending a task needs a reason."),
    }
