"""A task's page under the hand: what is open stays, what is new is said, tabs move in place."""

from uuid import UUID

from playwright.sync_api import Page, expect

from runtime import api
from runtime.actors.broker import BrokerHints
from tests.agents_for_browser.agents import PAINTER
from tests.agents_for_tests.hand import Hand

#: What is said of news makes room for the next: keep all of it.
HEAR = """() => {
    window.said = [];
    const listen = () => window.said.push(document.getElementById("timeline-news").textContent);
    new MutationObserver(listen).observe(document.body, { subtree: true, childList: true });
}"""


def _submit() -> UUID:
    return api.submit(PAINTER, {"thing": "bench"}, title="Paint the bench").id


def _hand(task_id: UUID) -> Hand:
    """A worker's hand that tells open pages, as a worker does."""
    return Hand(task_id, hints=BrokerHints())


def test_the_timeline_grows_while_what_is_open_and_focused_stays(page: Page) -> None:
    task_id = _submit()
    hand = _hand(task_id).start().read(result="grey")
    page.goto(f"/tasks/{task_id}/")
    expect(page.locator(".freshness")).to_contain_text("Live")
    summary = page.locator("#item-3 summary")
    summary.click()
    page.evaluate(HEAR)

    hand.begin("paint")

    expect(page.locator("#item-4")).to_contain_text("paint")
    page.wait_for_function("() => window.said.some((text) => text.includes('1 new event'))")
    expect(page.locator("#item-3 details")).to_have_attribute("open", "")
    expect(summary).to_be_focused()
    hand.succeed("blue")
    expect(page.locator("#item-4")).to_contain_text("blue")
    expect(page.locator("#timeline .item")).to_have_count(4)


def test_where_it_does_not_grow_it_says_how_much_is_new(page: Page) -> None:
    task_id = _submit()
    hand = _hand(task_id).start()
    page.goto(f"/tasks/{task_id}/?order=desc")
    expect(page.locator(".freshness")).to_contain_text("Live")

    hand.read().read()

    expect(page.locator("#timeline-news")).to_contain_text("2 new events")
    expect(page.locator("#timeline .item")).to_have_count(2)
    page.get_by_role("link", name="Show them").click()
    expect(page.locator("#timeline .item").first).to_contain_text("look")


def test_a_tab_moves_in_place_and_keeps_what_is_open(page: Page) -> None:
    task_id = _submit()
    hand = _hand(task_id).start().read(result="grey")
    page.goto(f"/tasks/{task_id}/?tab=calls#call-0.1.0")
    expect(page.locator(".freshness")).to_contain_text("Live")
    # The address named a call: it stands open.
    details = page.locator('details[data-keep="call-0.1.0"]')
    expect(details).to_have_attribute("open", "")

    hand.begin("paint").succeed("blue")

    expect(page.locator("#call-0\\.2\\.0")).to_contain_text("succeeded")
    expect(details).to_have_attribute("open", "")
    expect(page.locator("#tabs [aria-current=page]")).to_contain_text("Calls 2")
