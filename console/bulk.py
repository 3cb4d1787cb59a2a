"""One command for many tasks: frozen when it is given, carried out one by one, told of each.

Each task is a transaction of its own, in which the deed, its entry in the audit and its line in the
report are written; so a run that was interrupted, or sent twice, goes on with what is left.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, cast
from uuid import UUID

from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _

from console import actions, queries
from console.actions import LEVERS, Outcome
from console.models import BulkItem, BulkRun
from console.pages.words import STATE_WORDS
from runtime.core.errors import NotAllowedNow, SituationMoved, UnknownTask
from runtime.core.states import State

MOST: Final = 500
#: Above this, what cannot be taken back asks for the number to be typed.
TYPED_ABOVE: Final = 20
#: One request works no longer than this; what is left is carried on by the next.
BUDGET_S: Final = 8.0
_CONFLICT: Final = 409


@dataclass(frozen=True, slots=True)
class Chosen:
    """One task as it was when it was chosen."""

    task_id: UUID
    version: int
    situation: int

    def __str__(self) -> str:
        """Write it as forms carry it."""
        return f"{self.task_id}:{self.version}:{self.situation}"


def read(texts: Iterable[str]) -> list[Chosen]:
    """Read what a form carries; what is none of ours and what comes twice is left out."""
    found: dict[UUID, Chosen] = {}
    for text in texts:
        one = _read_one(text)
        if one is not None:
            found.setdefault(one.task_id, one)
    return list(found.values())


def _read_one(text: str) -> Chosen | None:
    parts = text.split(":")
    try:
        task_id, version, situation = parts
        one = Chosen(UUID(task_id), int(version), int(situation))
    except ValueError:
        return None
    return one if 0 < one.version < 1 << 62 and 0 < one.situation < 1 << 31 else None


def begin(
    request: HttpRequest, *, key: UUID, lever: str, reason: str, chosen: Iterable[Chosen]
) -> BulkRun | None:
    """Store a run with its items; a key that was used before gives the run that is there.

    Args:
        request: Whose account acts.
        key: Made with the form.
        lever: Name of the command.
        reason: Why.
        chosen: The tasks, at most `MOST`.

    Returns:
        The run; None when somebody else used this key.
    """
    owner = cast("int", request.user.pk)
    try:
        with transaction.atomic():
            run = BulkRun(id=key, owner_id=owner, lever=lever, reason=reason)
            run.save(force_insert=True)
            BulkItem.objects.bulk_create(
                BulkItem(run=run, task_id=c.task_id, version=c.version, situation=c.situation)
                for c in chosen
            )
    except IntegrityError:
        return BulkRun.objects.filter(pk=key, owner_id=owner).first()
    return run


def carry_on(request: HttpRequest, run: BulkRun, budget_s: float = BUDGET_S) -> None:
    """Carry out what is left of a run, as far as the time goes.

    Args:
        request: Whose account acts; its rights are asked for each task anew.
        run: The run.
        budget_s: No further task is begun after so many seconds.
    """
    until_s = time.monotonic() + budget_s
    while _do_one(request, run) and time.monotonic() < until_s:
        pass


def _do_one(request: HttpRequest, run: BulkRun) -> bool:
    """Do the next item that nobody else is doing; False when there is none."""
    with transaction.atomic():
        items = run.items.filter(result="").select_for_update(skip_locked=True).order_by("id")
        item = items.first()
        if item is None:
            return False
        item.result, item.said = _outcome(request, run, item)
        item.save(update_fields=["result", "said"])
    return True


def _outcome(request: HttpRequest, run: BulkRun, item: BulkItem) -> tuple[str, str]:
    if run.lever == "pause" and queries.is_held(item.task_id):
        return "skipped", _("It is paused already.")
    lever = LEVERS[run.lever]
    outcome = actions.pull(request, lever, item.task_id, run.reason, item.situation)
    if outcome.is_done:
        return "done", ""
    return ("skipped" if outcome.status == _CONFLICT else "refused"), _said(outcome)


def _said(outcome: Outcome) -> str:
    """Say in few words why it was left alone: beside each name the whole sentence is too long."""
    match outcome.error:
        case SituationMoved():
            return _("It has moved on since you selected it.")
        case NotAllowedNow(state=state) if state in set(State):
            return _("Not possible while it is “%(state)s”.") % {"state": STATE_WORDS[State(state)]}
        case UnknownTask():
            return _("There is no such task.")
        case _:
            return outcome.said
