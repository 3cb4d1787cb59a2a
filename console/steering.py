"""What operators do beside levers and decisions: submit tasks, steer workers; each is audited.

Pages call these and render the outcome; see `console.actions`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import gettext as _

from console.access import Permission
from console.actions import Outcome, account, act_of, attempt
from runtime import api


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A task that somebody asks for on a page.

    Args:
        key: The form's own key, so that sending it twice makes one task.
    """

    agent: str
    input: Any
    key: str
    manifest: Mapping[str, Any] | None = None
    title: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    priority: int = 0
    not_before: datetime | None = None


def submit(request: HttpRequest, wanted: Wanted) -> tuple[Outcome, UUID | None]:
    """Create a task; gives its id when there is one now."""
    made: list[UUID] = []

    def work() -> None:
        view = api.submit(
            wanted.agent,
            wanted.input,
            manifest=wanted.manifest,
            key=wanted.key,
            title=wanted.title,
            labels=wanted.labels,
            priority=wanted.priority,
            not_before=wanted.not_before,
            created_by=account(request.user),
        )
        made.append(view.id)

    act = act_of(request, "task.submit", f"agent:{wanted.agent}")
    outcome = attempt(request, Permission.SUBMIT_TASKS, act, work, _("The task is submitted."))
    return outcome, made[0] if made and outcome.is_done else None


def drain(request: HttpRequest, worker_id: UUID, reason: str, *, wanted: bool) -> Outcome:
    """Have a worker finish what it holds and take no more, or take again.

    Args:
        request: Whose account acts.
        worker_id: The incarnation.
        reason: Why; must not be empty.
        wanted: False to have it take tasks again.
    """
    if not reason.strip():
        return Outcome(422, _("Say why: the reason is kept in the audit."))
    action = "worker.drain" if wanted else "worker.undrain"
    act = act_of(request, action, f"worker:{worker_id}", reason)
    said = (
        _("It takes no more tasks; what it holds it carries on to the next wait or the end.")
        if wanted
        else _("It takes tasks again.")
    )
    return attempt(
        request,
        Permission.MANAGE_WORKERS,
        act,
        lambda: api.drain(worker_id, wanted=wanted),
        said,
    )


def force_release(request: HttpRequest, task_id: UUID, reason: str, epoch: int) -> Outcome:
    """Take a task out of the hands of its worker.

    Args:
        request: Whose account acts.
        task_id: The task.
        reason: Why; must not be empty.
        epoch: The lease that was on the screen.
    """
    if not reason.strip():
        return Outcome(422, _("Say why: the reason is kept in the audit."))
    return attempt(
        request,
        Permission.MANAGE_WORKERS,
        act_of(request, "task.force_release", f"task:{task_id}", reason),
        lambda: api.force_release(task_id, epoch=epoch),
        _("It is free; the next worker goes on from its last commit."),
    )
