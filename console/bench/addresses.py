"""Every page of the console as an address that can be asked; routes come from the console's own."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from django.urls import URLPattern, URLResolver, get_resolver, reverse

from console.pages.words import FAMILIES

#: Routes that show no page: they answer programs, take forms or hand out files.
NO_PAGES: Final = frozenset({
    "healthz", "readyz", "metrics", "signed_in", "signin_link", "review_decide", "task_bulk",
    "task_bulk_run", "task_export", "event_raw", "artifact_raw", "start_demo", "end_session",
    "end_sessions",
})  # fmt: skip
#: Routes that want to be asked for something.
NOT_BARE: Final = frozenset({"task_news"})
#: What follows the address of a page, besides nothing.
FURTHER: Final[Mapping[str, tuple[str, ...]]] = {
    "tasks": (
        *(f"?state={family}" for family in FAMILIES),
        "?agent={agent}",
        "?agent={agent}&state=done",
        "?q=A123456",
        "?q={done}",
        "?q=no+such+words+anywhere",
        "?q=order",
        "?state=all",
        "?state=all&sort=oldest",
        "?sort=ended",
        "?waits=queue",
        "?waits=retry",
        "?waits=paused",
        "?waits=question",
        "?since=24h",
        "?since=24h&time=ended&state=failed",
    ),
    "task_rows": ("?id={done}&id={failed}&id={asking}",),
    "task_news": ("?newest={middle}", "?newest={middle}&state=done"),
    "task": (
        "?lens=events",
        "?lens=json",
        "?order=desc",
        "?show=failures",
        *(f"?tab={name}" for name in ("calls", "effects", "checkpoint", "manifest", "lease")),
        *(f"?tab={name}" for name in ("artifacts", "reviews")),
    ),
    "task_parts": ("?since=1&grows=1", "?tab=calls"),
    "insights": ("?range=1h", "?range=7d", "?range=24h&agent={agent}"),
}
#: The kinds of task whose page is asked.
KINDS: Final = ("done", "failed", "asking", "retrying", "writing", "long")
#: What stands in an address, for routes of which the name alone does not tell.
PARTS: Final[Mapping[str, Mapping[str, str]]] = {
    "lever": {"name": "pause"},
    "agent": {"name": "{agent}"},
}
_OWN_DOORS: Final = ("account_", "mfa_")
_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


@dataclass(frozen=True, slots=True)
class Address:
    """One page: the path that a report names, and the one that is asked."""

    name: str
    path: str


def addresses(samples: Mapping[str, str]) -> list[Address]:
    """List the pages.

    Args:
        samples: Ids of tasks of each kind, of a review item and of a task in the middle; the name
            of an agent.
    """
    found: dict[str, str] = {}
    for pattern in pages():
        parts = _parts(pattern, samples)
        if parts is None:
            continue
        name = str(pattern.name)
        path = reverse(name, kwargs=parts)
        label = _label(path, parts)
        if name not in NOT_BARE:
            found[label] = path
        for rest in FURTHER.get(name, ()):
            found[f"{label}{rest}"] = path + rest.format_map(dict(samples))
        if name == "task":
            for kind in KINDS:
                given = reverse(name, kwargs={**parts, "task_id": samples[kind]})
                found[f"{label} ({kind})"] = given
    return [Address(name, path) for name, path in found.items()]


def pages() -> Iterator[URLPattern]:
    """Give the routes of ours that show a page or a part of one."""
    yield from _pages(get_resolver().url_patterns)


def deeper(address: str, html: str, middle: str) -> str | None:
    """Give the address of a page far down a list, of the kind that the list's own page leads to.

    Args:
        address: The list's own.
        html: What it shows.
        middle: The id of a task in the middle.
    """
    cursor = re.search(r"cursor=([\w.:%~-]+)", html)
    if cursor is None or not _ID.search(cursor[1]):
        return None
    joint = "&" if "?" in address else "?"
    return f"{address}{joint}cursor={_ID.sub(middle, cursor[1])}"


def _pages(patterns: "list[URLPattern | URLResolver]") -> Iterator[URLPattern]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            if pattern.namespace is None:
                yield from _pages(pattern.url_patterns)
        elif pattern.name and not (pattern.name in NO_PAGES or pattern.name.startswith(_OWN_DOORS)):
            yield pattern


def _parts(pattern: URLPattern, samples: Mapping[str, str]) -> dict[str, str] | None:
    known = {
        "task_id": samples["done"],
        "review_id": samples["review"],
        "seq": "3",
        **{
            part: value.format_map(dict(samples))
            for part, value in PARTS.get(str(pattern.name), {}).items()
        },
    }
    wanted = pattern.pattern.converters
    return {name: known[name] for name in wanted} if set(wanted) <= set(known) else None


def _label(path: str, parts: Mapping[str, str]) -> str:
    label = path
    for name, value in parts.items():
        if name.endswith("id"):
            label = label.replace(value, "{id}")
    return label
