"""The keys of the console: a page that lists them, also shown in a dialog by ``?``."""

from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from console.access import Permission, needs
from console.guard import is_fragment


@dataclass(frozen=True, slots=True)
class Key:
    """One key, or some after another, and what they do."""

    keys: tuple[str, ...]
    words: Any


#: Held together with `js/keys.js` and `js/task-keys.js` by a test.
EVERYWHERE: Final = (
    Key(("?",), _("Show these keys")),
    Key(("/",), _("Go to the search")),
    Key(("g", "o"), _("Go to the overview")),
    Key(("g", "t"), _("Go to the tasks")),
    Key(("g", "r"), _("Go to the reviews")),
    Key(("g", "w"), _("Go to the workers")),
    Key(("g", "i"), _("Go to the insights")),
    Key(("g", "a"), _("Go to the agents")),
    Key(("g", "n"), _("Submit a new task")),
    Key(("g", "s"), _("Go to the settings")),
    Key(("Esc",), _("Close a dialog; leave a field")),
)
IN_LISTS: Final = (
    Key(("j",), _("Next row")),
    Key(("k",), _("Row before")),
    Key(("Enter",), _("Open the task")),
    Key(("x",), _("Select the row, or not")),
    Key(("X",), _("Select all rows from the last selected one to this one")),
    Key(("a",), _("Go to what can be done to the selected tasks")),
    Key(("u",), _("Select none")),
    Key(("h",), _("Page before")),
    Key(("l",), _("Next page")),
    Key((".",), _("Show what is new")),
)


@needs(Permission.SIGNED_IN)
@require_safe
def keys(request: HttpRequest) -> HttpResponse:
    """List the keys."""
    part = "#dialog" if is_fragment(request) else ""
    return render(request, f"keys.html{part}", {"everywhere": EVERYWHERE, "in_lists": IN_LISTS})
