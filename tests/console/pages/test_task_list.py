"""The list: what needs attention first, filters in the address, pages by key, rows as fragments."""

import html
import re
from collections.abc import Callable
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from console import queries
from console.pages import task_list
from console.pages.words import FAMILIES, FAMILY_OF
from console.queries import BadCursor, Filter, Sort, Waits, counting
from runtime import api
from runtime.core.states import State
from tests.agents_for_tests.hand import Hand
from tests.support.pages import shown as _shown

NOBODY = "01980000-0000-7000-8000-00000000beef"

type Submit = Callable[..., UUID]


def _failed(task_id: UUID) -> None:
    Hand(task_id).start().ask("?")
    review_id = api.task(task_id).review_id
    assert review_id is not None
    api.decide(review_id, "abort", reason="no", by="human:ann")


def test_what_needs_a_person_comes_first_then_what_lives_each_oldest_first(
    operator: Client, submitted: Submit
) -> None:
    first, second, third, fourth = (submitted() for _ in range(4))
    Hand(third).start().ask("Which?")
    Hand(second).start().read().finish()

    assert _shown(operator.get("/tasks/")) == [third, first, fourth]


@pytest.mark.parametrize("state", State)
def test_every_state_has_a_family_a_row_and_a_filter(state: State) -> None:
    family = FAMILY_OF[state]

    assert state in FAMILIES[family]
    assert family in task_list.ROW_OF_FAMILY


def test_a_state_filter_shows_those_tasks_only(operator: Client, submitted: Submit) -> None:
    done, asks, lives = submitted(), submitted(), submitted()
    Hand(done).start().read().finish()
    Hand(asks).start().ask("Which?")

    assert _shown(operator.get("/tasks/?state=done")) == [done]
    assert _shown(operator.get("/tasks/?state=person")) == [asks]
    assert _shown(operator.get("/tasks/?state=initialized")) == [lives]
    assert _shown(operator.get("/tasks/?state=no-such-state")) == [asks, lives]


def test_words_agent_and_id_narrow_the_list(operator: Client, submitted: Submit) -> None:
    blue, red = submitted(title="The blue one"), submitted(title="The red one")

    assert _shown(operator.get("/tasks/", {"q": "blue"})) == [blue]
    assert _shown(operator.get("/tasks/", {"q": str(red)})) == [red]
    assert _shown(operator.get("/tasks/", {"q": "100%_\\"})) == []
    assert _shown(operator.get("/tasks/", {"agent": "nobody"})) == []
    assert _shown(operator.get("/tasks/", {"q": "red\x00"})) == [red]


def test_settled_tasks_are_listed_newest_first(operator: Client, submitted: Submit) -> None:
    old, new = submitted(), submitted()
    for task_id in (old, new):
        Hand(task_id).start().finish()

    assert _shown(operator.get("/tasks/?state=done")) == [new, old]


def test_pages_go_on_exactly_where_the_last_one_ended(
    submitted: Submit, monkeypatch: pytest.MonkeyPatch, operator: Client
) -> None:
    tasks = [submitted() for _ in range(5)]
    Hand(tasks[4]).start().ask("Which?")
    monkeypatch.setattr(task_list, "ROWS", 2)

    seen, query = [], "top="
    while True:
        answer = operator.get(f"/tasks/?{query}", headers={"HX-Request": "true"})
        seen.append(_shown(answer))
        found = re.search(rb'hx-get="\?([^"]+)"[^>]*>Show more here', answer.content)
        if found is None:
            break
        query = html.unescape(found[1].decode())

    assert seen == [[tasks[4], tasks[0]], [tasks[1], tasks[2]], [tasks[3]]]


@pytest.mark.parametrize(
    "query",
    [
        "state=attention",
        "state=all",
        "state=all&sort=oldest",
        "state=done",
        "sort=ended",
        "q=refund",
    ],
)
def test_pages_lead_forth_and_back_over_the_same_rows(
    query: str, submitted: Submit, monkeypatch: pytest.MonkeyPatch, operator: Client
) -> None:
    """Given two groups of rows and three pages, each page has one address and two neighbours."""
    tasks = [submitted(title="Refund") for _ in range(10)]
    for task_id in tasks[:5]:
        Hand(task_id).start().read().finish()
    Hand(tasks[9]).start().ask("Which?")
    monkeypatch.setattr(task_list, "ROWS", 2)

    forth, address = [], f"?{query}"
    while address:
        page = operator.get(f"/tasks/{address}")
        forth.append(_shown(page))
        address = _leads(page, "next")
    back, address = [], _leads(page, "before")
    while address:
        page = operator.get(f"/tasks/{address}")
        back.append(_shown(page))
        address = _leads(page, "before")

    assert len(forth) >= 3
    assert back == forth[-2::-1]


def _leads(page: object, where: str) -> str:
    found = re.search(rb'data-page="' + where.encode() + rb'" href="([^"]+)"', page.content)  # type: ignore[attr-defined]
    return html.unescape(found[1].decode()) if found else ""


def test_a_page_before_that_is_not_full_any_more_is_the_first_page(
    submitted: Submit, monkeypatch: pytest.MonkeyPatch, operator: Client
) -> None:
    tasks = [submitted() for _ in range(4)]
    monkeypatch.setattr(task_list, "ROWS", 2)
    second = operator.get(f"/tasks/{_leads(operator.get('/tasks/'), 'next')}")

    Hand(tasks[0]).start().read().finish()

    assert _shown(operator.get(f"/tasks/{_leads(second, 'before')}")) == tasks[1:3]


