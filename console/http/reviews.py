"""`/reviews`: what people are asked to decide, and deciding it."""

from typing import Annotated, Any, Final, Literal

from django.http import HttpRequest
from ninja import Query, Router

from console import audit, shown
from console.access import Permission
from console.audit import Act
from console.http.auth import Caller, caller_of, needs
from console.http.problems import Problem, of_error
from console.http.schemas import DecisionIn, ReviewDetailOut, ReviewOut, ReviewsOut, Space
from console.middleware import request_id
from runtime import api
from runtime.core.errors import BadIdentifier, SignalboxError, UnknownReview, WrongUsage

router = Router(tags=["reviews"])
CHANNEL: Final = "api"
_CONFLICT: Final = 409
_OBJECT: Final = {401: Problem, 403: Problem, 404: Problem, 422: Problem}

Which = Literal["open", "decided", "closed", "cancelled", "superseded", "expired", "all"]


class ShownMoved(WrongUsage):
    """What was decided on is not what is stored."""

    http_status = 409
    code = "shown_moved"
    sentence = "The item is not the one that was shown; read it again, then decide."


@router.get(
    "",
    response={200: ReviewsOut, 401: Problem, 403: Problem, 422: Problem},
    **needs(Permission.VIEW_REVIEWS),
)
def list_reviews(
    request: HttpRequest,
    status: Annotated[Which, Query(description="only those; or `all`")] = "open",
    cursor: Annotated[str | None, Query(description="`cursor` of the page before")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    namespace: Space = "default",
) -> ReviewsOut:
    """List what people are asked: open items the longest waiting first, others newest first."""
    caller_of(request).check_reach(namespace)
    wanted = None if status == "all" else status
    found = api.reviews(namespace=namespace, status=wanted, limit=limit + 1, beyond=cursor or None)
    rows = [ReviewOut.of(view) for view in found[:limit]]
    last = str(found[limit - 1].id) if len(found) > limit else None
    return ReviewsOut.model_construct(reviews=rows, cursor=last)


@router.get(
    "/{review_id}", response={200: ReviewDetailOut, **_OBJECT}, **needs(Permission.VIEW_REVIEWS)
)
def get_review(
    request: HttpRequest, review_id: str, namespace: Space = "default"
) -> ReviewDetailOut:
    """Read one item with everything it rests on."""
    view = _seen(caller_of(request), namespace, review_id)
    return ReviewDetailOut.of_detail(view, shown.digest(view))


@router.post(
    "/{review_id}/decision",
    response={200: ReviewDetailOut, 409: Problem, **_OBJECT},
    **needs(Permission.DECIDE_REVIEWS),
)
def decide_review(
    request: HttpRequest, review_id: str, body: DecisionIn, namespace: Space = "default"
) -> Any:
    """Decide an item; of several decisions one wins, and the others are told which.

    Who decides is the account that calls, or whose token it is: nothing in the body names it.
    """
    caller = caller_of(request)
    view = _seen(caller, namespace, review_id)
    act = Act(
        actor=caller.actor,
        action=f"review.{body.decision if body.decision in view.allowed else 'decide'}",
        object=f"review:{view.id}",
        reason=body.reason,
        request_id=request_id(request),
    )
    try:
        if body.digest is not None and body.digest != shown.digest(view):
            raise ShownMoved
        done = api.decide(
            view.id,
            body.decision,
            reason=body.reason,
            by=caller.actor,
            channel=CHANNEL,
            arguments=body.arguments,
            situation=body.situation,
            namespace=namespace,
        )
    except SignalboxError as error:
        audit.record(act, "conflict" if error.http_status == _CONFLICT else "refused", str(error))
        now = api.review(view.id, namespace=namespace)
        return of_error(request, error, {"current": ReviewOut.of(now).model_dump()})
    audit.record(act, "done", f"token {caller.token}" if caller.token else "api session")
    return ReviewDetailOut.of_detail(done, shown.digest(done))


def _seen(caller: Caller, namespace: str, review_id: str) -> api.ReviewView:
    """Give an item that the caller may see.

    Raises:
        UnknownReview: There is none, or it is none of the caller's business: the same words.
    """
    try:
        if caller.reaches(namespace):
            return api.review(review_id, namespace=namespace)
    except BadIdentifier:
        pass
    raise UnknownReview(review_id)
