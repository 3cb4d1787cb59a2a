"""Live pages against a world that breaks: what happened is shown, all of it, and once."""

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import Page, Route, expect

from console import embedded
from runtime import api
from tests.agents_for_browser.agents import PAINTER, QUESTION
from tests.browser.conftest import Processes

#: Notes every change of the row or page of a task, with the machine's clock.
_WATCH = """(selector) => {
    const found = document.querySelector(selector);
    window.shown = [];
    const note = () => {
        const now = document.querySelector(selector);
        if (now) window.shown.push([Number(now.dataset.seq), Date.now()]);
    };
    new MutationObserver(note).observe(found.parentElement, {
        subtree: true, childList: true, attributes: true, attributeFilter: ["data-seq"],
    });
}"""


def _submit(thing: str) -> UUID:
    return api.submit(PAINTER, {"thing": thing}, title=f"Paint the {thing}").id


def _freshness(page: Page) -> Any:
    return expect(page.locator(".freshness"))


def _events(page: Page) -> list[int]:
    """Read which events the list of all events shows, in order."""
    ids = page.locator("#event-rows tr").evaluate_all("rows => rows.map((row) => row.id)")
    return [int(one.removeprefix("event-")) for one in ids]


def _shows_all_once(page: Page, task_id: UUID) -> None:
    last = api.task(task_id).version
    expect(page.locator(f"#event-{last}")).to_be_attached()
    assert _events(page) == list(range(1, last + 1))


def _pause_and_resume(task_id: UUID, times: int) -> None:
    for number in range(times):
        api.pause(task_id, reason=f"pause {number}", by="human:ann")
        api.resume(task_id, reason=f"resume {number}", by="human:ann")


@pytest.fixture
def open_task(page: Page) -> tuple[Page, UUID]:
    """A page that shows all events of a task, live."""
    task_id = _submit("bench")
    page.goto(f"/tasks/{task_id}/?lens=events")
    _freshness(page).to_contain_text("Live")
    return page, task_id


def test_events_while_the_web_was_dead_are_shown_once_it_is_back(
    open_task: tuple[Page, UUID], processes: Processes
) -> None:
    page, task_id = open_task
    web = processes.web

    web.kill()
    web.wait()
    _freshness(page).to_contain_text("Reconnecting")
    _pause_and_resume(task_id, 5)
    processes.start_web()

    _freshness(page).to_contain_text("Live")
    _shows_all_once(page, task_id)


def test_events_around_the_death_of_a_worker_are_shown_all_and_once(
    open_task: tuple[Page, UUID], processes: Processes
) -> None:
    page, task_id = open_task

    first = processes.start("worker")
    expect(page.locator("#event-rows")).to_contain_text("task_started")
    first.kill()
    first.wait()
    processes.start_workers()

    expect(page.locator("#why")).to_contain_text(QUESTION)
    _shows_all_once(page, task_id)


@contextmanager
def _valkey_away(services: embedded.Services) -> Iterator[None]:
    services.kill_valkey()
    try:
        yield
    finally:
        services.start_valkey()


@pytest.mark.skipif("VALKEY_URL" in os.environ, reason="the Valkey is not ours to kill")
def test_events_without_valkey_are_shown_and_the_page_says_that_it_hears_nothing(
    open_task: tuple[Page, UUID], services: embedded.Services
) -> None:
    page, task_id = open_task

    with _valkey_away(services):
        _freshness(page).not_to_contain_text("Live")
        _pause_and_resume(task_id, 3)
        _shows_all_once(page, task_id)
    _pause_and_resume(task_id, 1)

    _freshness(page).to_contain_text("Live")
    _shows_all_once(page, task_id)


def test_a_server_that_says_nothing_any_more_is_noticed(
    open_task: tuple[Page, UUID], processes: Processes
) -> None:
    page, task_id = open_task
    web = processes.web

    web.send_signal(signal.SIGSTOP)
    try:
        _freshness(page).to_contain_text("Reconnecting")
        api.pause(task_id, reason="while it stood still", by="human:ann")
    finally:
        web.send_signal(signal.SIGCONT)

    _freshness(page).to_contain_text("Live")
    _shows_all_once(page, task_id)


