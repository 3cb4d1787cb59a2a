"""What events, effects and outcomes are called on pages; the line of an event that stands alone."""

from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, pgettext_lazy

from console.pages.words import Lamp, Worded, actor
from runtime.api import EventView
from runtime.core.effects import Effect, Touch
from runtime.core.events import EventType as E
from runtime.core.ledger_words import Word

TOO_LONG: Final = 300


_STANDINGS: Final = Worded(
    {
        Word.PLANNED: pgettext_lazy("an effect", "planned"),
        Word.RUNNING: pgettext_lazy("an effect", "running"),
        Word.RETRYING: pgettext_lazy("an effect", "retrying"),
        Word.CONFIRMED: pgettext_lazy("an effect", "confirmed"),
        Word.FOUND: pgettext_lazy("an effect", "found"),
        Word.GIVEN_UP: pgettext_lazy("an effect", "given up"),
        Word.IN_DOUBT: pgettext_lazy("an effect", "in doubt"),
        Word.UNDONE: pgettext_lazy("an effect", "undone"),
    }
)
_CLASSES: Final[Worded[str]] = Worded(
    {
        Effect.READ: pgettext_lazy("an effect class", "read"),
        Effect.LOCAL: pgettext_lazy("an effect class", "local"),
        Effect.KEYED: pgettext_lazy("an effect class", "keyed"),
        Effect.CHECKED: pgettext_lazy("an effect class", "checked"),
        Effect.ONCE: pgettext_lazy("an effect class", "once"),
    }
)
_TOUCHES: Final[Worded[str]] = Worded(
    {
        Touch.MESSAGE: pgettext_lazy("what a write touches", "message"),
        Touch.DELETE: pgettext_lazy("what a write touches", "delete"),
        Touch.MONEY: pgettext_lazy("what a write touches", "money"),
        Touch.RIGHTS: pgettext_lazy("what a write touches", "rights"),
    }
)
_OUTCOMES: Final = Worded(
    {
        "succeeded": pgettext_lazy("a call", "succeeded"),
        "failed": pgettext_lazy("a call", "failed"),
        "skipped": pgettext_lazy("a call", "skipped"),
        "running": pgettext_lazy("a worker", "running"),
        "draining": pgettext_lazy("a worker", "draining"),
        "stopped": pgettext_lazy("a worker", "stopped"),
        "dead": pgettext_lazy("a worker", "dead"),
    }
)


def standing(word: Word) -> str:
    """Name the standing of an effect."""
    return _STANDINGS[word]


def effect_class(effect: str) -> str:
    """Name what a call does to the world, as its tool declares it."""
    return _CLASSES.get(effect, effect)


def touch(what: str) -> str:
    """Name what a write touches."""
    return _TOUCHES.get(what, what)


def outcome(word: str) -> str:
    """Name the outcome of a call, or the state of a worker."""
    return _OUTCOMES.get(word, word)


def called(kind: str) -> str:
    """Name an event in a word or two."""
    known = _WORDS.get(kind)
    return _(known[1]) if known else kind.replace("_", " ")


def by(who: object) -> str:
    """Name who did it; nothing for nobody."""
    return _("by %(who)s") % {"who": actor(str(who))} if who else ""


def other(event: EventView) -> dict[str, Any]:
    """Give the parts of the line for an event that stands alone."""
    plain = event.type.replace("_", " ")
    lamp, label, verb = _WORDS.get(event.type, ("queued", plain, plain))
    payload = event.payload if isinstance(event.payload, dict) else {}
    said = payload.get("reason") or payload.get("summary") or payload.get("why") or ""
    who = payload.get("by") or (event.actor if event.actor.startswith("human:") else "")
    return {
        "lamp": Lamp(lamp, _(label)),
        "verb": _(verb),
        "what": str(said)[:TOO_LONG],
        "aside": by(who),
    }


_WORDS: Final[dict[str, tuple[str, str, str]]] = {
    E.TASK_CREATED: ("queued", gettext_noop("created"), gettext_noop("Submitted")),
    E.TASK_STARTED: ("moving", gettext_noop("started"), gettext_noop("Started")),
    E.MODEL_CALLED: ("model", gettext_noop("model"), gettext_noop("Asked the model")),
    E.PLAN_REJECTED: ("stop", gettext_noop("rejected"), gettext_noop("Plan rejected")),
    E.HOLD_PLACED: ("paused", gettext_noop("paused"), gettext_noop("Paused")),
    E.HOLD_RELEASED: ("moving", gettext_noop("resumed"), gettext_noop("Resumed")),
    E.CANCEL_REQUESTED: ("ended", gettext_noop("cancel"), gettext_noop("Cancel requested")),
    E.BUDGET_EXHAUSTED: ("stop", gettext_noop("limit"), gettext_noop("Limit used up")),
    E.CONFIG_DRIFT_DETECTED: (
        "waiting",
        gettext_noop("drift"),
        gettext_noop("Deployed otherwise than pinned"),
    ),
    E.CHECKPOINT_UNREADABLE: (
        "stop",
        gettext_noop("unreadable"),
        gettext_noop("Checkpoint unreadable"),
    ),
    E.WAIT_STARTED: ("waiting", gettext_noop("waits"), gettext_noop("Waits")),
    E.TASK_COMPLETED: ("done", gettext_noop("done"), gettext_noop("Reached its goal")),
    E.TASK_FAILED: ("stop", gettext_noop("failed"), gettext_noop("Failed")),
    E.TOOL_CALL_STARTED: ("moving", gettext_noop("sent"), gettext_noop("Sent")),
    E.TOOL_CALL_SUCCEEDED: ("done", gettext_noop("succeeded"), gettext_noop("Succeeded")),
    E.TOOL_CALL_FAILED: ("stop", gettext_noop("failed"), gettext_noop("Failed")),
    E.TOOL_CALL_IN_DOUBT: ("stop", gettext_noop("in doubt"), gettext_noop("In doubt")),
    E.TOOL_CALL_RECONCILED: ("done", gettext_noop("found out"), gettext_noop("Found out")),
    E.TOOL_CALL_CANCELLED: ("ended", gettext_noop("not made"), gettext_noop("Not made")),
    E.STEP_SKIPPED: ("done", gettext_noop("given by hand"), gettext_noop("Given by hand")),
    E.RETRY_SCHEDULED: ("retrying", gettext_noop("to be retried"), gettext_noop("To be retried")),
    E.REVIEW_REQUESTED: ("person", gettext_noop("asked a person"), gettext_noop("Asked a person")),
    E.REVIEW_CLOSED: ("done", gettext_noop("settled"), gettext_noop("Settled")),
    E.HUMAN_ANSWERED: ("person", gettext_noop("answered"), gettext_noop("Answered")),
    E.PLAN_GENERATED: ("moving", gettext_noop("planned"), gettext_noop("Planned")),
    E.TASK_ABORTED: ("ended", gettext_noop("ended"), gettext_noop("Ended")),
}
