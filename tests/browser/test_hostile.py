"""Hostile text in a real browser: no script of it runs, and no page becomes wider than it is."""

from playwright.sync_api import Page

from console.bench.addresses import addresses
from tests.browser.conftest import Processes
from tests.support import hostile

#: Variations of a page that look alike add nothing here.
_ALIKE = ("state=", "since=", "waits=", "sort=", "q=", "parts/", "rows/", "news/", "(writing)")
_WIDER = """() => {
    const most = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= most) return [];
    const scrolls = (one) => one !== document.documentElement && one !== document.body
        && getComputedStyle(one).overflowX !== "visible";
    const kept = (one) => one && (scrolls(one) || kept(one.parentElement));
    return [...document.body.querySelectorAll("*")]
        .filter((one) => one.getBoundingClientRect().right > most + 1)
        .filter((one) => getComputedStyle(one).position === "absolute" || !kept(one))
        .slice(0, 3)
        .map((one) => one.outerHTML.slice(0, 160));
}"""


def test_no_page_breaks_under_hostile_text_on_a_screen_or_a_phone(
    page: Page, processes: Processes
) -> None:
    samples = {**hostile.fill(hostile.MARKUP), **hostile.fill(hostile.SIGNS)}
    wanted = [
        one
        for one in addresses({**samples, **hostile.fill(hostile.LONG)})
        if not any(part in one.name for part in _ALIKE)
    ]
    broken: dict[str, list[str]] = {}

    for one in wanted:
        page.goto(one.path)
        for width in (320, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            if wider := page.evaluate(_WIDER):
                broken[f"{one.name} at {width}"] = wider
        assert page.evaluate("window.pwned") is None, one.name

    assert broken == {}
