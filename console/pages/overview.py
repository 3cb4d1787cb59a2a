"""The first page: how everything stands, what needs a person now, and how the last hour went.

Everything on it leads to the page that tells more.  Its parts are fetched again while it is open;
entries of the list that are settled meanwhile stay, greyed, until the reader leaves.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from console import demo, queries
from console.access import Permission, allowed, needs
from console.pages.figures import capped, count, counting_is_behind, instant
from console.pages.hour import hour
from console.pages.overview_words import STUCK_WORDS, ActWords, act_words
from console.pages.review_words import ask
from console.pages.words import FAMILIES, FAMILY_WORDS, LAMP_OF_FAMILY, kind_word
from console.queries import watching
from runtime import api
from runtime.api import Backlog, StuckView, WorkerView
from runtime.core.reviews import Kind
from runtime.core.states import State

REVIEWS_SHOWN: Final = 5
STUCK_SHOWN: Final = 3
ACTS_SHOWN: Final = 8
WORKERS_SHOWN: Final = 5
QUEUES_SHOWN: Final = 5
_DAY_S: Final = 86_400
_NONE: Final = str(UUID(int=0))


@dataclass(frozen=True, slots=True)
class Light:
    """One lamp of the box: a meaning, how many, and where they are."""

    lamp: str
    words: str
    number: str
    href: str


@dataclass(frozen=True, slots=True)
class Need:
    """Something a person should look at.

    Args:
        id: Of the entry on the page.
        lamp: Its lamp.
        kind: What it is.
        title: What leads to it; ours, or foreign where it is a task's.
        href: Where to.
        task_id: Of which task.
        agent: Whose.
        task_title: In foreign words, if the title is ours.
        why: Why it needs somebody; may be foreign.
        since: Since when it waits.
    """

    id: str
    lamp: str
    kind: str
    title: str
    href: str
    task_id: UUID
    agent: str
    task_title: str
    why: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Crew:
    """The workers in numbers, those that are silent, and what waits for them."""

    alive: int
    held: int
    slots: int
    silent: tuple[WorkerView, ...]
    backlogs: tuple[Backlog, ...]
    due: int
    oldest_s: float

    @property
    def share(self) -> int:
        """Slots in use, of a hundred."""
        return min(round(100 * self.held / self.slots), 100) if self.slots else 0


@needs(Permission.VIEW_TASKS)
@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """Show the page."""
    context = _parts(request)
    is_first = queries.newest_task() == _NONE
    context |= {"is_first": is_first, "offers_demo": is_first and demo.is_offered(request)}
    return render(request, "overview/overview.html", context)


@needs(Permission.VIEW_TASKS)
@require_safe
def overview_parts(request: HttpRequest) -> HttpResponse:
    """Give the parts that change, to be put in place of the old ones."""
    return render(request, "overview/parts.html", _parts(request))


@needs(Permission.SUBMIT_TASKS)
@require_POST
def start_demo(request: HttpRequest) -> HttpResponse:
    """Submit the demo's tasks and lead back to see them move."""
    outcome = demo.start(request)
    if outcome.is_done:
        messages.success(request, outcome.said)
    else:
        messages.error(request, outcome.said)
    return redirect("home")


def _parts(request: HttpRequest) -> dict[str, Any]:
    may = {
        "reviews": allowed(request.user, Permission.VIEW_REVIEWS),
        "workers": allowed(request.user, Permission.VIEW_WORKERS),
        "metrics": allowed(request.user, Permission.VIEW_METRICS),
    }
    stuck = api.stuck_tasks(limit=queries.COUNTED)
    needs_now, more = _needs(stuck, with_reviews=may["reviews"])
    return {
        "may": may,
        "lights": _lights(len(stuck), with_reviews=may["reviews"]),
        "needs_now": needs_now,
        "more": more,
        "hour": hour() if may["metrics"] else None,
        "crew": _crew() if may["workers"] else None,
        "acts": _acts(),
        "behind": counting_is_behind(),
    }


# --- lamps --------------------------------------------------------------------------------------


