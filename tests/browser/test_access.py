"""Every page is usable by everybody: WCAG 2.2 AA as far as a machine can tell, in both themes.

A page joins by a line in `PAGES`; a test fails for a page that nobody listed.
"""

import re
from collections.abc import Callable
from typing import Any, Final

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.urls import URLPattern, get_resolver
from playwright.sync_api import Page, expect

from runtime import api
from tests.agents_for_browser.agents import PAINTER, QUESTION
from tests.agents_for_tests.hand import Hand
from tests.browser.conftest import Processes

#: Pages by the name of their route, and what stands for their arguments.
PAGES: Final[dict[str, str]] = {
    "home": "/",
    "insights": "/insights/",
    "tasks": "/tasks/",
    "task": "/tasks/{task}/",
    "task_paper": "/tasks/{task}/paper/",
    "event": "/tasks/{task}/events/1/",
    "task_columns": "/tasks/columns/",
    "new_view": "/tasks/views/new/",
    "lever": "/tasks/{task}/pause/",
    "keys": "/keys/",
    "reviews": "/reviews/",
    "review": "/reviews/{review}/",
    "agents": "/agents/",
    "agent": "/agents/{agent}/",
    "new_task": "/new/",
    "workers": "/workers/",
    "settings": "/settings/",
    "account_logout": "/sign-in/logout/",
    "account_change_password": "/sign-in/password/change/",
    "account_set_password": "/sign-in/password/set/",
    "mfa_index": "/sign-in/second-factor/",
}
#: Further addresses of the same pages that look different.
LOOKS: Final = (
    "/tasks/?state=failed",
    "/tasks/?since=nonsense",
    "/tasks/{task}/?tab=calls",
    "/tasks/{task}/?tab=effects",
    "/tasks/{task}/?tab=checkpoint",
    "/tasks/{task}/?tab=manifest",
    "/tasks/{task}/?tab=lease",
    "/tasks/{task}/?lens=events",
    "/tasks/{task}/?lens=json",
    "/new/?agent={agent}",
    "/no-such-page/",
)
#: No pages: parts, downloads, forms' targets, what programs read, and what asks for more first.
NO_PAGES: Final = frozenset({
    "task_rows", "task_news", "task_parts", "overview_parts", "start_demo", "signed_in",
    "event_raw", "artifact_raw", "task_export", "task_bulk", "task_bulk_run",
    "review_decide", "end_session",
    "end_sessions", "healthz", "readyz", "metrics", "saved_view", "task_bulk_report",
    "force_release", "worker_drain", "signin_link", "account_login", "account_inactive",
    "account_signup", "account_reauthenticate", "mfa_authenticate", "mfa_reauthenticate",
    "mfa_activate_totp", "mfa_deactivate_totp", "mfa_view_recovery_codes",
    "mfa_generate_recovery_codes", "mfa_download_recovery_codes",
})  # fmt: skip
RULES: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
#: What a person set for reading: 1.4.12.
SPACING: Final = """* { line-height: 1.5 !important; letter-spacing: 0.12em !important;
    word-spacing: 0.16em !important; } p { margin-block-end: 2em !important; }"""
CLIPPED: Final = """() => [...document.querySelectorAll(
        "a, button, h1, h2, th, label, .tag, .badge, dt, dd")]
    .filter((e) => e.checkVisibility() && !e.closest(".visually-hidden, .skip, .scroll-x"))
    .filter((e) => { const s = getComputedStyle(e);
        return s.overflow !== "visible" && !s.webkitLineClamp.match(/[0-9]/)
            && (e.scrollHeight > e.clientHeight + 2 || e.scrollWidth > e.clientWidth + 2); })
    .map((e) => e.outerHTML.slice(0, 120))"""
SMALL: Final = """() => [...document.querySelectorAll(
        "a, button, summary, select, input, textarea")]
    .filter((e) => e.checkVisibility() && e.type !== "hidden")
    .filter((e) => !e.closest("p, .skip, .visually-hidden, pre, bdi"))
    .filter((e) => ![...(e.labels ?? [])].some((l) => l.getBoundingClientRect().height >= 24))
    .filter((e) => { const box = e.getBoundingClientRect();
        return box.height < 23.5 || box.width < 23.5; })
    .map((e) => e.outerHTML.slice(0, 120))"""


