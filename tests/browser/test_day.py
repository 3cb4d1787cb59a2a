"""The whole of an operator's day, in both themes, in two languages, by mouse and by keys."""

import re
from collections.abc import Callable
from uuid import UUID

import pytest
from playwright.sync_api import Locator, Page, expect

from console import signin
from console.models import AuditEntry, SavedView
from runtime import api
from tests.agents_for_browser.agents import PAINTER, QUESTION
from tests.browser.conftest import Processes


def _submit(thing: str) -> UUID:
    return api.submit(PAINTER, {"thing": thing}, title=f"Paint the {thing}").id


def _row(page: Page, task_id: UUID) -> Locator:
    return page.locator(f"#task-{task_id}")


def _pull(page: Page, lever: str, reason: str) -> None:
    page.get_by_role("button", name=lever).first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill(reason)
    dialog.get_by_role("button", name=lever).click()
    expect(dialog).to_be_hidden()


@pytest.mark.browser
@pytest.mark.timeout(240)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_operator_spends_a_day_here(
    theme: str, new_page: Callable[..., Page], processes: Processes
) -> None:
    page = new_page(color_scheme=theme)
    _come_in(page, processes)
    bench, fence, gate = (_submit(thing) for thing in ("bench", "fence", "gate"))

    _watch_a_task_move(page, processes, bench)
    _find_and_read(page, bench)
    _hold_and_end(page, fence)
    _act_on_many(page, gate)
    _keep_a_view(page)
    _speak_chinese(page, bench)
    _leave(page, new_page)


def _come_in(page: Page, processes: Processes) -> None:
    link = signin.first_admin_link(processes.address)
    assert link is not None
    page.goto(link)
    page.get_by_role("button", name="Sign in as admin").click()
    expect(page).to_have_url(re.compile(r":\d+/$"))


def _watch_a_task_move(page: Page, processes: Processes, task_id: UUID) -> None:
    page.goto("/tasks/")
    expect(page.locator(".freshness")).to_contain_text("Live")
    processes.start_workers()
    expect(_row(page, task_id)).to_contain_text(QUESTION)


def _find_and_read(page: Page, task_id: UUID) -> None:
    page.get_by_role("searchbox").fill("bench")
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_contain_text("1 of 3 match")
    _row(page, task_id).get_by_role("link", name="Paint the bench").click()
    expect(page.locator("#why")).to_contain_text(QUESTION)
    page.goto(f"/tasks/{task_id}/events/1/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.go_back()
    expect(page.locator("#why")).to_contain_text(QUESTION)


def _hold_and_end(page: Page, task_id: UUID) -> None:
    page.goto(f"/tasks/{task_id}/")
    _pull(page, "Pause", "the paint is wet")
    expect(page.locator("#why")).to_contain_text("admin paused it")
    _pull(page, "Resume", "it is dry")
    expect(page.locator("#why")).to_contain_text(QUESTION)
    _pull(page, "Cancel task", "nobody wants it")
    expect(page.locator("#why")).to_contain_text("It was ended")
    assert api.task(task_id).outcome == "cancelled"


def _act_on_many(page: Page, task_id: UUID) -> None:
    """By keys alone: find the row, select it, pause what is selected, say why."""
    page.goto("/tasks/")
    expect(page.locator(".freshness")).to_contain_text("Live")
    link = _row(page, task_id).locator("a.row-link")
    for _step in range(5):
        page.keyboard.press("j")
        if link.evaluate("(e) => e === document.activeElement"):
            break
    expect(link).to_be_focused()
    page.keyboard.press("x")
    expect(page.locator("[data-selected]")).to_have_text("1 selected")
    page.keyboard.press("a")
    expect(page.locator("[data-bulk-bar] button[value=pause]")).to_be_focused()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("until the gate is up")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("1 of 1 done")
    page.keyboard.press("Escape")
    expect(_row(page, task_id)).to_contain_text("paused")


def _keep_a_view(page: Page) -> None:
    page.goto("/tasks/?waits=paused")
    page.get_by_role("link", name="Save as view").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("On hold")
    dialog.get_by_role("button", name="Keep").click()
    views = page.get_by_role("navigation", name="Views")
    expect(views.get_by_role("link", name="On hold")).to_be_visible()
    assert SavedView.objects.filter(name="On hold").exists()


def _speak_chinese(page: Page, task_id: UUID) -> None:
    page.goto("/settings/")
    page.get_by_label("Language").select_option("zh-hans")
    page.get_by_label("Time zone").fill("Asia/Shanghai")
    page.get_by_role("button", name="Keep").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    expect(page.get_by_role("heading", name="设置")).to_be_visible()

    page.goto(f"/tasks/{task_id}/")
    expect(page.locator("#why")).to_contain_text("需要人工")
    expect(page.locator("#why")).to_contain_text(QUESTION)
    expect(page.locator(".freshness")).to_contain_text("实时")
    expect(page.get_by_role("button", name="暂停").first).to_be_visible()


def _leave(page: Page, new_page: Callable[..., Page]) -> None:
    elsewhere = new_page(storage_state=page.context.storage_state())
    elsewhere.goto("/tasks/")
    expect(elsewhere.locator(".freshness")).to_contain_text("实时")

    page.goto("/settings/")
    page.get_by_role("button", name="在所有地方退出登录").click()

    expect(page).to_have_url(re.compile("/sign-in/login/"))
    expect(elsewhere).to_have_url(re.compile("/sign-in/login/"))
    acts = set(AuditEntry.objects.values_list("action", flat=True))
    assert {"task.pause", "task.resume", "task.cancel", "session.end_all"} <= acts