def test_a_page_that_nobody_sees_rests_and_catches_up(
    open_task: tuple[Page, UUID], processes: Processes
) -> None:
    page, task_id = open_task
    page.clock.install()

    _hide(page, hidden=True)
    page.clock.run_for(11_000)
    _freshness(page).to_contain_text("Paused")
    _pause_and_resume(task_id, 2)
    _hide(page, hidden=False)
    page.clock.run_for(2_000)
    page.clock.resume()

    _freshness(page).to_contain_text("Live")
    _shows_all_once(page, task_id)


#: Asks for parts one after the other and tells, after each, for how many ms some have been lost.
_ASK = """async (paths) => {
    const [{ fetchPart }, { live }] = await Promise.all(
        ["parts", "live"].map((name) => import(`/static/console/js/${name}.js`)));
    const lost = [];
    for (const path of paths) {
        await fetchPart(path).catch(() => {});
        lost.push(live.lostAt > 0);
    }
    return lost;
}"""


def _answer_with(status: int) -> Callable[[Route], None]:
    return lambda route: route.fulfill(status=status)


def test_a_page_is_not_live_until_the_very_part_that_was_lost_is_found(
    open_task: tuple[Page, UUID],
) -> None:
    page, _task_id = open_task
    for status in (200, 404, 503):
        page.route(f"**/part/{status}/*", _answer_with(status))
    rows, news, gone = "/part/503/rows", "/part/200/news", "/part/404/gone"

    assert page.evaluate(_ASK, [news, gone]) == [False, False]
    assert page.evaluate(_ASK, [f"{rows}?id=1", news, gone]) == [True, True, True]
    _freshness(page).to_contain_text("Reconnecting")

    page.unroute("**/part/503/*")
    page.route("**/part/503/*", _answer_with(200))
    assert page.evaluate(_ASK, [news, f"{rows}?id=2"]) == [True, False]
    _freshness(page).to_contain_text("Live")


#: Has work done that fails in some way, and tells how often it was done and what was reported.
_FAIL = """async (isFinal) => {
    const { coalesced } = await import("/static/console/js/parts.js");
    window.failed = { times: 0, reported: [] };
    window.addEventListener("error", (event) => {
        event.preventDefault();
        window.failed.reported.push(event.message);
    });
    coalesced(() => {
        window.failed.times += 1;
        throw Object.assign(new Error("broken"), isFinal === null ? {} : { isFinal });
    })();
}"""


@pytest.mark.parametrize(
    ("is_final", "is_repeated", "is_reported"),
    [(False, True, False), (True, False, False), (None, False, True)],
    ids=["no answer", "a refusal", "a mistake in a script"],
)
def test_only_what_may_go_better_is_asked_for_again(
    *, is_final: bool | None, is_repeated: bool, is_reported: bool, open_task: tuple[Page, UUID]
) -> None:
    page, _task_id = open_task
    page.clock.install()

    page.evaluate(_FAIL, is_final)
    page.clock.run_for(20_000)

    failed = page.evaluate("window.failed")
    assert (failed["times"] > 1) == is_repeated
    assert bool(failed["reported"]) == is_reported


def _hide(page: Page, *, hidden: bool) -> None:
    page.evaluate(
        """(hidden) => {
            Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


def test_ages_are_greyed_when_nothing_was_heard_for_long(
    open_task: tuple[Page, UUID], processes: Processes
) -> None:
    page, _task_id = open_task
    processes.web.kill()
    _freshness(page).to_contain_text("Reconnecting")
    page.clock.install()

    page.clock.run_for(35_000)

    expect(page.locator("html")).to_have_class(re.compile("is-stale"))


def test_a_clock_that_is_wrong_shows_no_wrong_ages(
    new_page: Callable[..., Page], page: Page
) -> None:
    """Ages come from the server's clock: this machine's may be an hour ahead."""
    task_id = _submit("bench")
    wrong = new_page(storage_state=page.context.storage_state())
    wrong.add_init_script("const real = Date.now; Date.now = () => real.call(Date) + 3600 * 1000;")

    wrong.goto(f"/tasks/?q={task_id}")

    _freshness(wrong).to_contain_text("Live")
    age = wrong.locator(f"#task-{task_id} [data-behavior=age]").last
    expect(age).not_to_contain_text("h")
