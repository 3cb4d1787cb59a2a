"""How the console says things: states, spans, instants, decisions.

In one place and in the reader's language, so that list, task page and reviews never disagree.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy

from console.access import Role
from runtime.core.payload_views import human_size
from runtime.core.reviews import Decision, Kind
from runtime.core.states import State

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400


class Worded[K](Mapping[K, str]):
    """Words that are given in the language of who reads when they are asked for."""

    def __init__(self, words: Mapping[K, Promise]) -> None:
        self._words = words

    def __getitem__(self, key: K) -> str:
        return str(self._words[key])

    def later(self, key: K) -> Promise:
        """Give words for a table of one's own that is made before anybody reads it."""
        return self._words[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._words)

    def __len__(self) -> int:
        return len(self._words)


@dataclass(frozen=True, slots=True)
class Lamp:
    """One meaning: a shape, a colour and a word; never a colour alone.

    Args:
        kind: Which lamp: ``moving``, ``queued``, ``waiting``, ``retrying``, ``person``, ``paused``,
            ``stop``, ``done``, ``ended``, ``model``, ``write``.
        label: The word beside it.
    """

    kind: str
    label: str


#: The families of states; each has its row in the list and its filter.
FAMILIES: Final[dict[str, tuple[State, ...]]] = {
    "moving": (
        State.INITIALIZED,
        State.PLANNING,
        State.WAITING_TOOL_CALL,
        State.COMPENSATING,
        State.CONSOLIDATING,
    ),
    "retrying": (State.RETRYING,),
    "waiting": (
        State.WAITING_EXTERNAL_EVENT,
        State.WAITING_TIMER,
        State.WAITING_CHILDREN,
    ),
    "person": (State.WAITING_HUMAN,),
    "done": (State.TERMINATED_SUCCESS,),
    "failed": (State.TERMINATED_FAILED,),
    "ended": (State.TERMINATED_ABORTED,),
}
FAMILY_WORDS: Final = Worded(
    {
        "moving": gettext_lazy("Moving"),
        "retrying": gettext_lazy("Retrying"),
        "waiting": gettext_lazy("Waiting"),
        "person": gettext_lazy("Needs a person"),
        "done": gettext_lazy("Done"),
        "failed": gettext_lazy("Failed"),
        "ended": gettext_lazy("Cancelled"),
    }
)
FAMILY_OF: Final = {state: family for family, states in FAMILIES.items() for state in states}
LAMP_OF_FAMILY: Final[dict[str, str]] = {
    "moving": "moving",
    "retrying": "retrying",
    "waiting": "waiting",
    "person": "person",
    "done": "done",
    "failed": "stop",
    "ended": "ended",
}
STATE_WORDS: Final = Worded(
    {
        State.INITIALIZED: pgettext_lazy("state", "queued"),
        State.PLANNING: pgettext_lazy("state", "planning"),
        State.WAITING_TOOL_CALL: pgettext_lazy("state", "tool call"),
        State.RETRYING: pgettext_lazy("state", "retrying"),
        State.WAITING_EXTERNAL_EVENT: pgettext_lazy("state", "event"),
        State.WAITING_TIMER: pgettext_lazy("state", "timer"),
        State.WAITING_CHILDREN: pgettext_lazy("state", "sub-tasks"),
        State.WAITING_HUMAN: pgettext_lazy("state", "needs a person"),
        State.COMPENSATING: pgettext_lazy("state", "compensating"),
        State.CONSOLIDATING: pgettext_lazy("state", "consolidating"),
        State.TERMINATED_SUCCESS: pgettext_lazy("state", "success"),
        State.TERMINATED_FAILED: pgettext_lazy("state", "failed"),
        State.TERMINATED_ABORTED: pgettext_lazy("state", "cancelled"),
    }
)
KIND_WORDS: Final = Worded(
    {
        Kind.QUESTION: gettext_lazy("Question"),
        Kind.IN_DOUBT: gettext_lazy("In doubt"),
        Kind.KILLED_WORKER: gettext_lazy("Killed its worker"),
        Kind.RETRIES_EXHAUSTED: gettext_lazy("Retries exhausted"),
        Kind.PLAN_INVALID: gettext_lazy("Plan invalid"),
        Kind.REPEATED_WRITE: gettext_lazy("Repeated write"),
        Kind.CHECKPOINT_UNREADABLE: gettext_lazy("Checkpoint unreadable"),
    }
)
DECISION_WORDS: Final = Worded(
    {
        Decision.ANSWER: gettext_lazy("Answer"),
        Decision.RETRY: gettext_lazy("Call again"),
        Decision.RESULT: gettext_lazy("Give the result"),
        Decision.REBUILD: gettext_lazy("Rebuild and go on"),
        Decision.ABORT: gettext_lazy("End the task"),
    }
)
_RETRY_WORDS: Final = Worded(
    {
        Kind.PLAN_INVALID: gettext_lazy("Plan again"),
        Kind.REPEATED_WRITE: gettext_lazy("Do it again"),
        Kind.KILLED_WORKER: gettext_lazy("Try once more"),
        Kind.RETRIES_EXHAUSTED: gettext_lazy("Start over"),
    }
)


