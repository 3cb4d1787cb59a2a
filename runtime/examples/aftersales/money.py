"""Money in minor units: the digits of a currency, how an amount reads, what a refund comes to.

Pure arithmetic on integers; never a float. The agent computes its refunds with it, and the books
use it to say what should exist.
"""

from collections.abc import Iterable
from typing import TypedDict

DEFAULT_MINOR_DIGITS = 2

#: ISO 4217 currencies whose minor unit is not a hundredth (those the demo meets).
MINOR_DIGITS = {"JPY": 0, "KRW": 0, "VND": 0, "BHD": 3, "JOD": 3, "KWD": 3, "OMR": 3, "TND": 3}


class Item(TypedDict):
    """One line of an order; `unit_minor` is the price of one piece in minor units."""

    sku: str
    title: str
    quantity: int
    unit_minor: int
    returnable: bool


def display(amount_minor: int, currency: str) -> str:
    """Write an amount the way a person reads it, such as `240.00 EUR`, `1200 JPY`, `1.250 KWD`."""
    digits = MINOR_DIGITS.get(currency, DEFAULT_MINOR_DIGITS)
    if digits == 0:
        return f"{amount_minor} {currency}"
    sign = "-" if amount_minor < 0 else ""
    whole, part = divmod(abs(amount_minor), 10**digits)
    return f"{sign}{whole}.{part:0{digits}d} {currency}"


def refundable_minor(items: Iterable[Item], total_minor: int, refunded_minor: int) -> int:
    """Say what may be paid back for an order, in minor units, never below zero.

    Args:
        items: the order's lines; those that are not returnable do not count.
        total_minor: what the customer paid, which no refund may exceed.
        refunded_minor: what was paid back already.
    """
    returned = sum(item["quantity"] * item["unit_minor"] for item in items if item["returnable"])
    return max(0, min(returned, total_minor) - refunded_minor)
