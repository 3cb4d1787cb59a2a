"""What every page needs around its content: navigation, the person, the clock. A context processor.

All but the clock is asked for only when a template shows it, so fragments pay next to nothing.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject, lazystr
from django.utils.timezone import get_current_timezone_name
from django.utils.translation import get_language

from console import queries
from console.access import Permission, allowed
from console.middleware import preferences


@dataclass(frozen=True, slots=True)
class Link:
    """One entry of the navigation."""

    url_name: str
    words: str
    icon: str
    needs: Permission


PAGES = (
    Link("tasks", "Tasks", "tasks", Permission.VIEW_TASKS),
    Link("reviews", "Reviews", "reviews", Permission.VIEW_REVIEWS),
    Link("workers", "Workers", "workers", Permission.VIEW_WORKERS),
)


def frame(request: HttpRequest) -> dict[str, Any]:
    """Give what the frame shows."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"now": datetime.now(UTC), "language": get_language() or "en"}
    mine = preferences(request)
    return {
        "now": queries.database_now(),
        "language": get_language() or "en",
        "times": mine.times,
        "shortcuts": mine.shortcuts,
        "theme": mine.theme,
        "density": mine.density,
        "zone": lazystr(get_current_timezone_name()),
        "navigation": [link for link in PAGES if allowed(user, link.needs)],
        "roles": SimpleLazyObject(lambda: _roles(user)),
        "open_reviews": SimpleLazyObject(lambda: _open_reviews(user)),
        "may_act": allowed(user, Permission.ACT_ON_TASKS),
        "may_decide": allowed(user, Permission.DECIDE_REVIEWS),
        "needs_password": not user.has_usable_password(),
    }


def _roles(user: Any) -> str:
    return " · ".join(user.groups.order_by("name").values_list("name", flat=True)) or "no role"


def _open_reviews(user: Any) -> int:
    return queries.open_reviews() if allowed(user, Permission.VIEW_REVIEWS) else 0
