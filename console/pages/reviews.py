"""What people are asked to decide: the list, the item, and the decision.

An item is drawn from what the runtime stored when it asked.  A decision posts back the situation
that was on the screen; when the world has moved, the answer is 409 with what moved and who, and
what was typed stays.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from console import actions, queries
from console.access import Permission, needs
from console.guard import is_fragment
from console.pages.notes import leave
from console.pages.review_words import ask, meaning, settled, who_moved
from console.pages.words import decision_word
from runtime import api
from runtime.api import ReviewView
from runtime.core.errors import BadIdentifier, UnknownReview
from runtime.core.reviews import Decision

MOST_ITEMS: Final = 200
MOST_GONE: Final = 20
_CONFLICT: Final = 409


@dataclass(frozen=True, slots=True)
class Choice:
    """One decision the item offers.

    Args:
        name: In the form.
        words: On its button.
        meaning: What it does.
        takes: ``answer``, ``result`` or nothing: what must be given with it.
        is_destructive: It ends the task.
        needs_reason: Without one it is refused.
    """

    name: str
    words: str
    meaning: str
    takes: str
    is_destructive: bool
    needs_reason: bool


@needs(Permission.VIEW_REVIEWS)
@require_safe
def review_list(request: HttpRequest) -> HttpResponse:
    """Show what is open, the longest waiting first; to a script, also how those it lost ended."""
    gone = request.GET.getlist("gone")[:MOST_GONE]
    if gone and is_fragment(request):
        return _kept_private(render(request, "reviews/gone.html", {"ends": _ends(gone)}))
    found = api.reviews(limit=MOST_ITEMS)
    titles = queries.titles([item.task_id for item in found])
    items = [(item, ask(item), titles.get(item.task_id, "")) for item in found]
    part = "#inside" if is_fragment(request) else ""
    context = {"items": items, "most": MOST_ITEMS, "deciders": lambda: _deciders(request)}
    return _kept_private(render(request, f"reviews/list.html{part}", context))


def _ends(ids: list[str]) -> list[tuple[str, str]]:
    """Say how items ended; those that nobody knows are left out."""
    found = []
    for text in ids:
        try:
            found.append((text, settled(api.review(text))))
        except (UnknownReview, BadIdentifier):
            continue
    return found


def _deciders(request: HttpRequest) -> int:
    """Count the others who may decide."""
    rights = Q(groups__permissions__codename=Permission.DECIDE_REVIEWS) | Q(
        user_permissions__codename=Permission.DECIDE_REVIEWS
    )
    user: Any = request.user
    may = rights | Q(is_superuser=True)
    others = User.objects.filter(may, is_active=True).exclude(pk=user.pk)
    return others.distinct().count()


@needs(Permission.VIEW_REVIEWS)
@require_safe
def review(request: HttpRequest, review_id: UUID) -> HttpResponse:
    """Show one item, open or settled."""
    return _page(request, _found(review_id))


@needs(Permission.DECIDE_REVIEWS)
@require_http_methods(["POST"])
def decide(request: HttpRequest, review_id: UUID) -> HttpResponse:
    """Take a decision, or say why it cannot be taken."""
    item, typed = _found(review_id), request.POST
    decision = typed.get("decision", "")
    try:
        arguments = _arguments(decision, typed)
    except ValueError as problem:
        return _page(request, item, typed, said=str(problem), status=422)
    outcome = actions.decide(
        request,
        review_id,
        decision,
        reason=typed.get("reason", ""),
        arguments=arguments,
        situation=_situation(typed),
    )
    if outcome.is_done:
        return leave(request, outcome.said, "review", review_id=review_id)
    now = _found(review_id)
    if outcome.status == _CONFLICT:
        return _page(request, now, typed, moved=who_moved(outcome.error, now), status=_CONFLICT)
    return _page(request, now, typed, said=outcome.said, status=outcome.status)


def _page(  # noqa: PLR0913 (what the page can say)
    request: HttpRequest,
    item: ReviewView,
    typed: QueryDict | None = None,
    *,
    said: str = "",
    moved: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "item": item,
        "asked": ask(item),
        "choices": choices(item),
        "is_open": item.status == "open",
        "typed": {name: typed.get(name, "") for name in _TYPED} if typed is not None else {},
        "said": said,
        "moved": moved,
        "settled": settled(item),
    }
    part = "#item" if is_fragment(request) else ""
    return _kept_private(render(request, f"reviews/review.html{part}", context, status=status))


_TYPED: Final = ("decision", "reason", "answer", "result", "external_id")


def choices(item: ReviewView) -> list[Choice]:
    """List the decisions of an item with their meaning."""
    return [
        Choice(
            name=name,
            words=decision_word(item.kind, name),
            meaning=meaning(item.kind, name),
            takes=name if name in {Decision.ANSWER, Decision.RESULT} else "",
            is_destructive=name == Decision.ABORT,
            needs_reason=name == Decision.ABORT,
        )
        for name in item.allowed
    ]


def _arguments(decision: str, typed: QueryDict) -> dict[str, Any]:
    """Read what a decision takes from its fields.

    Raises:
        ValueError: It is missing or cannot be read; the message says what to do.
    """
    read = _READS.get(decision)
    return {} if read is None else read(typed)


def _answer(typed: QueryDict) -> dict[str, Any]:
    answer = typed.get("answer", "")
    if not answer.strip():
        raise ValueError(_("Write an answer first."))
    return {"answer": answer}


def _result(typed: QueryDict) -> dict[str, Any]:
    try:
        result = json.loads(typed.get("result", ""), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise ValueError(
            _('The result must be JSON: an object like {"status": "paid"}, or a text in quotes.')
        ) from None
    external_id = typed.get("external_id", "").strip()
    return {"result": result} | ({"external_id": external_id} if external_id else {})


def _no_constant(name: str) -> Any:
    raise ValueError(name)


_READS: Final[dict[str, Callable[[QueryDict], dict[str, Any]]]] = {
    Decision.ANSWER: _answer,
    Decision.RESULT: _result,
}


def _situation(typed: QueryDict) -> int:
    text = typed.get("situation", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1  # noqa: PLR2004


def _found(review_id: UUID) -> ReviewView:
    try:
        return api.review(review_id)
    except UnknownReview as error:
        raise Http404(str(error)) from error


def _kept_private(response: HttpResponse) -> HttpResponse:
    """Keep a page of decisions out of caches and its address out of other sites' logs."""
    response["Cache-Control"] = "no-store"
    response["Referrer-Policy"] = "no-referrer"
    return response
