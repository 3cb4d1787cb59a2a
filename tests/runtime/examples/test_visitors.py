"""The customers whom a console asks in: only where a shop is open, and about orders it knows."""

import pytest

from runtime import api
from runtime.examples.aftersales import visitors
from runtime.examples.aftersales.client import ADDRESS_VARIABLE
from runtime.examples.aftersales.control import ShopDesk
from runtime.examples.aftersales.shop.launch import ShopProcess

pytestmark = pytest.mark.django_db


def test_without_a_shop_nobody_is_asked_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ADDRESS_VARIABLE, raising=False)

    assert not visitors.is_open()
    with pytest.raises(visitors.ShopIsClosed, match="keeps one open"):
        visitors.prepare()


def test_a_shop_that_does_not_answer_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ADDRESS_VARIABLE, "http://127.0.0.1:1")

    with pytest.raises(visitors.ShopIsClosed):
        visitors.prepare()


def test_customers_write_about_orders_that_the_shop_knows_and_never_twice_the_same(
    shop: ShopProcess, desk: ShopDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ADDRESS_VARIABLE, shop.url)
    assert visitors.is_open()

    first, second = visitors.prepare(), visitors.prepare()
    number = visitors.submit(first, "human:ann") + visitors.submit(second, "human:ann")

    assert number == 2 * visitors.NUMBER
    tasks = api.tasks(limit=50).rows
    assert {task.created_by for task in tasks} == {"human:ann"}
    assert len({task.title for task in tasks}) == number
    assert all(desk.order(order["id"]) is not None for order in first.orders)
