"""Filters that every template has: foreign text made visible, spans, ages, short ids."""

from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone
from django.utils.safestring import SafeString

from console.pages import payloads, text, words

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


@register.filter
def short(value: object) -> str:
    """Shorten an id in the middle."""
    return words.short(str(value))


@register.filter
def actor(value: str | None) -> str:
    """Name who did something."""
    return words.actor(value or "somebody")


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
