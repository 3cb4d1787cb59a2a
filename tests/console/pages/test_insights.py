"""Insights: numbers from buckets, each leads to the list it counts, and nothing is no zero."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from console.access import Role
from console.pages.insight_page import RANGES
from runtime.store import counting, pulse
from runtime.store.session import execute
from tests.agents_for_tests.clerk import NAME
from tests.agents_for_tests.hand import Hand

type Submit = Callable[..., UUID]


def finish(task_id: UUID) -> None:
    Hand(task_id).start().read().begin().succeed().finish()


def fail(task_id: UUID) -> None:
    """End a task as failed, as no command of a person can."""
    execute(
        "UPDATE runtime_task SET state = 'terminated_failed', due_at = NULL, "
        "finished_at = runtime_now() WHERE id = %s",
        (task_id,),
    )


def text(client: Client, address: str = "/insights/") -> str:
    counting.count()
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_before_anything_happened_every_chart_has_axes_and_says_that_it_has_no_data(
    operator: Client,
) -> None:
    page = text(operator)

    assert page.count("No data in range</text>") == 12
    assert 'class="mark' not in page
    assert "Nothing happened in this range yet" in page


def test_what_happened_is_drawn_and_told_in_words_and_numbers(
    operator: Client, submitted: Submit
) -> None:
    finish(submitted())
    fail(submitted())
    submitted()

    page = text(operator, "/insights/?range=1h")

    assert "3 submitted, 2 ended: 1 done, 1 failed." in page
    assert "50 % of ended tasks failed." in page
    assert "2 calls, 0 of them failed; 0 came in doubt." in page
    assert page.count('class="open"') >= 3


@pytest.mark.parametrize("name", RANGES)
def test_each_range_names_its_bucket_unit_zone_and_time_of_computing(
    name: str, operator: Client, submitted: Submit
) -> None:
    finish(submitted())

    page = text(operator, f"/insights/?range={name}")

    assert f"ended tasks · {RANGES[name].bucket} · UTC" in page
    assert re.search(r"computed at \d\d:\d\d:\d\d", page)
    assert re.search(r"As of \d\d:\d\d:\d\d", page)
    assert f'range={name}" aria-current="true"' in page
    assert "still open" in page


def test_an_open_page_gets_its_charts_alone_and_says_of_when_they_are(
    operator: Client, submitted: Submit
) -> None:
    finish(submitted())
    pulse.beat(pulse.SWEEP)
    counting.count()

    answer = operator.get("/insights/?range=1h", headers={"HX-Request": "true"})

    part = answer.content.decode()
    assert "<html" not in part
    assert part.count("data-part") == 8
    assert re.search(r"As of \d\d:\d\d:\d\d, last counted at \d\d:\d\d:\d\d\.", part)


def test_each_table_sums_up_the_whole_range(operator: Client, submitted: Submit) -> None:
    finish(submitted())
    fail(submitted())

    page = text(operator, "/insights/?range=24h")

    rows = re.findall(r'<th scope="row"><bdi>Whole range</bdi></th>(.*?)</tr>', page)
    numbers = [re.sub(r"<[^>]+>", " ", row).split() for row in rows]
    assert numbers[0] == ["2", "1", "1", "0"]
    assert numbers[2][:4] == ["2", "1", "50", "%"]
    assert all('href="/tasks/?' in row for row in rows[:3])


def test_a_number_leads_to_the_list_of_exactly_the_tasks_it_counts(
    operator: Client, submitted: Submit
) -> None:
    fail(submitted())
    finish(submitted())

    page = text(operator, "/insights/?range=1h")

    found = {
        address.replace("&amp;", "&"): number
        for address, number in re.findall(r'href="(/tasks/\?[^"]+)">([^<]+)</a>', page)
    }
    assert found
    for address, number in found.items():
        shown = re.findall(rb'data-task="([^"]+)"', operator.get(address).content)
        assert str(len(set(shown))) == number, address
    asked = [parse_qs(urlsplit(address).query) for address in found]
    failed = [one for one in asked if one.get("state") == ["terminated_failed"]]
    assert failed
    assert all(one["time"] == ["ended"] and one["since"] < one["until"] for one in failed)
    assert [NAME] in [one.get("agent") for one in failed]
    assert ["created"] in [one["time"] for one in asked]


def test_one_agent_is_shown_alone_and_an_unknown_one_says_so(
    operator: Client, submitted: Submit
) -> None:
    finish(submitted())

    mine = text(operator, f"/insights/?agent={NAME}")
    nobody = text(operator, "/insights/?agent=%3Cscript%3E")

    assert "1 submitted, 1 ended" in mine
    assert "a tool is not counted by agent" in mine
    assert "0 submitted, 0 ended" in nobody
    assert "<script>" not in nobody.partition("<main")[2].partition("</main>")[0]


def test_items_that_wait_now_are_told_with_their_age(
    operator: Client, asked: Callable[[str], tuple[UUID, UUID]]
) -> None:
    asked("Which one?")
    asked("Which other?")
    execute("UPDATE runtime_review SET opened_at = opened_at - interval '10 min'")

    assert "2 opened, 0 decided. 2 wait now, half of them for more than 10 min" in text(operator)


def test_numbers_that_nobody_counts_any_more_say_so(operator: Client) -> None:
    assert "No sweep has run yet" in text(operator)

    pulse.beat(pulse.SWEEP)
    assert 'role="alert"' not in text(operator)

    execute("UPDATE runtime_pulse SET at = at - interval '4 min'")
    assert "No sweep has counted for 4 min" in text(operator)
    assert "No sweep has counted for 4 min" in text(operator, "/")


def test_hostile_names_are_shown_as_text(operator: Client, submitted: Submit) -> None:
    task_id = submitted()
    finish(task_id)
    execute("UPDATE runtime_stepresult SET tool = '<img src=x onerror=alert(1)>' || U&'\\202E'")

    page = text(operator)

    assert "<img src=x" not in page
    assert "&lt;img src=x" in page
    assert "\u202e" not in page


def test_a_page_takes_as_many_statements_for_much_as_for_little(
    operator: Client, submitted: Submit
) -> None:
    def statements() -> int:
        counting.count()
        with CaptureQueriesContext(connection) as made:
            operator.get("/insights/?range=7d")
        return len(made)

    finish(submitted())
    few = statements()
    for _ in range(5):
        finish(submitted())

    assert statements() == few < 20


def test_only_those_who_may_see_numbers_see_them(as_role: Callable[[Role | None], Client]) -> None:
    assert as_role(Role.VIEWER).get("/insights/").status_code == 200
    assert as_role(None).get("/insights/").status_code == 403
