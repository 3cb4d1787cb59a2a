"""What an account may do and why: each permission in words, the roles that hold it, and who asks.

Called by the settings page and by pages that must say why somebody may not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.auth.models import Group
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from console.access import APP, UNGRANTED, Permission, allowed
from console.pages.words import Worded, role_word

PERMISSION_WORDS: Final = Worded(
    {
        Permission.VIEW_TASKS: gettext_lazy("Read tasks, their events and their effects"),
        Permission.SUBMIT_TASKS: gettext_lazy("Submit tasks"),
        Permission.ACT_ON_TASKS: gettext_lazy("Pause, resume, retry and cancel tasks"),
        Permission.VIEW_REVIEWS: gettext_lazy("Read what people are asked to decide"),
        Permission.DECIDE_REVIEWS: gettext_lazy("Decide it: answer, approve or refuse"),
        Permission.VIEW_WORKERS: gettext_lazy("Read workers and queues"),
        Permission.MANAGE_WORKERS: gettext_lazy("Drain workers and take tasks out of their hands"),
        Permission.VIEW_METRICS: gettext_lazy("Read the numbers of the whole installation"),
        Permission.MANAGE_TOKENS: gettext_lazy("Create and revoke tokens of other accounts"),
        Permission.MANAGE_PEOPLE: gettext_lazy("Change who may do what"),
    }
)


@dataclass(frozen=True, slots=True)
class Right:
    """One permission as its reader holds it.

    Args:
        name: Of the permission.
        words: What it lets somebody do.
        is_held: Whether they may.
        because: Through what they hold it, or what would give it to them.
    """

    name: str
    words: str
    is_held: bool
    because: str


def rights_of(user: Any) -> list[Right]:
    """List every permission that can be granted, with the reason why somebody has it or not."""
    holders, mine = _holders(), set(user.groups.values_list("name", flat=True))
    return [_right(user, one, holders, mine) for one in Permission if one not in UNGRANTED]


def _right(
    user: Any, permission: Permission, holders: Mapping[str, list[str]], mine: set[str]
) -> Right:
    is_held, roles = allowed(user, permission), holders.get(permission.value, [])
    words = PERMISSION_WORDS.get(permission, permission.value)
    if is_held:
        through = [role_word(role) for role in roles if role in mine]
        because = (
            _("by your role: %(roles)s") % {"roles": ", ".join(through)}
            if through
            else _("granted to your account itself")
        )
    elif roles:
        named = ", ".join(role_word(role) for role in roles)
        because = _("needs the role: %(roles)s") % {"roles": named}
    else:
        because = _("no role here has it")
    return Right(permission.value, words, is_held, because)


def _holders() -> dict[str, list[str]]:
    """Give the roles that have each permission; one read."""
    found: dict[str, list[str]] = {}
    rows = (
        Group.objects.filter(permissions__content_type__app_label=APP)
        .order_by("name")
        .values_list("permissions__codename", "name")
    )
    for codename, role in rows:
        found.setdefault(codename, []).append(role)
    return found
