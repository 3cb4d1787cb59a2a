"""The list by keyboard alone: find, move, select, act on many, keep a view, choose columns."""

import re
from uuid import UUID

from playwright.sync_api import Locator, Page, expect

from console.models import AuditEntry, SavedView
from runtime import api
from tests.agents_for_browser.agents import PAINTER
from tests.browser.conftest import Processes, painted


def _submit(thing: str) -> UUID:
    return api.submit(PAINTER, {"thing": thing}, title=f"Paint the {thing}").id


def _live(page: Page) -> None:
    """Wait until the scripts run and hear keys: before, links lead to pages of their own."""
    expect(page.locator(".freshness")).to_contain_text("Live")
    painted(page)


def _link(page: Page, task_id: UUID) -> Locator:
    return page.locator(f"#task-{task_id} a.row-link")


def test_by_keyboard_alone_tasks_are_found_selected_and_paused(page: Page) -> None:
    bench, fence, gate = (_submit(f"old {thing}") for thing in ("bench", "fence", "gate"))
    other = _submit("new shed")
    page.goto("/tasks/")
    _live(page)
    page.evaluate("window.notReloaded = true")

    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("jxold")  # keys of the list are letters here
    expect(page.get_by_role("searchbox")).to_have_value("jxold")
    page.keyboard.press("Control+A")
    page.keyboard.type("old")
    page.keyboard.press("Enter")
    expect(page.locator(f"#task-{other}")).to_have_count(0)
    expect(page.locator("#count")).to_contain_text("3 of 4 match")
    page.keyboard.press("Escape")

    for key, here in (("j", bench), ("j", fence), ("j", gate), ("k", fence), ("k", bench)):
        page.keyboard.press(key)
        expect(_link(page, here)).to_be_focused()
    page.keyboard.press("x")
    expect(page.locator("[data-selected]")).to_have_text("1 selected")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("X")
    expect(page.locator("[data-selected]")).to_have_text("3 selected")

    page.keyboard.press("a")
    expect(page.locator("[data-bulk-bar] button[value=pause]")).to_be_focused()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading", name="Pause 3 tasks?")).to_be_visible()
    expect(dialog.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("wait for the paint")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(dialog).to_contain_text("3 of 3 done, 0 skipped, 0 refused")
    page.keyboard.press("Escape")
    expect(page.locator(f"#task-{gate}")).to_contain_text("paused")
    expect(page.locator("[data-bulk-bar]")).to_be_hidden()
    assert page.evaluate("window.notReloaded === true")
    assert all(api.task(task_id).held for task_id in (bench, fence, gate))
    assert AuditEntry.objects.filter(action="task.pause", result="done").count() == 3


def test_a_selection_and_the_rows_stay_while_tasks_move_on_and_leave(
    page: Page, processes: Processes
) -> None:
    first = _submit("bench")
    page.goto("/tasks/?state=moving")
    _live(page)
    row = page.locator(f"#task-{first}")
    box = row.get_by_role("checkbox")
    box.check()
    chosen = box.get_attribute("value")

    processes.start_workers()

    expect(row).to_contain_text("left this view")
    expect(box).to_be_checked()
    expect(box).to_be_focused()
    assert box.get_attribute("value") == chosen
    expect(page.get_by_role("link", name="1 left this view")).to_be_visible()
    page.keyboard.press(".")
    expect(row).to_have_count(0)
    expect(page.locator("[data-bulk-bar]")).to_have_count(0)


def test_a_view_and_columns_are_kept_by_keyboard(page: Page) -> None:
    task_id = _submit("bench")
    page.goto("/tasks/?state=moving")
    _live(page)

    page.get_by_role("link", name="Columns").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Agent")).to_be_focused()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(page.get_by_role("columnheader", name="Agent")).to_be_visible()
    expect(page).to_have_url(re.compile("state=moving"))
    _live(page)

    page.get_by_role("link", name="Save as view").focus()
    page.keyboard.press("Enter")
    expect(dialog.get_by_label("Name")).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog.get_by_label("Name")).to_be_focused()
    page.keyboard.type("What moves")
    page.keyboard.press("Enter")

    views = page.get_by_role("navigation", name="Views")
    expect(views.get_by_role("link", name="What moves")).to_have_attribute("aria-current", "true")
    expect(page.locator(f"#task-{task_id}")).to_be_visible()
    assert SavedView.objects.get().columns == ["agent"]
    _live(page)

    page.keyboard.press("?")
    expect(dialog.get_by_role("heading", name="Keys")).to_be_focused()
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page).to_have_url(re.compile("/tasks/"))
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page).to_have_url(re.compile("/reviews/$"))


