"""The sentences of review items, made by the server; the agent's words are quoted.

`Asked` keeps the two apart, so that a template never lets a foreign text pass as ours.
"""

from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from console.pages.spoken import refusal
from console.pages.words import Worded, actor, decision_word, status_word
from console.recorded import recorded
from runtime.api import ReviewView, SignalboxError
from runtime.core.errors import ReviewClosed, SituationMoved
from runtime.core.reviews import Decision, Kind


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person is asked.

    Args:
        title: Our sentence.
        quote: What the agent or a tool said, to be shown as theirs; empty for nothing.
        because: Our reason why it needs a person.
    """

    title: str
    quote: str
    because: str


_ASKS: Final[dict[str, tuple[Promise, Promise]]] = {
    Kind.QUESTION: (
        gettext_lazy("The agent has a question"),
        gettext_lazy("The agent cannot go on without an answer."),
    ),
    Kind.IN_DOUBT: (
        gettext_lazy("Did %(tool)s happen?"),
        gettext_lazy(
            "The call went out and no answer came back. It is not made again by itself, so that "
            "it cannot happen twice."
        ),
    ),
    Kind.KILLED_WORKER: (
        gettext_lazy("%(tool)s ended its worker’s process again and again"),
        gettext_lazy("The step is set aside, so that it cannot take other tasks down with it."),
    ),
    Kind.RETRIES_EXHAUSTED: (
        gettext_lazy("%(tool)s failed at every attempt"),
        gettext_lazy("No attempt is left."),
    ),
    Kind.PLAN_INVALID: (
        gettext_lazy("The plan cannot be run"),
        gettext_lazy("Nothing of it was done."),
    ),
    Kind.REPEATED_WRITE: (
        gettext_lazy("Do %(tool)s a second time?"),
        gettext_lazy("This task has confirmed the same effect before."),
    ),
    Kind.CHECKPOINT_UNREADABLE: (
        gettext_lazy("The task’s stored state cannot be trusted"),
        gettext_lazy("Its checkpoint is damaged; the events it was made from can be read."),
    ),
}
_MEANINGS: Final = Worded(
    {
        (Kind.QUESTION, Decision.ANSWER): gettext_lazy("the answer goes to the planner"),
        (Kind.IN_DOUBT, Decision.RESULT): gettext_lazy("it happened; this is its result"),
        (Kind.IN_DOUBT, Decision.RETRY): gettext_lazy("it did not happen; call again"),
        (Kind.KILLED_WORKER, Decision.RETRY): gettext_lazy(
            "try once more, in a process of its own"
        ),
        (Kind.KILLED_WORKER, Decision.RESULT): gettext_lazy("do not run it; take this result"),
        (Kind.RETRIES_EXHAUSTED, Decision.RETRY): gettext_lazy("start over with fresh attempts"),
        (Kind.RETRIES_EXHAUSTED, Decision.RESULT): gettext_lazy("do not run it; take this result"),
        (Kind.PLAN_INVALID, Decision.RETRY): gettext_lazy("let the planner decide again"),
        (Kind.REPEATED_WRITE, Decision.RETRY): gettext_lazy(
            "do it again: a second effect is wanted"
        ),
        (Kind.REPEATED_WRITE, Decision.RESULT): gettext_lazy(
            "do not do it again; take this result"
        ),
        (Kind.CHECKPOINT_UNREADABLE, Decision.REBUILD): gettext_lazy(
            "go on from the state folded from the events"
        ),
    }
)


def ask(item: ReviewView) -> Asked:
    """Word an item."""
    title, because = _ASKS.get(item.kind, (gettext_lazy("A decision is needed"), None))
    said = str(title) % {"tool": item.tool or _("a call")}
    return Asked(said, item.question or recorded(item.why), str(because or ""))


def meaning(kind: str, decision: str) -> str:
    """Say what a decision does, in words for the person who takes it."""
    return _MEANINGS.get((Kind(kind), Decision(decision)), _("the task ends as aborted"))


def settled(item: ReviewView) -> str:
    """Say in a line how an item ended and by whom; empty for an open one."""
    if item.status == "open":
        return ""
    if item.decided_by and item.decision:
        return _("%(person)s decided: %(decision)s") % {
            "person": actor(item.decided_by),
            "decision": decision_word(item.kind, item.decision),
        }
    return _("It is %(status)s.") % {"status": status_word(item.status)}


def who_moved(error: SignalboxError | None, now: ReviewView) -> str:
    """Say what moved, and who moved it, since an item was shown."""
    if isinstance(error, ReviewClosed):
        return _closed(error, now)
    if isinstance(error, SituationMoved):
        if now.status != "open":
            return _lost(now)
        return _(
            "The task has moved on since this page was shown (situation %(seen)s, now %(now)s). "
            "What you see below is how it stands now; nothing was decided."
        ) % {"seen": error.expected, "now": error.actual}
    return refusal(error) if error is not None else ""


def _closed(error: ReviewClosed, now: ReviewView) -> str:
    if now.decided_by:
        return _lost(now)
    return _("It is %(status)s by now, by %(person)s; nothing was decided.") % {
        "status": status_word(error.outcome),
        "person": actor(error.closed_by),
    }


def _lost(now: ReviewView) -> str:
    if not (now.decided_by and now.decision):
        said = _("It is %(status)s by now; your decision was not taken.")
        return said % {"status": status_word(now.status)}
    won = {
        "person": actor(now.decided_by),
        "decision": decision_word(now.kind, now.decision),
        "reason": now.reason or "",
    }
    if now.reason:
        said = _(
            "%(person)s decided “%(decision)s” first: %(reason)s. Your decision was not taken."
        )
    else:
        said = _("%(person)s decided “%(decision)s” first. Your decision was not taken.")
    return said % won
