"""Odd but plausible orders and requests, the same for the same seed.

Pure: `make` returns values; the shop stores the orders, whoever drives the agent submits the
requests. The first n of a longer list are the list of n.
"""

import random
from dataclasses import dataclass
from datetime import timedelta
from typing import TypedDict

from runtime.examples.aftersales.money import Item
from runtime.examples.aftersales.shop.rules import BUSINESS_DATE, ENTITLEMENT_DAYS, Order


class AfterSalesRequest(TypedDict):
    """What a customer wrote; `currency` is the one they name, if they name one."""

    request_id: str
    order_id: str
    customer_message: str
    currency: str | None


@dataclass(frozen=True, slots=True)
class Scenario:
    """One kind of request."""

    name: str
    customer_name: str
    currency: str
    message: str
    unit_minor: tuple[int, int] = (500, 30_000)
    pieces: int = 1
    refunded: float = 0.0
    days_since_delivery: int = 5
    asks_currency: str | None = None
    exists: bool = True
    one_not_returnable: bool = False


SCENARIOS = (
    Scenario("plain", "Anna Berg", "EUR", "The lamp arrived broken, please refund it."),
    Scenario("several items", "João Müller-Ørsted", "EUR", "None of it fits.", pieces=4),
    Scenario("partly refunded", "Nils O'Brien", "EUR", "You paid back a part only.", refunded=0.4),
    Scenario("yen", "王小明", "JPY", "茶壶碎了。请退款。", unit_minor=(300, 9_000)),
    Scenario("dinar", "فاطمة الزهراء", "KWD", "وصل الطلب تالفًا، أريد استرداد المبلغ.", pieces=2),
    Scenario("emoji", "🦊 Zoë 👩‍👧‍👦", "EUR", "Kaputt 😢 bitte 💶 zurück"),
    Scenario("no such order", "Nobody", "EUR", "Where is my order?", exists=False),
    Scenario("too late", "Late Larry", "EUR", "I forgot it in a drawer.", days_since_delivery=31),
    Scenario("free", "Prize Winner", "EUR", "The gift is ugly.", unit_minor=(0, 0)),
    Scenario("fully refunded", "Ask Again", "EUR", "Once more, please.", refunded=1.0),
    Scenario("gift card", "李雷", "CNY", "礼品卡不要了。", pieces=3, one_not_returnable=True),
    Scenario("other currency", "Dolly Dollar", "EUR", "I paid in dollars!", asks_currency="USD"),
    Scenario(
        "last day", "Just In Time", "EUR", "Today still?", days_since_delivery=ENTITLEMENT_DAYS
    ),
)

_TITLES = ("Desk lamp", "Teapot 茶壶", "Rain coat", "قلم حبر", "Bike bell 🔔", "Chess set")


@dataclass(frozen=True, slots=True)
class Seeds:
    """Orders for the shop and requests for the agent; some name orders that do not exist."""

    orders: tuple[Order, ...]
    requests: tuple[AfterSalesRequest, ...]


def make(n: int, seed: int = 1) -> Seeds:
    """Make n requests and the orders they are about, one request for each order."""
    orders: list[Order] = []
    requests: list[AfterSalesRequest] = []
    for index in range(n):
        scenario = SCENARIOS[index % len(SCENARIOS)]
        order_id = f"A-{seed}-{index:05d}"
        if scenario.exists:
            # A generator for each order: the first n do not depend on how many follow.
            dice = random.Random(f"{seed}:{index}")
            orders.append(_order(order_id, scenario, dice))
        requests.append(
            {
                "request_id": f"R-{seed}-{index:05d}",
                "order_id": order_id,
                "customer_message": scenario.message,
                "currency": scenario.asks_currency,
            },
        )
    return Seeds(tuple(orders), tuple(requests))


def _order(order_id: str, scenario: Scenario, dice: random.Random) -> Order:
    items: list[Item] = [
        {
            "sku": f"SKU-{dice.randrange(10_000):04d}",
            "title": dice.choice(_TITLES),
            "quantity": dice.randint(1, 3),
            "unit_minor": dice.randint(*scenario.unit_minor),
            "returnable": not (scenario.one_not_returnable and piece == 0),
        }
        for piece in range(scenario.pieces)
    ]
    total_minor = sum(item["quantity"] * item["unit_minor"] for item in items)
    delivered_on = BUSINESS_DATE - timedelta(days=scenario.days_since_delivery)
    return {
        "id": order_id,
        "customer_name": scenario.customer_name,
        "email": f"customer+{order_id.lower()}@example.com",
        "currency": scenario.currency,
        "items": items,
        "total_minor": total_minor,
        "refunded_minor": int(total_minor * scenario.refunded),
        "delivered_on": delivered_on.isoformat(),
    }
