"""The shop as the engine's tests use it: an order for each case, and effects counted per order."""

import itertools
import os

from django.db import connection

from runtime.examples.aftersales.control import ShopDesk
from tests.support.engine_agents.hands import LOCAL_TABLE

_BOOKS = {"refund": "refunds", "label": "labels", "mail": "mails"}
_numbers = itertools.count(1)


def order(desk: ShopDesk) -> str:
    """Store a fresh order; gives its id."""
    return orders(desk, 1)[0]


def orders(desk: ShopDesk, number: int) -> list[str]:
    """Store fresh orders; gives their ids."""
    ids = [f"E-{os.getpid()}-{next(_numbers)}" for _ in range(number)]
    desk.add_orders(
        {
            "id": order_id,
            "customer_name": "Ann",
            "email": "a@b.example",
            "currency": "EUR",
            "items": [],
            "total_minor": 1_000_000,
            "refunded_minor": 0,
            "delivered_on": "2026-05-20",
        }
        for order_id in ids
    )
    return ids


def seen(desk: ShopDesk, order_id: str, hand: str) -> int:
    """Count the effects that the books show for an order."""
    return count_effects(desk, hand).get(order_id, 0)


def count_effects(desk: ShopDesk, hand: str) -> dict[str, int]:
    """Count the effects of a hand by order."""
    kind = hand.removesuffix("_async")
    if kind == "enter":
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT order_id, count(*) FROM {LOCAL_TABLE} GROUP BY 1")  # noqa: S608
            return dict(cursor.fetchall())
    if kind not in _BOOKS:
        return {}
    counted: dict[str, int] = {}
    for row in desk.books()[_BOOKS[kind]]:
        counted[row["order_id"]] = counted.get(row["order_id"], 0) + 1
    return counted
