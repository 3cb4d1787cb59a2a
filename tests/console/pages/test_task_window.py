"""The window of a timeline: its lenses, orders and filters, and what is new beyond it."""

import re

import pytest
from django.test import Client

from runtime import api
from tests.agents_for_tests.hand import Hand
from tests.support.task_pages import Submit, retried, shown


@pytest.mark.parametrize("lens", ["steps", "events", "json"])
def test_only_failures_are_shown_and_the_rest_is_counted(
    lens: str, operator: Client, submitted: Submit
) -> None:
    fails, fine = retried(submitted), submitted()
    Hand(fine).start().read()

    some = shown(operator, fails, show="failures", lens=lens)
    none = shown(operator, fine, show="failures", lens=lens)

    assert "503 from the bank" in some
    assert f"{api.task(fails).version - 1} other events are hidden." in some
    assert "No failed events; 3 hidden." in none


def test_the_order_is_in_the_address_and_the_newest_may_come_first(
    operator: Client, submitted: Submit
) -> None:
    task_id = submitted()
    Hand(task_id).start().read()

    page = shown(operator, task_id, order="desc", lens="events")

    assert re.findall(r'<tr id="event-(\d+)"', page) == ["3", "2", "1"]
    assert "data-grows" not in page


def test_a_call_and_its_result_lead_to_each_other(operator: Client, submitted: Submit) -> None:
    task_id = submitted()
    Hand(task_id).start().begin().succeed("paid")

    page = shown(operator, task_id, lens="events")

    assert 'href="#event-4">then: 4' in page
    assert 'href="#event-3">call: 3' in page


def test_what_is_new_is_counted_where_the_page_does_not_grow(
    operator: Client, submitted: Submit
) -> None:
    task_id = submitted()
    Hand(task_id).start().read().read()

    away = operator.get(
        f"/tasks/{task_id}/parts/", {"since": "2", "order": "desc"}
    ).content.decode()
    there = operator.get(f"/tasks/{task_id}/parts/", {"since": "2", "grows": "1"}).content.decode()

    assert "2 new events</span> <a" in away
    assert '<span class="visually-hidden">2 new events' in there
    assert "Show them" not in there


def test_a_burst_comes_in_parts_and_none_of_it_is_left_out(
    operator: Client, submitted: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.pages.task_window.WINDOW", 2)
    task_id = submitted()
    hand = Hand(task_id).start()
    for _ in range(7):
        hand.read()
    shown_items, since, rounds = set(), 2, 0
    while since < api.task(task_id).version:
        asked = {"since": str(since), "from": "0", "grows": "1"}
        page = operator.get(f"/tasks/{task_id}/parts/", asked).content.decode()
        shown_items |= {int(seq) for seq in re.findall(r'class="item [^"]*" id="item-(\d+)"', page)}
        found = re.search(r'id="new-items" data-seq="(\d+)"( data-more)?', page)
        assert found is not None
        since, rounds = int(found[1]), rounds + 1
        assert (found[2] is not None) == (since < 9)

    assert shown_items == set(range(3, 10))
    assert rounds > 1
