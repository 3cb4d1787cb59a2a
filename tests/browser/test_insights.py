"""Charts of an open page: drawn anew now and then, never under a hand, and never silently old."""

import re

from playwright.sync_api import Page, Route, expect


def _age(page: Page) -> None:
    """Make what stands there old, so that a fresh drawing is seen."""
    page.locator("#as-of").evaluate("one => { one.textContent = 'old'; }")


def test_charts_are_drawn_anew_each_minute_but_not_under_a_hand(page: Page) -> None:
    asked: list[str] = []
    page.clock.install()
    page.goto("/insights/?range=1h")
    page.on("request", lambda one: asked.append(one.url))
    details = page.locator("#chart-throughput details")
    details.locator("summary").click()
    _age(page)

    page.clock.run_for(58_000)
    page.mouse.move(400, 400)
    page.mouse.move(410, 410)
    page.clock.run_for(6_000)
    expect(page.locator("#as-of")).to_have_text("old")
    page.clock.run_for(9_000)

    expect(page.locator("#as-of")).to_contain_text(re.compile(r"As of \d\d:\d\d:\d\d"))
    assert [url for url in asked if "/insights/" in url] == [page.url]
    expect(details).to_have_attribute("open", "")


def test_charts_that_cannot_be_drawn_anew_stay_and_say_so(page: Page) -> None:
    def refuse(route: Route) -> None:
        route.abort()

    page.clock.install()
    page.goto("/insights/")
    page.route("**/insights/**", refuse)
    _age(page)
    note = page.locator("[data-failed]")
    expect(note).to_be_hidden()

    page.clock.run_for(62_000)
    expect(note).to_contain_text("could not be drawn anew")
    page.unroute("**/insights/**")
    page.clock.run_for(12_000)

    expect(page.locator("#as-of")).to_contain_text("As of")
    expect(note).to_be_hidden()
