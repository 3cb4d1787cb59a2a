"""What operators do on pages: permission, then the facade, then an entry in the audit.

Pages call these and render the outcome; they never call the facade's levers themselves.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from console import audit
from console.access import Permission, allowed
from console.audit import Act
from console.middleware import request_id
from console.pages.spoken import refusal
from runtime import api
from runtime.api import SignalboxError

CHANNEL: Final = "console"
_CONFLICT: Final = 409


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended.

    Args:
        status: The HTTP status that says so; 200 when it was done.
        said: One sentence for the person.
        error: What the facade raised, for pages that tell more.
    """

    status: int
    said: str
    error: SignalboxError | None = None

    @property
    def is_done(self) -> bool:
        """Whether it was done."""
        return self.error is None and self.status < 400  # noqa: PLR2004 (where HTTP's errors begin)


@dataclass(frozen=True, slots=True)
class Lever:
    """One thing that can be done to a task.

    Args:
        name: In addresses and in the audit.
        words: On the button.
        asks: The question of its dialog.
        says: What will happen, in the dialog.
        done: What is said after it.
        needs_situation: Refused when the task has moved on since it was shown.
        is_destructive: It cannot be taken back.
    """

    name: str
    words: str | Promise
    asks: str | Promise
    says: str | Promise
    done: str | Promise
    needs_situation: bool = False
    is_destructive: bool = False


LEVERS: Final[dict[str, Lever]] = {
    lever.name: lever
    for lever in (
        Lever(
            "pause",
            _("Pause"),
            _("Pause this task?"),
            _("Nothing is lost; it goes on exactly where it stands once it is resumed."),
            _("Paused. A step under way reaches its end first."),
        ),
        Lever(
            "resume",
            _("Resume"),
            _("Resume this task?"),
            _("It goes on exactly where it stands."),
            _("Resumed."),
            needs_situation=True,
        ),
        Lever(
            "retry",
            _("Retry now"),
            _("Retry now?"),
            _("It does not wait any longer."),
            _("It is tried again now."),
            needs_situation=True,
        ),
        Lever(
            "cancel",
            _("Cancel task"),
            _("Cancel this task?"),
            _("It ends without reaching its goal. This cannot be taken back."),
            _("Cancelled. A worker that holds it ends it at its next step."),
            is_destructive=True,
        ),
    )
}


def pull(request: HttpRequest, lever: Lever, task_id: UUID, reason: str, situation: int) -> Outcome:
    """Do something to a task.

    Args:
        request: Whose account acts.
        lever: What to do.
        task_id: To which task.
        reason: Why; must not be empty.
        situation: What was on the screen.
    """
    act = act_of(request, f"task.{lever.name}", f"task:{task_id}", reason)
    if not reason.strip():
        return Outcome(422, gettext("Say why: the reason is kept with the task."))
    seen = {"situation": situation} if lever.needs_situation else {}
    call = getattr(api, lever.name)
    return attempt(
        request,
        Permission.ACT_ON_TASKS,
        act,
        lambda: call(task_id, reason=reason, by=act.actor, **seen),
        str(lever.done),
    )


def decide(  # noqa: PLR0913 (the parts of one decision)
    request: HttpRequest,
    review_id: UUID,
    decision: str,
    *,
    reason: str,
    arguments: Mapping[str, Any],
    situation: int,
) -> Outcome:
    """Decide a review item.

    Args:
        request: Whose account decides.
        review_id: The item.
        decision: One of those it offers.
        reason: Why.
        arguments: What the decision takes.
        situation: What was on the screen.
    """
    act = act_of(request, f"review.{decision}", f"review:{review_id}", reason)
    return attempt(
        request,
        Permission.DECIDE_REVIEWS,
        act,
        lambda: api.decide(
            review_id,
            decision,
            reason=reason,
            by=act.actor,
            channel=CHANNEL,
            arguments=arguments,
            situation=situation,
        ),
        gettext("Your decision is recorded."),
    )


def account(user: AbstractBaseUser | Any) -> str:
    """Name an account as actors are named."""
    return f"human:{user.get_username()}"


def act_of(request: HttpRequest, action: str, what: str, reason: str = "") -> Act:
    """Name what somebody tries, as the audit keeps it."""
    return Act(
        actor=account(request.user),
        action=action[:100],
        object=what,
        reason=reason,
        request_id=request_id(request),
    )


def attempt(
    request: HttpRequest,
    permission: Permission,
    act: Act,
    work: Callable[[], object],
    done: str,
) -> Outcome:
    """Do something if its account may, and keep in the audit how that went.

    Args:
        request: Whose account acts.
        permission: What it takes.
        act: What is attempted.
        work: Does it through the facade.
        done: What is said when it is done.
    """
    if not allowed(request.user, permission):
        audit.record(act, "denied")
        return Outcome(403, gettext("Your account may not do this."))
    try:
        # What was done and who did it are written together, or neither is.
        with transaction.atomic():
            work()
            audit.record(act, "done")
    except SignalboxError as error:
        audit.record(act, "conflict" if error.http_status == _CONFLICT else "refused", str(error))
        return Outcome(error.http_status, refusal(error), error)
    return Outcome(200, done)
