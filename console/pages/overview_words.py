"""The words of the first page: why a task is stuck, and what somebody did."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from console.queries.watching import ActLine
from runtime.core.stuck import Stuck

STUCK_WORDS: Final[dict[Stuck, Promise]] = {
    Stuck.NO_WORKER: gettext_lazy(
        "It could go on, and no running worker serves the queue %(queue)s."
    ),
    Stuck.OVERDUE: gettext_lazy(
        "It could go on, and no worker of the queue %(queue)s has taken it."
    ),
    Stuck.LOST: gettext_lazy(
        "Its worker has gone silent, and nobody has freed it: is a sweep running?"
    ),
}
_DID: Final[dict[str, Promise]] = {
    "task.pause": gettext_lazy("paused a task"),
    "task.resume": gettext_lazy("resumed a task"),
    "task.retry": gettext_lazy("had a task try again"),
    "task.cancel": gettext_lazy("cancelled a task"),
    "task.submit": gettext_lazy("submitted a task"),
    "task.demo": gettext_lazy("submitted the demo"),
    "review.answer": gettext_lazy("answered a question"),
    "review.retry": gettext_lazy("had a call made again"),
    "review.result": gettext_lazy("gave the result of a call"),
    "review.rebuild": gettext_lazy("had a task rebuilt"),
    "review.abort": gettext_lazy("ended a task"),
    "worker.drain": gettext_lazy("had a worker take no more"),
    "task.force_release": gettext_lazy("took a task out of a worker's hands"),
}
_RESULTS: Final[dict[str, Promise]] = {
    "denied": gettext_lazy("not allowed"),
    "conflict": gettext_lazy("came too late"),
    "refused": gettext_lazy("refused"),
    "failed": gettext_lazy("failed"),
}
_PAGES: Final = {"task": "task", "review": "review"}


@dataclass(frozen=True, slots=True)
class ActWords:
    """What somebody did.

    Args:
        did: In our words; the name of the action where we have none.
        result: Empty when it was done.
        href: Where its object is; empty where there is no such page.
        id: Of the object, as people know it.
    """

    act: ActLine
    did: str | Promise
    result: str | Promise
    href: str
    id: str


def act_words(act: ActLine) -> ActWords:
    """Word an entry of the audit."""
    kind, _, id_ = act.object.partition(":")
    return ActWords(
        act=act,
        did=_DID.get(act.action, act.action),
        result=_RESULTS.get(act.result, ""),
        href=_href(kind, id_),
        id=id_,
    )


def _href(kind: str, id_: str) -> str:
    if kind not in _PAGES:
        return ""
    try:
        return reverse(_PAGES[kind], args=[UUID(id_)])
    except ValueError:
        return ""