def test_no_page_is_forgotten() -> None:
    named = {
        pattern.name for pattern in _routes(get_resolver().url_patterns) if pattern.name is not None
    }

    assert named - set(PAGES) - NO_PAGES == set()
    assert set(PAGES) <= named


def _routes(patterns: list[Any]) -> list[URLPattern]:
    found: list[URLPattern] = []
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            found.append(pattern)
        elif pattern.namespace is None:
            found += _routes(pattern.url_patterns)
    return found


@pytest.fixture
def addresses(processes: Processes) -> list[str]:
    """Make something for every page to show."""
    task_id = api.submit(PAINTER, {"thing": "bench"}, title="Paint the bench").id
    Hand(task_id).start().read(result="grey").begin("paint").succeed("blue").ask(QUESTION)
    review_id = api.task(task_id).review_id
    names = {"task": task_id, "review": review_id, "agent": PAINTER}
    return [address.format(**names) for address in (*PAGES.values(), *LOOKS)]


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_every_page_keeps_the_rules_on_a_phone_in_both_themes(
    page: Page, addresses: list[str]
) -> None:
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.set_viewport_size({"width": 320, "height": 640})
    faults: list[str] = []
    named, titles = addresses[: len(PAGES)], dict[str, str]()

    for address in addresses:
        page.goto(address)
        faults += [f"{address}: {fault}" for fault in _faults(page)]
        title = re.sub(r"^\(\d+\) ", "", page.title())
        if address in named and titles.setdefault(title, page.url) != page.url:
            faults.append(f"{address}: the title is that of {titles[title]}")
        page.evaluate(
            "css => { const s = new CSSStyleSheet(); s.replaceSync(css);"
            " document.adoptedStyleSheets = [s]; }",
            SPACING,
        )
        faults += [f"{address}, spaced: {fault}" for fault in page.evaluate(CLIPPED)]
        faults += [f"{address}, spaced: {fault}" for fault in _too_wide(page)]

    assert "\n".join(faults) == ""


def _faults(page: Page) -> list[str]:
    page.evaluate(AXE_SCRIPT)
    faults: list[str] = []
    for theme in ("dark", "light"):
        page.emulate_media(color_scheme=theme)
        faults += [f"{theme}, {fault}" for fault in _violations(page)]
    headings = page.locator("h1").count()
    return [
        *faults,
        *_too_wide(page),
        *(f"small: {one}" for one in page.evaluate(SMALL)),
        *([] if headings == 1 else [f"{headings} headings of the first level"]),
    ]


def _violations(page: Page) -> list[str]:
    options = {"runOnly": RULES, "resultTypes": ["violations"]}
    found = page.evaluate("async (how) => (await axe.run(how)).violations", options)
    return [
        f"{one['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
        for one in found
        for node in one["nodes"][:3]
    ]


def _too_wide(page: Page) -> list[str]:
    width = page.evaluate("document.documentElement.scrollWidth")
    return [f"{width} px wide"] if width > 320 else []


@pytest.mark.browser
def test_the_focus_is_seen_wherever_the_tab_key_leads(page: Page) -> None:
    for address in ("/tasks/", "/settings/", "/reviews/"):
        page.goto(address)
        for _ in range(25):
            page.keyboard.press("Tab")
            seen = page.evaluate(
                """() => { const e = document.activeElement, s = getComputedStyle(e);
                    const box = e.getBoundingClientRect();
                    return e === document.body || (s.outlineStyle !== "none"
                        && parseFloat(s.outlineWidth) >= 2 && box.bottom > 0
                        && box.top < window.innerHeight); }"""
            )
            assert seen, page.evaluate("document.activeElement.outerHTML.slice(0, 200)")


@pytest.mark.browser
def test_nothing_moves_for_who_asked_for_rest(page: Page, new_page: Callable[..., Page]) -> None:
    still = new_page(storage_state=page.context.storage_state(), reduced_motion="reduce")
    still.goto("/tasks/")

    moving = still.evaluate(
        "document.getAnimations().filter((a) => a.playState === 'running').length"
    )

    assert moving == 0


@pytest.mark.browser
def test_a_dialog_gives_the_focus_back(page: Page) -> None:
    task_id = api.submit(PAINTER, {"thing": "bench"}, title="Paint the bench").id
    page.goto(f"/tasks/{task_id}/")
    button = page.get_by_role("button", name="Cancel task")

    button.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")

    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(button).to_be_focused()