#: What became of a review item, as the end of "it is …".
STATUS_WORDS: Final = Worded(
    {
        "open": pgettext_lazy("review item", "open"),
        "decided": pgettext_lazy("review item", "decided"),
        "closed": pgettext_lazy("review item", "closed"),
        "cancelled": pgettext_lazy("review item", "cancelled"),
        "superseded": pgettext_lazy("review item", "superseded"),
        "expired": pgettext_lazy("review item", "expired"),
    }
)
ROLE_WORDS: Final = Worded(
    {
        Role.VIEWER: gettext_lazy("viewer"),
        Role.OPERATOR: gettext_lazy("operator"),
        Role.ADMINISTRATOR: gettext_lazy("administrator"),
    }
)


def role_word(name: str) -> str:
    """Name a role; those that an installation made itself keep their name."""
    return ROLE_WORDS[Role(name)] if name in set(Role) else name


def lamp(state: State, *, held: bool = False, in_hand: bool = True) -> Lamp:
    """Give the lamp of a task.

    Args:
        state: Where it stands.
        held: Somebody paused it.
        in_hand: A worker has it, or it needs none.
    """
    family = FAMILY_OF[state]
    if held and family not in {"done", "failed", "ended"}:
        return Lamp("paused", pgettext("state", "paused"))
    if family == "moving" and not in_hand:
        return Lamp("queued", STATE_WORDS[state])
    return Lamp(LAMP_OF_FAMILY[family], STATE_WORDS[state])


def kind_word(kind: str) -> str:
    """Name a kind of review item."""
    return KIND_WORDS[Kind(kind)] if kind in set(Kind) else kind


def status_word(status: str) -> str:
    """Say what became of a review item."""
    return STATUS_WORDS.get(status, status)


def decision_word(kind: str, decision: str) -> str:
    """Name a decision as the button that takes it."""
    if decision == Decision.RETRY and kind in set(Kind):
        return _RETRY_WORDS.get(Kind(kind), DECISION_WORDS[Decision.RETRY])
    return DECISION_WORDS[Decision(decision)] if decision in set(Decision) else decision


def span(seconds: float) -> str:
    """Say how long: ``0.4 s``, ``12 s``, ``3 min``, ``2 h 14 min``, ``5 d 3 h``."""
    seconds = max(seconds, 0.0)
    if seconds < 1:
        return _("%(number)s ms") % {"number": f"{seconds * 1000:.0f}"}
    if seconds < 10:  # noqa: PLR2004 (one decimal says something only below ten)
        return _("%(number)s s") % {"number": f"{seconds:.1f}"}
    whole = int(seconds)
    for size, two, one in _SPANS:
        if whole >= size:
            return _two(whole, size, two, one)
    return _("%(number)s s") % {"number": whole}


#: From how many seconds on a span is told in which units.
_SPANS: Final = (
    (_DAY_S, gettext_lazy("%(days)s d %(hours)s h"), gettext_lazy("%(days)s d")),
    (_HOUR_S, gettext_lazy("%(hours)s h %(minutes)s min"), gettext_lazy("%(hours)s h")),
    (_MINUTE_S, gettext_lazy("%(minutes)s min %(seconds)s s"), gettext_lazy("%(minutes)s min")),
)
_TELLS_SECONDS_BELOW: Final = 10


def _two(whole: int, size: int, two: Promise, one: Promise) -> str:
    days, hours, minutes = whole // _DAY_S, whole // _HOUR_S, whole // _MINUTE_S
    if size == _DAY_S:
        parts, rest = {"days": days, "hours": hours % 24}, hours % 24
    elif size == _HOUR_S:
        parts, rest = {"hours": hours, "minutes": minutes % 60}, minutes % 60
    else:
        parts, rest = {"minutes": minutes, "seconds": whole % 60}, whole % 60
        if minutes >= _TELLS_SECONDS_BELOW:
            rest = 0
    return str(two if rest else one) % parts


def age(now: datetime, then: datetime | None) -> str:
    """Say coarsely how long ago, or until: ``now``, ``12 s``, ``3 min``, ``2 h``, ``5 d``."""
    if then is None:
        return "–"
    seconds = int(abs((now - then).total_seconds()))
    if seconds < 1:
        return _("now")
    if seconds >= _DAY_S:
        return _("%(days)s d") % {"days": seconds // _DAY_S}
    if seconds >= _HOUR_S:
        return _("%(hours)s h") % {"hours": seconds // _HOUR_S}
    if seconds >= _MINUTE_S:
        return _("%(minutes)s min") % {"minutes": seconds // _MINUTE_S}
    return _("%(number)s s") % {"number": seconds}


def size(count: int) -> str:
    """Say how many bytes: ``812 bytes``, ``12.0 MB``."""
    return human_size(count) if count >= _UNITS_FROM else _("%(count)s bytes") % {"count": count}


_UNITS_FROM: Final = 1000


def short(text: str) -> str:
    """Shorten an id in the middle; both ends are what people compare."""
    return text if len(text) <= 13 else f"{text[:4]}…{text[-4:]}"  # noqa: PLR2004


def actor(text: str) -> str:
    """Name who did something: ``human:ann`` is ann, a worker is shortened, a policy says so."""
    kind, _colon, name = text.partition(":")
    match kind:
        case "human" if name:
            return name
        case "worker" if name:
            return _("worker %(name)s") % {"name": short(name)}
        case _:
            return text
