"""What every page needs around its content: navigation, the person, the clock. A context processor.

All but the clock is asked for only when a template shows it, so fragments pay next to nothing.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from django.db import OperationalError
from django.http import HttpRequest
from django.utils.functional import Promise, SimpleLazyObject, lazystr
from django.utils.timezone import get_current_timezone_name
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from console import queries
from console.access import Permission, allowed
from console.middleware import preferences
from console.pages.script_words import script_words
from console.pages.words import role_word

BADGE_PATIENCE_MS: Final = 250
"""A page is worth more than the number beside its name."""


@dataclass(frozen=True, slots=True)
class Link:
    """One entry of the navigation."""

    url_name: str
    words: Promise
    icon: str
    needs: Permission


PAGES = (
    Link("home", gettext_lazy("Overview"), "overview", Permission.VIEW_TASKS),
    Link("tasks", gettext_lazy("Tasks"), "tasks", Permission.VIEW_TASKS),
    Link("reviews", gettext_lazy("Reviews"), "reviews", Permission.VIEW_REVIEWS),
    Link("agents", gettext_lazy("Agents"), "agents", Permission.VIEW_TASKS),
    Link("workers", gettext_lazy("Workers"), "workers", Permission.VIEW_WORKERS),
    Link("insights", gettext_lazy("Insights"), "insights", Permission.VIEW_METRICS),
)


def frame(request: HttpRequest) -> dict[str, Any]:
    """Give what the frame shows."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"now": datetime.now(UTC), **_spoken()}
    mine = preferences(request)
    return {
        "now": now_of(request),
        **_spoken(),
        "times": mine.times,
        "shortcuts": mine.shortcuts,
        "theme": mine.theme,
        "density": mine.density,
        "zone": lazystr(get_current_timezone_name()),
        "navigation": SimpleLazyObject(
            lambda: [link for link in PAGES if allowed(user, link.needs)]
        ),
        "roles": SimpleLazyObject(lambda: _roles(user)),
        # A template calls it and sees a None, which a lazy object would hide.
        "open_reviews": cache(lambda: _open_reviews(user)),
        "may_act": allowed(user, Permission.ACT_ON_TASKS),
        "may_submit": allowed(user, Permission.SUBMIT_TASKS),
        "may_decide": allowed(user, Permission.DECIDE_REVIEWS),
        "needs_password": not user.has_usable_password(),
    }


def now_of(request: HttpRequest) -> datetime:
    """Give the present by the database's clock, the same for all of one answer."""
    known: datetime | None = getattr(request, "database_now", None)
    if known is None:
        known = queries.database_now()
        request.database_now = known  # type: ignore[attr-defined]
    return known


def _spoken() -> dict[str, Any]:
    return {"language": get_language() or "en", "script_words": script_words}


def _roles(user: Any) -> str:
    names = user.groups.order_by("name").values_list("name", flat=True)
    return " · ".join(role_word(name) for name in names) or _("no role")


def _open_reviews(user: Any) -> int | None:
    """Count what waits for a person; None where that takes longer than a page can wait for it."""
    if not allowed(user, Permission.VIEW_REVIEWS):
        return 0
    try:
        with queries.patiently(BADGE_PATIENCE_MS):
            return queries.open_reviews()
    except (queries.TooSlow, OperationalError):
        return None
