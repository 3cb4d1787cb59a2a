"""Pictures of every page, taken of an installation at work: light, dark, and on a phone."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from console.queries import NAMESPACE
from runtime import api

#: Pages by name; what stands in braces is looked up in the installation.
PAGES: Final[Mapping[str, str]] = {
    "overview": "/",
    "tasks": "/tasks/",
    "tasks-done": "/tasks/?state=done",
    "task-waiting": "/tasks/{waiting}/",
    "task-done": "/tasks/{done}/",
    "task-calls": "/tasks/{done}/?tab=calls",
    "task-effects": "/tasks/{waiting}/?tab=effects",
    "event": "/tasks/{done}/events/3/",
    "reviews": "/reviews/",
    "review": "/reviews/{review}/",
    "review-question": "/reviews/{question}/",
    "workers": "/workers/",
    "agents": "/agents/",
    "agent": "/agents/{agent}/",
    "insights": "/insights/?range=1h",
    "new": "/new/?agent={agent}",
    "settings": "/settings/",
}
_SETTLE_MS: Final = 1200


@dataclass(frozen=True, slots=True)
class Look:
    """One way to look at a page."""

    name: str
    width: int
    height: int
    scheme: str
    is_phone: bool = False


LOOKS: Final = (
    Look("light", 1280, 800, "light"),
    Look("dark", 1280, 800, "dark"),
    Look("phone", 390, 844, "light", is_phone=True),
)


def samples(agent: str) -> dict[str, str]:
    """Look up what the addresses name; what there is none of is left out."""
    found = {"agent": agent}
    for name, state in (("waiting", "waiting_human"), ("done", "terminated_success")):
        tasks = api.tasks(namespace=NAMESPACE, state=state, agent=agent, limit=50).rows
        if tasks:
            found[name] = str(max(tasks, key=lambda one: one.version).id)
    for item in api.reviews(namespace=NAMESPACE):
        found["question" if item.kind == "question" else "review"] = str(item.id)
    return found


def take(
    browser: Any,
    address: str,
    cookies: Mapping[str, str],
    folder: Path,
    known: Mapping[str, str],
) -> Iterator[Path]:
    """Take all pictures; gives each file when it is there.

    Args:
        browser: A Playwright browser.
        address: Where the console answers.
        cookies: Of who looks.
        folder: Where the pictures go.
        known: What the addresses name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for look in LOOKS:
        context = browser.new_context(
            base_url=address,
            viewport={"width": look.width, "height": look.height},
            color_scheme=look.scheme,
            has_touch=look.is_phone,
            reduced_motion="reduce",
        )
        context.add_cookies(
            [{"name": name, "value": value, "url": address} for name, value in cookies.items()]
        )
        page = context.new_page()
        for name, path in PAGES.items():
            if set(re.findall(r"\{(\w+)\}", path)) <= set(known):
                page.goto(path.format_map(known))
                page.wait_for_timeout(_SETTLE_MS)
                file = folder / f"{name}-{look.name}.png"
                page.screenshot(path=file, full_page=False)
                yield file
        context.close()