def _lights(stuck: int, *, with_reviews: bool) -> list[Light]:
    counted = queries.counts()
    lights = []
    for family in ("moving", "waiting", "retrying", "person"):
        number = sum(counted[state] for state in FAMILIES[family])
        lamp = LAMP_OF_FAMILY[family] if number else "none"
        href = f"{reverse('tasks')}?state={family}"
        lights.append(Light(lamp, str(FAMILY_WORDS[family]), _number(number), href))
    if with_reviews:
        doubt = watching.in_doubt()
        lamp = "stop" if doubt else "none"
        href = f"{reverse('tasks')}?waits={Kind.IN_DOUBT}"
        lights.append(Light(lamp, _("In doubt"), _number(doubt), href))
    lamp = "stop" if stuck else "none"
    lights.append(Light(lamp, _("Stuck"), _number(stuck), "#needs"))
    return lights + _settled()


def _settled() -> list[Light]:
    """Count what ended within a day, from buckets: the tables are never counted."""
    day = api.series(_DAY_S, 900)
    since = instant(day.since)
    lights = []
    for lamp, words, family, state in (
        ("stop", _("Failed, 24\u00a0h"), "failed", State.TERMINATED_FAILED),
        ("done", _("Done, 24\u00a0h"), "done", State.TERMINATED_SUCCESS),
    ):
        number = day.total.of("task_ended", state)
        href = f"{reverse('tasks')}?state={family}&time=ended&since={since}"
        lights.append(Light(lamp if number else "none", words, count(number), href))
    return lights


def _number(number: int) -> str:
    return capped(min(number, queries.COUNTED))


# --- what needs a person ------------------------------------------------------------------------


def _needs(stuck: list[StuckView], *, with_reviews: bool) -> tuple[list[Need], int]:
    """List what waits for a decision, the longest first, then what is stuck; and how many more."""
    items = api.reviews(limit=REVIEWS_SHOWN) if with_reviews else []
    shown = stuck[:STUCK_SHOWN]
    titles = queries.titles([one.task_id for one in items] + [one.id for one in shown])
    found = []
    for item in items:
        asked = ask(item)
        # A question speaks for itself; whatever else is asked, we put into words.
        is_question = item.kind == Kind.QUESTION and bool(item.question)
        found.append(
            Need(
                id=f"review-{item.id}",
                lamp="person",
                kind=kind_word(item.kind),
                title=item.question if is_question else str(asked.title),
                href=reverse("review", args=[item.id]),
                task_id=item.task_id,
                agent=item.agent,
                task_title=titles.get(item.task_id, ""),
                why="" if is_question else asked.quote,
                since=item.opened_at,
            )
        )
    found += [
        Need(
            id=f"stuck-{one.id}",
            lamp="stop",
            kind=_("Stuck"),
            title=titles.get(one.id) or one.agent,
            href=reverse("task", args=[one.id]),
            task_id=one.id,
            agent=one.agent,
            task_title="",
            why=str(STUCK_WORDS[one.why]) % {"queue": one.queue},
            since=one.since,
        )
        for one in shown
    ]
    more = queries.open_reviews() - len(items) if with_reviews else 0
    return found, max(more, 0) + len(stuck) - len(shown)


# --- workers ------------------------------------------------------------------------------------


def _crew() -> Crew:
    workers = [one for one in api.workers() if one.state in {"running", "draining"}]
    alive = [one for one in workers if one.lease_left_s >= 0]
    backlogs = sorted(api.backlogs(), key=lambda one: (-one.oldest_s, one.queue))
    return Crew(
        alive=len(alive),
        held=sum(one.held for one in alive),
        slots=sum(one.slots for one in alive),
        silent=tuple(one for one in workers if one.lease_left_s < 0)[:WORKERS_SHOWN],
        backlogs=tuple(backlogs[:QUEUES_SHOWN]),
        due=sum(one.due for one in backlogs),
        oldest_s=max((one.oldest_s for one in backlogs), default=0.0),
    )


# --- what people did ----------------------------------------------------------------------------


def _acts() -> list[ActWords]:
    return [act_words(one) for one in watching.recent_acts(ACTS_SHOWN)]
