"""The filter of the task list as it stands in the address: read, checked, written, taken apart.

A word that is not understood is an error at its field and filters nothing; the address is the only
place where a filter lives, so that it can be sent to somebody or kept as a view.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from console.pages.words import FAMILIES, FAMILY_WORDS, KIND_WORDS, STATE_WORDS
from console.queries import Filter, Sort, Waits
from console.queries.task_search import SHORTEST
from runtime.core.states import State

LONGEST_Q: Final = 200
EVERYTHING: Final = "all"
ATTENTION: Final = "attention"
"""The name of what a list shows without a state; for addresses where "no state" would not do."""
NAMES: Final = ("state", "agent", "q", "waits", "since", "until", "time", "sort")

WAIT_WORDS: Final[dict[str, Any]] = {
    Waits.QUEUE: gettext_lazy("a worker"),
    Waits.RETRY: gettext_lazy("a retry"),
    Waits.TIMER: gettext_lazy("a timer"),
    Waits.EVENT: gettext_lazy("an event"),
    Waits.CHILDREN: gettext_lazy("sub-tasks"),
    Waits.PAUSED: gettext_lazy("being resumed"),
    **{kind.value: KIND_WORDS.later(kind) for kind in KIND_WORDS},
}
SORT_WORDS: Final[dict[str, Any]] = {
    "": gettext_lazy("Needs you first"),
    Sort.NEWEST: gettext_lazy("Newest first"),
    Sort.OLDEST: gettext_lazy("Oldest first"),
    Sort.ENDED: gettext_lazy("Ended last first"),
}
#: Spans that one click away cover what people mostly ask.
SPANS: Final = {
    "1h": gettext_lazy("hour"),
    "24h": gettext_lazy("24 hours"),
    "7d": gettext_lazy("7 days"),
}
PART_WORDS: Final[dict[str, Any]] = {
    "state": gettext_lazy("State"),
    "agent": gettext_lazy("Agent"),
    "q": gettext_lazy("Search"),
    "waits": gettext_lazy("Waits for"),
    "since": pgettext_lazy("from this time on", "Since"),
    "until": pgettext_lazy("before this time", "Until"),
}
_AGO: Final = re.compile(r"(\d{1,5})\s*(m|min|h|d|w)")
_SECONDS: Final = {"m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_YEARS: Final = range(1971, 9000)


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a filter that can be taken away: its name, its words, and what is left then."""

    name: str
    words: str
    value: str
    rest: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A filter as somebody asked for it.

    Args:
        filter: What of it was understood.
        given: What was typed, by name, empty parts left out.
        errors: What was not understood and why, by name.
        now: When it was asked for.
    """

    filter: Filter
    given: Mapping[str, str]
    errors: Mapping[str, str]
    now: datetime

    @property
    def query(self) -> str:
        """How it is written in an address, always in the same way."""
        return query_of(self.given)

    @property
    def is_narrowed(self) -> bool:
        """Whether it hides anything."""
        return bool(self.parts)

    @property
    def is_detailed(self) -> bool:
        """Whether it uses what stands behind "More"."""
        names = {"waits", "since", "until", "sort", "time"}
        return bool(names & (set(self.given) | set(self.errors)))

    @property
    def parts(self) -> list[Part]:
        """What it is made of."""
        return [
            Part(
                name,
                str(PART_WORDS[name]),
                _value_words(name, self.given[name]),
                query_of({k: v for k, v in self.given.items() if k != name}),
            )
            for name in PART_WORDS
            if name in self.given and name not in self.errors
        ]

    def with_error(self, name: str, why: str) -> "Asked":
        """Add what turned out only when it was looked for."""
        return replace(self, errors={**self.errors, name: why})


def read(given: Mapping[str, str], now: datetime) -> Asked:
    """Read a filter.

    Args:
        given: The parameters of an address; others than `NAMES` are not looked at.
        now: What ``1h`` counts back from.
    """
    errors: dict[str, str] = {}
    texts = {name: _text(given.get(name, "")) for name in NAMES}
    texts["state"] = _known_state(texts["state"])
    q = _checked_q(texts["q"], errors)
    waits = _one_of(texts, "waits", WAIT_WORDS, errors)
    sort = _one_of(texts, "sort", SORT_WORDS, errors)
    by = _one_of(texts, "time", {"created", "ended"}, errors)
    since, until = _span(texts, now, errors)
    return Asked(
        Filter(
            states=_states(texts["state"]),
            is_everything=texts["state"] == EVERYTHING,
            agent=texts["agent"],
            q=q,
            waits=waits,
            since=since,
            until=until,
            by_end=by == "ended",
            sort=Sort(sort) if sort else None,
        ),
        {name: text for name, text in texts.items() if text and _says_something(name, texts)},
        errors,
        now,
    )


def query_of(given: Mapping[str, str]) -> str:
    """Write the parts of a filter as the query of an address, in the order of `NAMES`."""
    return urlencode([(name, given[name]) for name in NAMES if given.get(name)])


def _says_something(name: str, texts: Mapping[str, str]) -> bool:
    if name == "time":
        return texts["time"] != "created" and bool(texts["since"] or texts["until"])
    return True


def _known_state(name: str) -> str:
    return name if name in FAMILIES or name in set(State) or name == EVERYTHING else ""


def _states(name: str) -> tuple[State, ...]:
    if name in FAMILIES:
        return FAMILIES[name]
    return (State(name),) if name in set(State) else ()


def _value_words(name: str, value: str) -> str:
    if name == "state":
        return _state_words(value)
    return str(WAIT_WORDS.get(value, value)) if name == "waits" else value


def _state_words(name: str) -> str:
    if name == EVERYTHING:
        return _("all")
    return str(FAMILY_WORDS.get(name) or STATE_WORDS.get(State(name), name))


def _text(value: str) -> str:
    return value.replace("\x00", "").strip()[:LONGEST_Q]


def _checked_q(q: str, errors: dict[str, str]) -> str:
    # Two characters are a word in scripts without an alphabet.
    if q and len(q) < (SHORTEST if q.isascii() else 2):
        errors["q"] = _("Type at least three characters.")
        return ""
    return q


def _one_of(texts: Mapping[str, str], name: str, known: Any, errors: dict[str, str]) -> str:
    if texts[name] and texts[name] not in known:
        errors[name] = _("“%(text)s” is none of the choices.") % {"text": texts[name]}
        return ""
    return texts[name]


def _span(
    texts: Mapping[str, str], now: datetime, errors: dict[str, str]
) -> tuple[datetime | None, datetime | None]:
    since = _instant(texts, "since", now, errors)
    until = _instant(texts, "until", now, errors)
    if since is not None and until is not None and since >= until:
        errors["until"] = _("It ends before it begins.")
        return since, None
    return since, until


def _instant(
    texts: Mapping[str, str], name: str, now: datetime, errors: dict[str, str]
) -> datetime | None:
    if not texts[name]:
        return None
    found = instant(texts[name], now, ends=name == "until")
    if found is None:
        errors[name] = _("“%(text)s” is no time; write 1h, 24h, 7d or 2026-11-29 14:00.") % {
            "text": texts[name]
        }
    return found


def instant(text: str, now: datetime, *, ends: bool = False) -> datetime | None:
    """Understand a time: ``1h`` ago, a date, or a date and a time in the reader's zone.

    Args:
        text: What was typed.
        now: The present.
        ends: A date alone means its end and not its beginning.
    """
    ago = _AGO.fullmatch(text.lower())
    if ago:
        return now - timedelta(seconds=int(ago[1]) * _SECONDS[ago[2]])
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return _moment(text)
    if day.year not in _YEARS:
        return None
    return timezone.make_aware(datetime.combine(day + timedelta(days=int(ends)), time()))


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    if found.year not in _YEARS:
        return None
    return (found if found.tzinfo else timezone.make_aware(found)).astimezone(UTC)
