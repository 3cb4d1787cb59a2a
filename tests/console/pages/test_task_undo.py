"""Undo: each effect that happened beside its declared way back, and what stands in that way."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from runtime.api import Agent, Plan, tool
from runtime.core.effects import Effect
from runtime.models import Operation
from runtime.tools.agents import registry
from tests.agents_for_tests.hand import Hand
from tests.support.task_pages import Submit, shown


def is_open(_context: Any) -> bool:
    return True


@tool(effect="read")
def look(order_id: str) -> str:
    """Look at an order."""
    return order_id


@tool(effect="keyed", touches="money", compensate="take_back")
def pay(order_id: str, *, operation_id: str) -> str:
    """Pay an order."""
    return f"{order_id} {operation_id}"


@tool(effect="keyed", touches="money", requires="look", when=is_open)
def take_back(payment: str, reason: str = "", *, operation_id: str) -> str:
    """Take a payment back <b>whole</b>."""
    return f"{payment} {reason} {operation_id}"


@tool(effect="once")
def ship(order_id: str) -> str:
    """Ship an order."""
    return order_id


shop = Agent(
    "undo-shop",
    role="Pays and ships",
    tools=[look, pay, take_back, ship],
    planner=lambda _context: Plan.finish({}),
    manifest={
        "limits": {"writes": 2},
        "approval": {"pay": {"waived": "a test"}, "take_back": {"waived": "a test"}},
    },
)


@pytest.fixture(autouse=True)
def _shop_alone() -> Iterator[None]:
    with registry.separate(shop):
        yield


def _sides(page: str) -> list[tuple[str, str]]:
    """Give the text of each forward step and of its way back."""
    pairs = page[page.index('id="panel"') :].split('class="undo-pair"')[1:]
    plain = [re.sub(r"(<[^>]*>|\s)+", " ", pair) for pair in pairs]
    return [(one.partition(" Back ")[0], one.partition(" Back ")[2]) for one in plain]


def test_the_way_back_stands_beside_its_step_with_what_it_needs(
    operator: Client, submitted: Submit
) -> None:
    task_id = submitted(agent="undo-shop")
    Hand(task_id).start().read().begin().succeed({"paid": "P-7"})

    [(forward, back)] = _sides(shown(operator, task_id, tab="undo"))

    assert "&quot;paid&quot;: &quot;P-7&quot;" in forward
    assert "order_id" in forward
    assert "take_back keyed" in back
    assert "Take a payment back &lt;b&gt;whole&lt;/b&gt;." in back
    assert "payment (text) reason (text)" in back
    assert "The task may call it, as it was pinned." in back
    assert "look succeeded before it." in back
    assert "is_open must allow it; that is asked when it is called." in back


def test_what_stands_in_the_way_is_said(operator: Client, submitted: Submit) -> None:
    """Left out of the manifest, a tool that is missing before it, no writes left, ended."""
    task_id = submitted(
        agent="undo-shop",
        manifest={"tools": ["pay", "ship"], "limits": {"writes": 1}},
    )
    Hand(task_id).start().begin().succeed().finish()

    [(_forward, back)] = _sides(shown(operator, task_id, tab="undo"))

    assert "The task&#x27;s manifest leaves this tool out." in back
    assert "look must succeed first, and has not." in back
    assert "limit of writes is used up." in back
    assert "The task has ended and calls nothing more." in back


def test_the_last_effect_comes_first_and_one_without_a_way_back_says_so(
    operator: Client, submitted: Submit
) -> None:
    task_id = submitted(agent="undo-shop")
    Hand(task_id).start().begin().succeed().begin("ship", Effect.ONCE).succeed("sent")

    (ship_it, by_hand), (pay_it, _back) = _sides(shown(operator, task_id, tab="undo"))

    assert "ship" in ship_it
    assert "pay" in pay_it
    assert "none declared Its author named no tool that undoes it." in by_hand


def test_what_was_undone_already_asks_for_nothing_more(operator: Client, submitted: Submit) -> None:
    task_id = submitted(agent="undo-shop")
    Hand(task_id).start().begin().succeed()
    Operation.objects.filter(task_id=task_id).update(status="compensated")

    [(_forward, back)] = _sides(shown(operator, task_id, tab="undo"))

    assert "It was undone already." in back
    assert "must succeed first" not in back
