"""Filters that every template has: foreign text made visible, spans, ages, short ids."""

from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.access import Permission
from console.middleware import preferences
from console.pages import event_words, payloads, text, times, words
from console.pages.drawn import drawn
from console.pages.rights import PERMISSION_WORDS
from console.recorded import recorded as reworded
from runtime.core.ledger_words import Word
from runtime.core.states import State

register = template.Library()


@register.filter
def visible(value: object) -> SafeString:
    """Show foreign text as text, with every hidden character by its code point."""
    return text.visible("" if value is None else value)


@register.filter
def plain(value: object) -> str:
    """Show foreign text where no markup can stand, as in the title of a tab."""
    return text.plain("" if value is None else value)


@register.filter
def misleads(value: object) -> list[str]:
    """Say what a text may mislead its reader by."""
    return text.warnings(str(value))


@register.filter
def payload(value: Any) -> payloads.Shown:
    """Give the beginning of a payload as text."""
    return payloads.shown(value)


@register.filter
def whole(value: Any) -> payloads.Shown:
    """Give all of a payload as text: where somebody decides, nothing is cut."""
    return payloads.shown(value, None)


@register.filter
def span(seconds: float | None) -> str:
    """Say how long."""
    return "–" if seconds is None else words.span(float(seconds))


@register.filter
def age(then: datetime | None, now: datetime) -> str:
    """Say how long ago."""
    return words.age(now, then)


@register.simple_tag
def piece(name: str, **values: Any) -> SafeString:
    """Include a template that shows these values and nothing else: it is drawn once for each."""
    return drawn(name, **values)


@register.simple_tag(takes_context=True)
def moment(
    context: template.Context, then: datetime | None, now: datetime, phrase: str = ""
) -> SafeString | str:
    """Give an instant as its reader prefers: how long ago, going on by a script, or date and time.

    Args:
        context: Knows the reader.
        then: The instant.
        now: The database's clock.
        phrase: ``ago`` or ``waiting``: what the age stands in.
    """
    if then is None:
        return "–"
    request = getattr(context, "request", None)
    if request is not None and preferences(request).times == "absolute":
        return format_html(_ABSOLUTE, utc(then), stamp(then), times.at(then, now, phrase))
    said = times.ago(then, now, phrase)
    return format_html(_RELATIVE, utc(then), stamp(then), phrase, said)


_ABSOLUTE = '<time class="num" datetime="{}" title="{}">{}</time>'
_RELATIVE = (
    '<time class="num" datetime="{}" title="{}" data-behavior="age" data-phrase="{}">{}</time>'
)


@register.filter
def short(value: object) -> str:
    """Shorten an id in the middle."""
    return words.short(str(value))


@register.filter
def event_word(type_: str) -> str:
    """Name an event in a word or two."""
    return event_words.called(type_)


@register.filter
def effect_word(word: Word) -> str:
    """Name the standing of an effect."""
    return event_words.standing(word)


@register.filter
def effect_class(effect: str) -> str:
    """Name what a tool declares that a call does to the world."""
    return event_words.effect_class(effect)


@register.filter
def touch_word(touch: str) -> str:
    """Name what a write touches."""
    return event_words.touch(touch)


@register.filter
def outcome_word(word: str) -> str:
    """Name the outcome of a call, or the state of a worker."""
    return event_words.outcome(word)


@register.filter
def decided_word(decision: str, kind: str) -> str:
    """Name a decision as the button that took it."""
    return words.decision_word(kind, decision)


@register.filter
def state_word(state: str) -> str:
    """Name a state of a task."""
    return str(words.STATE_WORDS[State(state)])


@register.filter
def human_size(size: int) -> str:
    """Say how many bytes."""
    return words.size(int(size))


@register.filter
def recorded(value: str | None) -> str:
    """Give what the runtime recorded in the reader's language, where it is known."""
    return reworded(value or "")


@register.filter
def actor(value: str | None) -> str:
    """Name who did something."""
    return words.actor(value or "somebody")


@register.filter
def review_status(value: str) -> str:
    """Say what became of a review item."""
    return words.status_word(value)


@register.filter
def right(permission: str) -> str:
    """Say what a permission lets somebody do."""
    return PERMISSION_WORDS.get(Permission(permission), permission)


@register.filter
def kind(value: str) -> str:
    """Name a kind of review item."""
    return words.kind_word(value)


@register.filter
def clock(then: datetime | None) -> str:
    """Give the time of day in the reader's zone, to the second."""
    return timezone.localtime(then).strftime("%H:%M:%S") if then else "–"


@register.filter
def stamp(then: datetime | None) -> str:
    """Give date and time in the reader's zone, which it names."""
    if then is None:
        return "–"
    return timezone.localtime(then).strftime("%Y-%m-%d %H:%M:%S %Z")


@register.filter
def utc(then: datetime | None) -> str:
    """Give an instant for scripts: ISO 8601 in UTC."""
    if then is None:
        return ""
    return then.astimezone(timezone.get_fixed_timezone(0)).isoformat().replace("+00:00", "Z")