def test_pages_are_turned_by_keys_and_survive_a_reload_and_the_way_back(page: Page) -> None:
    made = [_submit("bench") for _ in range(53)]
    page.goto("/tasks/?state=all")
    _live(page)
    expect(_link(page, made[-1])).to_be_visible()

    page.keyboard.press("l")
    expect(page).to_have_url(re.compile("cursor="))
    _live(page)
    expect(page.locator("tr[data-task]")).to_have_count(3)
    page.reload()
    _live(page)
    expect(_link(page, made[2])).to_be_visible()
    page.keyboard.press("h")
    expect(page).to_have_url(re.compile("before="))
    expect(page.locator("tr[data-task]")).to_have_count(50)
    page.go_back()
    expect(page).to_have_url(re.compile("cursor="))
    expect(page.locator("tr[data-task]")).to_have_count(3)
    page.go_back()
    _live(page)

    page.get_by_role("link", name="Show more here").click()
    expect(page.locator("tr[data-task]")).to_have_count(53)
    expect(page).to_have_url(re.compile("state=all$"))
    expect(page.get_by_role("navigation", name="Pages of the list")).to_have_count(0)


def test_columns_are_put_in_order_by_keyboard(page: Page) -> None:
    _submit("bench")
    page.goto("/tasks/columns/?state=all")
    page.get_by_label("Agent", exact=True).check()
    page.get_by_label("Queue", exact=True).check()
    page.get_by_role("button", name="Keep").press("Enter")
    _live(page)
    page.get_by_role("link", name="Columns").click()
    dialog = page.get_by_role("dialog")

    dialog.get_by_role("button", name="Move “Queue” to the left").press("Enter")
    moved = dialog.get_by_role("button", name="Move “Queue” to the left; it is number 1 of 2")
    expect(moved).to_be_focused()
    dialog.get_by_label("Queue", exact=True).press("Enter")

    expect(page.get_by_role("dialog")).to_be_hidden()
    _live(page)
    heads = page.locator("th.c-more")
    expect(heads).to_have_text(["Queue", "Agent"])


def test_a_bad_filter_is_said_at_its_field_and_the_rows_stay(page: Page) -> None:
    task_id = _submit("bench")
    page.goto("/tasks/")

    page.get_by_role("searchbox").fill("ab")
    page.keyboard.press("Enter")

    expect(page.get_by_role("alert")).to_have_text("Type at least three characters.")
    expect(page.get_by_role("searchbox")).to_be_focused()
    expect(page.locator(f"#task-{task_id}")).to_be_visible()
    expect(page).to_have_url(re.compile("/tasks/$"))


def test_rows_that_cannot_be_fetched_are_said_to_be_old_and_asked_for_again(page: Page) -> None:
    task_id = _submit("bench")
    page.goto("/tasks/")
    _live(page)
    page.route("**/tasks/rows/**", lambda route: route.abort())

    api.pause(task_id, reason="look", by="human:ann")
    expect(page.locator(".freshness")).to_contain_text("Reconnecting")
    page.unroute("**/tasks/rows/**")

    expect(page.locator(f"#task-{task_id}")).to_contain_text("paused")
    _live(page)


def test_keys_that_are_switched_off_do_nothing(page: Page) -> None:
    _submit("bench")
    page.goto("/settings/")
    page.get_by_label("Single keys do something").uncheck()
    page.get_by_role("button", name="Keep").first.click()
    page.goto("/tasks/")
    _live(page)

    page.keyboard.press("j")
    page.keyboard.press("?")
    page.keyboard.press("/")

    assert page.evaluate("document.activeElement === document.body")
    expect(page.get_by_role("dialog")).to_be_hidden()