def test_a_page_whose_rows_have_gone_says_so_and_leads_back(
    submitted: Submit, monkeypatch: pytest.MonkeyPatch, operator: Client
) -> None:
    tasks = [submitted() for _ in range(3)]
    monkeypatch.setattr(task_list, "ROWS", 2)
    address = _leads(operator.get("/tasks/"), "next")

    Hand(tasks[2]).start().read().finish()
    page = operator.get(f"/tasks/{address}").content.decode()

    assert "This page of the list is empty by now" in page
    assert f"?before=1.{tasks[1]}" in page


@pytest.mark.parametrize("cursor", ["x", "9.0", "0.0", f"7.{NOBODY}", f"-1.{NOBODY}"])
def test_an_address_that_is_no_page_is_refused(cursor: str, operator: Client) -> None:
    assert operator.get("/tasks/", {"cursor": cursor}).status_code == 400
    assert operator.get("/tasks/", {"before": cursor}).status_code == 400
    with pytest.raises(BadCursor):
        queries.task_page(Filter(), cursor, 10)


def test_rows_are_given_again_for_the_ids_a_page_shows(operator: Client, submitted: Submit) -> None:
    known = submitted()

    answer = operator.get("/tasks/rows/", {"id": [str(known), str(uuid4()), "no id"]})

    assert _shown(answer) == [known]


def test_new_tasks_are_counted_as_the_filter_lets_them_through(
    operator: Client, submitted: Submit
) -> None:
    newest = submitted()
    submitted(title="The blue one")
    submitted(title="The red one")

    everything = operator.get("/tasks/news/", {"newest": str(newest)})
    blue = operator.get("/tasks/news/", {"newest": str(newest), "q": "blue"})
    nothing = operator.get("/tasks/news/", {"newest": str(newest), "state": "done"})

    assert b"2 new" in everything.content
    assert b"1 new" in blue.content
    assert b" new " not in nothing.content


def test_an_empty_list_says_whether_the_filter_is_why(operator: Client, submitted: Submit) -> None:
    assert b"No task yet" in operator.get("/tasks/").content
    done = submitted()
    Hand(done).start().finish()
    assert b"Nothing needs you" in operator.get("/tasks/").content

    answer = operator.get("/tasks/?q=zzz&state=failed")

    assert b"0 of 1 match" in answer.content
    assert b'href="/tasks/?state=failed"' in answer.content
    assert b'href="/tasks/?q=zzz"' in answer.content


def test_a_page_takes_as_many_queries_for_many_rows_as_for_few(
    operator: Client, submitted: Submit
) -> None:
    def add(number: int) -> None:
        for _ in range(number):
            submitted()
            Hand(submitted()).start().ask("Which?")

    def asked() -> int:
        with CaptureQueriesContext(connection) as queries_made:
            operator.get("/tasks/")
        return len(queries_made)

    add(1)
    few = asked()
    add(6)

    assert asked() == few < 30


def test_counts_are_by_state_and_stop_at_a_cap(
    submitted: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = [submitted() for _ in range(4)]
    Hand(tasks[0]).start().finish()

    counted = queries.counts()
    monkeypatch.setattr(counting, "COUNTED", 2)
    capped = queries.counts()

    assert (counted[State.INITIALIZED], counted[State.TERMINATED_SUCCESS]) == (3, 1)
    assert capped[State.INITIALIZED] == 2


def test_a_failed_task_needs_attention_for_a_day(submitted: Submit, operator: Client) -> None:
    aborted = submitted()
    _failed(aborted)

    # Somebody ended it on purpose: that needs nobody's attention.
    assert aborted not in _shown(operator.get("/tasks/"))
    assert _shown(operator.get("/tasks/?state=ended")) == [aborted]


def test_a_new_installation_offers_to_see_tasks_move(operator: Client) -> None:
    page = operator.get("/tasks/").content.decode()

    assert "No task yet" in page
    assert ('action="/overview/demo/"' in page) is not ("manage.py up" in page)
    assert "data-bulk-bar" not in page


@pytest.mark.parametrize("turned", [0, 1], ids=["forth", "back"])
@pytest.mark.parametrize(
    ("index", "query"),
    [
        ("task_words", Filter(q="blue")),
        ("task_ended", Filter(sort=Sort.ENDED)),
        ("task_held", Filter(waits=Waits.PAUSED)),
        ("task_parked", Filter(waits=Waits.RETRY)),
        ("task_agent", Filter(agent="clerk", is_everything=True)),
    ],
)
def test_an_index_serves_each_way_to_narrow_a_list(
    index: str, query: Filter, turned: int, submitted: Submit
) -> None:
    """With few rows a scan is cheaper, so scans are priced out; no index, no plan."""
    place = f"0.{submitted()}" if turned else ""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
        with CaptureQueriesContext(connection) as asked:
            get = queries.TaskList(query, queries.database_now())
            # There is nothing before the place, so the first page is read after all.
            _ = get.page_before(place, 10) if turned else get.page("", 10)
        plans = []
        for one in asked.captured_queries:
            cursor.execute(f"EXPLAIN {one['sql']}")
            plans += [row[0] for row in cursor.fetchall()]

    # What a search looked up it knows, whichever page it is for.
    walks = 1 + turned if index != "task_words" else 1
    assert sum(f" {index} " in line for line in plans) >= walks, "\n".join(plans)
