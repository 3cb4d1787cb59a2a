"""The shop's own rules, pure: until when a customer is entitled to a refund.

The shop's calendar stands still at `BUSINESS_DATE`, so that its books say the same in every run.
"""

from datetime import date, timedelta
from typing import TypedDict

from runtime.examples.aftersales.money import Item

BUSINESS_DATE = date(2026, 6, 1)
ENTITLEMENT_DAYS = 30


class Order(TypedDict):
    """An order as the shop shows it; amounts are in minor units of `currency`."""

    id: str
    customer_name: str
    email: str
    currency: str
    items: list[Item]
    total_minor: int
    refunded_minor: int
    delivered_on: str


class Entitlement(TypedDict):
    """Whether an order may still be refunded, until when (ISO date), and why."""

    order_id: str
    entitled: bool
    until: str
    reason: str


def entitlement(order: Order, business_date: date = BUSINESS_DATE) -> Entitlement:
    """Say whether an order is within its entitlement period on the shop's date."""
    until = date.fromisoformat(order["delivered_on"]) + timedelta(days=ENTITLEMENT_DAYS)
    entitled = business_date <= until
    reason = (
        f"within {ENTITLEMENT_DAYS} days of delivery"
        if entitled
        else f"the entitlement period ended on {until.isoformat()}"
    )
    return {
        "order_id": order["id"],
        "entitled": entitled,
        "until": until.isoformat(),
        "reason": reason,
    }
