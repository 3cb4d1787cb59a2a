"""What goes wrong at the shop during a run: the same for the same number of requests.

Each fault is one an engine must survive. The shop carries them out; which of them have struck is
read from its desk at the end.
"""

from collections import Counter
from dataclasses import dataclass

from runtime.examples.aftersales.control import ShopDesk

HELD = "hold"
#: In so many calls each fault strikes once.
STRETCH = 100


@dataclass(frozen=True, slots=True)
class Forecast:
    """How many effects of each kind the books expect, so that every fault finds its call."""

    refunds: int
    mails: int
    requests: int


def order_weather(desk: ShopDesk, forecast: Forecast) -> int:
    """Order the faults of a run.

    Returns:
        The fault that withholds the answer of one refund, committed at the shop, until it is
        released: the worker that waits for it is the one to kill.
    """
    requests, refunds, mails = forecast.requests, forecast.refunds, forecast.mails
    desk.order_fault("slow", "/orders", probability=0.15, seconds=0.25, seed=requests)
    _spread(desk, "rate_limit", "/orders", requests, at=0.3, retry_after=1)
    _spread(desk, "lose_answer", "/refunds", refunds, at=0.0, method="POST")
    _spread(desk, "fail", "/refunds", refunds, at=0.25, method="POST")
    held = desk.order_fault(HELD, "/refunds", method="POST", count=1, skip=refunds // 3)
    _spread(desk, "lose_answer", "/mails", mails, at=0.3, method="POST")
    _spread(desk, "fail", "/mails", mails, at=0.5, method="POST")
    return held


def _spread(
    desk: ShopDesk, kind: str, path: str, calls: int, *, at: float, **fields: object
) -> None:
    """Order a fault once in each stretch of calls, `at` this part of it.

    Several in a row would be an outage: the breaker would rest the tool, and the run with it.
    """
    for first in range(0, calls, STRETCH):
        skip = first + int(at * min(STRETCH, calls - first))
        desk.order_fault(kind, path, count=1, skip=skip, **fields)


def struck(desk: ShopDesk) -> dict[str, int]:
    """Count the faults that have struck, by kind and path."""
    found: Counter[str] = Counter()
    for fault in desk.faults():
        found[f"{fault['kind']} {fault['path']}"] += int(fault["fired"])
    return dict(+found)
