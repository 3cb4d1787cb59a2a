"""The first page while it is open: numbers move, what is settled keeps its place, focus stays."""

from uuid import UUID

from playwright.sync_api import Page, expect

from runtime import api
from tests.agents_for_browser.agents import PAINTER
from tests.browser.conftest import Processes


def _asks(thing: str) -> UUID:
    return api.submit(PAINTER, {"thing": thing}, title=f"Paint the {thing}").id


def test_the_first_page_moves_in_place_and_nothing_vanishes_under_the_hand(
    page: Page, processes: Processes
) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", name="Nothing has run here yet")).to_be_visible()
    expect(page.locator(".freshness")).to_contain_text("Live")
    page.evaluate("window.notReloaded = true")

    first, second = _asks("bench"), _asks("gate")
    processes.start_workers()

    entries = page.locator("#needs li")
    expect(entries).to_have_count(2)
    expect(page.locator("#lights")).to_contain_text("Needs a person")
    assert page.evaluate("window.notReloaded === true")

    link = entries.nth(1).get_by_role("link").first
    link.focus()
    settled = entries.nth(0)
    review_id = (settled.get_attribute("id") or "").removeprefix("review-")
    api.decide(review_id, "abort", reason="no paint", by="human:ann")

    expect(settled).to_have_class("is-gone")
    expect(entries).to_have_count(2)
    expect(link).to_be_focused()
    assert {api.task(one).state for one in (first, second)} == {
        "terminated_aborted",
        "waiting_human",
    }
