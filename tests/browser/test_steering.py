"""Submitting a task and reading an event by keyboard alone, and steering a worker live."""

import re
from uuid import UUID

from playwright.sync_api import Page, expect

from runtime import api
from tests.agents_for_browser.agents import PAINTER
from tests.browser.conftest import Processes, painted


def _submitted(page: Page) -> UUID:
    expect(page).to_have_url(re.compile(r"/tasks/[0-9a-f-]{36}/$"))
    return UUID(page.url.rstrip("/").rsplit("/", 1)[1])


def _at_event(page: Page, seq: int) -> None:
    """Wait until an event's page is there and its script hears keys."""
    expect(page).to_have_url(re.compile(rf"/events/{seq}/$"))
    expect(page.get_by_role("button", name="Wrap lines").first).to_be_visible()
    painted(page)


def test_a_task_is_submitted_and_its_events_are_read_by_keyboard_alone(
    page: Page, processes: Processes
) -> None:
    page.goto(f"/new/?agent={PAINTER}")
    page.get_by_label(re.compile("^thing")).focus()
    page.keyboard.type("a chair")
    page.keyboard.press("Tab")
    page.keyboard.type("Paint the chair")
    page.keyboard.press("Enter")
    task_id = _submitted(page)
    assert api.task(task_id).input == {"thing": "a chair"}
    expect(page.get_by_role("status").filter(has_text="submitted")).to_be_visible()

    processes.start_workers()
    page.goto(f"/tasks/{task_id}/events/1/")
    # What answers or follows appears by itself.
    expect(page.get_by_role("link", name="Event 2")).to_be_visible()
    painted(page)
    page.keyboard.press("ArrowRight")
    _at_event(page, 2)
    page.keyboard.press("k")
    _at_event(page, 1)
    # Inside a payload arrows scroll.
    page.locator("pre").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"/events/1/$"))


def test_a_mistake_keeps_what_was_typed_and_the_focus_finds_it(page: Page) -> None:
    page.goto(f"/new/?agent={PAINTER}")
    page.get_by_label(re.compile("^thing")).fill("a chair")
    page.get_by_text("Labels, time, priority").click()
    page.get_by_label(re.compile("^Priority")).fill("high")
    page.get_by_role("button", name="Submit").click()

    problems = page.get_by_role("alert").filter(has_text="Nothing was submitted")
    expect(problems).to_be_focused()
    expect(page.get_by_label(re.compile("^thing"))).to_have_value("a chair")
    problems.get_by_role("link", name="Priority").click()
    expect(page.get_by_label(re.compile("^Priority"))).to_be_focused()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("5")
    page.keyboard.press("Enter")

    assert api.task(_submitted(page)).priority == 5


def test_a_worker_is_drained_and_asked_back_while_the_page_stays(
    page: Page, processes: Processes
) -> None:
    processes.start_workers()
    page.goto("/workers/")
    row = page.locator(".rows-crew tr.row")
    expect(row).to_contain_text("healthy")
    page.evaluate("window.notReloaded = true")

    page.get_by_role("button", name="Drain").press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("No other worker serves the queue")
    expect(dialog.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("deploy")
    dialog.get_by_role("button", name="Drain").press("Enter")
    expect(dialog).to_be_hidden()
    expect(row).to_contain_text("draining")

    page.get_by_role("button", name="Take tasks again").press("Enter")
    expect(dialog.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("deployed")
    dialog.get_by_role("button", name="Take tasks again").press("Enter")
    expect(row).to_contain_text("healthy")
    assert page.evaluate("window.notReloaded === true")
