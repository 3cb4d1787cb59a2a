"""An operator's hand: tasks move by themselves, a question is answered, nothing jumps."""

import re
from collections.abc import Callable
from uuid import UUID

from playwright.sync_api import Locator, Page, expect

from runtime import api
from tests.agents_for_browser.agents import PAINTER, QUESTION
from tests.browser.conftest import Processes


def _submit(thing: str) -> UUID:
    return api.submit(PAINTER, {"thing": thing}, title=f"Paint the {thing}").id


def _why(page: Page) -> Locator:
    return page.locator("#why")


def _mark(page: Page) -> None:
    """Leave a mark that a reload would wipe out."""
    page.evaluate("window.notReloaded = true")


def _is_marked(page: Page) -> bool:
    return bool(page.evaluate("window.notReloaded === true"))


def test_a_task_moves_before_the_eyes_and_its_question_is_answered(
    page: Page, processes: Processes
) -> None:
    task_id = _submit("bench")
    page.goto(f"/tasks/{task_id}/")
    expect(_why(page)).to_contain_text("No worker serves its queue")
    expect(page.locator(".freshness")).to_contain_text("Live")
    _mark(page)

    processes.start_workers()

    expect(_why(page)).to_contain_text(QUESTION)
    expect(page.locator(".track-wide .is-here")).to_contain_text("needs a person")
    expect(page.locator("#timeline")).to_contain_text("bench is grey")
    expect(page).to_have_title(re.compile(r"^\(1\) "))
    assert _is_marked(page)

    page.get_by_role("link", name="Open review").first.click()
    expect(page.get_by_role("heading", name="The agent has a question")).to_be_visible()
    page.get_by_label("Answer").fill("blue")
    page.get_by_role("button", name="Answer").click()
    expect(page.get_by_role("status").filter(has_text="decided")).to_contain_text("admin")

    page.goto(f"/tasks/{task_id}/")
    expect(_why(page)).to_contain_text("It reached its goal")
    expect(page.locator("#side")).to_contain_text("confirmed")
    assert api.task(task_id).result == {"painted": "blue"}


def test_rows_change_in_place_and_new_tasks_wait_until_they_are_wanted(
    page: Page, processes: Processes
) -> None:
    first = _submit("bench")
    page.goto("/tasks/")
    row = page.locator(f"#task-{first}")
    expect(row).to_contain_text("waits for a worker")
    expect(page.locator(".freshness")).to_contain_text("Live")
    _mark(page)
    link = row.get_by_role("link", name="Paint the bench")
    link.focus()

    processes.start_workers()

    expect(row).to_contain_text(QUESTION)
    expect(link).to_be_focused()
    second = _submit("fence")
    expect(page.get_by_role("link", name="1 new")).to_be_visible()
    expect(page.locator(f"#task-{second}")).to_have_count(0)
    page.get_by_role("link", name="1 new").click()
    expect(page.locator(f"#task-{second}")).to_be_visible()
    assert _is_marked(page)


def test_a_pause_asks_for_a_reason_by_keyboard_alone(page: Page) -> None:
    task_id = _submit("bench")
    page.goto(f"/tasks/{task_id}/")
    _mark(page)

    page.get_by_role("button", name="Pause").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Reason")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("button", name="Pause")).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("wait for the paint")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(_why(page)).to_contain_text("admin paused it")
    expect(_why(page)).to_contain_text("wait for the paint")
    expect(page.get_by_role("button", name="Resume")).to_be_focused()
    assert _is_marked(page)
    assert api.task(task_id).held


def test_who_comes_second_sees_who_won_and_keeps_the_words(
    page: Page, processes: Processes
) -> None:
    task_id = _submit("bench")
    processes.start_workers()
    page.goto(f"/tasks/{task_id}/")
    page.get_by_role("link", name="Open review").first.click()
    page.get_by_label("Reason").fill("my own words")
    review_id = page.url.rstrip("/").rsplit("/", 1)[1]

    api.decide(review_id, "abort", reason="not needed", by="human:ann")

    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("ann decided")
    expect(page.get_by_role("button", name="Answer")).to_be_disabled()
    expect(page.get_by_label("Reason")).to_have_value("my own words")


def test_a_server_that_goes_away_is_said_and_made_up_for(page: Page, processes: Processes) -> None:
    task_id = _submit("bench")
    page.goto(f"/tasks/{task_id}/")
    expect(page.locator(".freshness")).to_contain_text("Live")
    _mark(page)
    web = processes.web

    web.kill()
    web.wait()
    expect(page.locator(".freshness")).to_contain_text("Reconnecting")
    api.pause(task_id, reason="while nobody looked", by="human:ann")
    processes.start_web()

    expect(page.locator(".freshness")).to_contain_text("Live")
    expect(_why(page)).to_contain_text("while nobody looked")
    expect(page.locator("#timeline .item", has_text="Paused")).to_have_count(1)
    assert _is_marked(page)


def test_a_command_that_reaches_nobody_is_said_with_a_way_to_try_again(
    page: Page, processes: Processes
) -> None:
    task_id = _submit("bench")
    page.goto(f"/tasks/{task_id}/")
    page.get_by_role("button", name="Pause").click()
    page.get_by_label("Reason").fill("wait")
    web = processes.web
    web.kill()
    web.wait()

    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(page.locator(".toast")).to_contain_text("does not answer")
    processes.start_web()
    page.get_by_role("button", name="Try again").click()

    expect(_why(page)).to_contain_text("admin paused it")


def test_signing_out_in_one_tab_ends_the_other(page: Page, new_page: Callable[..., Page]) -> None:
    page.goto("/")
    other = page.context.new_page()
    other.goto("/tasks/")
    expect(other.locator(".freshness")).to_contain_text("Live")

    page.get_by_role("button", name="Sign out").click()

    expect(other).to_have_url(re.compile("/sign-in/login/"))


def test_on_a_phone_nothing_is_wider_than_the_screen_and_targets_are_large(page: Page) -> None:
    task_id = _submit("W" + "o" * 3000 + "rd")
    page.set_viewport_size({"width": 320, "height": 640})

    for address in ("/tasks/", f"/tasks/{task_id}/", "/reviews/", "/workers/", "/settings/"):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, address
        small = page.evaluate(
            """() => [...document.querySelectorAll("a, button, summary, select, input")]
                .filter((e) => e.checkVisibility({ contentVisibilityAuto: true }))
                .filter((e) => e.type !== "hidden" && !e.closest("p"))
                .filter((e) => { const box = e.getBoundingClientRect();
                    return box.height < 24 || box.width < 24; })
                .map((e) => e.outerHTML.slice(0, 120))"""
        )
        assert [one for one in small if "skip" not in one] == [], address


def test_a_chosen_theme_holds_against_the_device(page: Page) -> None:
    page.goto("/settings/")
    page.get_by_label("Theme").select_option("dark")
    page.get_by_role("button", name="Keep").click()
    page.goto("/tasks/")

    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 18, 23)"


def test_filters_live_in_the_address_and_back_leads_back(page: Page) -> None:
    blue, red = _submit("blue bench"), _submit("red bench")
    page.goto("/tasks/")

    page.get_by_role("searchbox").fill("blue")
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile("q=blue"))
    expect(page.locator(f"#task-{red}")).to_have_count(0)
    expect(page.locator(f"#task-{blue}")).to_be_visible()
    page.go_back()
    expect(page.locator(f"#task-{red}")).to_be_visible()
