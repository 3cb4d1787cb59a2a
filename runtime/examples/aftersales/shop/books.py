"""What the shop's books should say, and how they differ from it: duplicates, lost, unexpected.

Pure, and the judge of every crash test: it knows the orders and the requests, never the runtime.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from runtime.examples.aftersales.money import refundable_minor
from runtime.examples.aftersales.shop.rules import Order, entitlement
from runtime.examples.aftersales.shop.seeds import AfterSalesRequest


class Effect(NamedTuple):
    """One effect as the books show it; a mail has no amount. Comparable, so it can be counted."""

    kind: str
    order_id: str
    amount_minor: int = 0
    currency: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How books and expectation differ; an effect stands as often as it is too many or missing."""

    expected: int
    seen: int
    duplicates: tuple[Effect, ...]
    lost: tuple[Effect, ...]
    unexpected: tuple[Effect, ...]

    @property
    def held(self) -> bool:
        """Whether the books say exactly what they should."""
        return not (self.duplicates or self.lost or self.unexpected)


def expected_effects(
    orders: Iterable[Order],
    requests: Iterable[AfterSalesRequest],
    *,
    aborted: Collection[str] = (),
) -> Counter[Effect]:
    """Say which effects the requests should have once all are settled.

    Args:
        orders: the orders as they were before the first request.
        requests: at most one for each order.
        aborted: ids of requests that a person ended before their first effect.
    """
    by_id = {order["id"]: order for order in orders}
    effects: Counter[Effect] = Counter()
    for request in requests:
        order = by_id.get(request["order_id"])
        if order is None or request["request_id"] in aborted:
            continue
        effects[Effect("mail", order["id"])] += 1
        amount = refundable_minor(order["items"], order["total_minor"], order["refunded_minor"])
        if amount > 0 and entitlement(order)["entitled"]:
            effects[Effect("refund", order["id"], amount, order["currency"])] += 1
    return effects


def seen_effects(books: Mapping[str, object]) -> Counter[Effect]:
    """Count the effects in the answer of `GET /books`."""
    effects: Counter[Effect] = Counter()
    for kind in ("refund", "mail", "label"):
        rows = books[kind + "s"]
        if not isinstance(rows, list):
            message = f"the books hold no list of {kind}s"
            raise TypeError(message)
        for row in rows:
            order_id = str(row["order_id"] or "")
            money = (row["amount_minor"], row["currency"]) if kind == "refund" else (0, "")
            effects[Effect(kind, order_id, *money)] += 1
    return effects


def compare(expected: Counter[Effect], books: Mapping[str, object]) -> Comparison:
    """Hold the books against what they should say.

    Seen more often than expected is a duplicate; seen where nothing was expected is unexpected,
    once, and a duplicate from the second time on.
    """
    seen = seen_effects(books)
    surplus = seen - expected
    unexpected = Counter({effect: 1 for effect in surplus if effect not in expected})
    return Comparison(
        expected=expected.total(),
        seen=seen.total(),
        duplicates=_listed(surplus - unexpected),
        lost=_listed(expected - seen),
        unexpected=_listed(unexpected),
    )


def _listed(effects: Counter[Effect]) -> tuple[Effect, ...]:
    return tuple(sorted(effects.elements()))
