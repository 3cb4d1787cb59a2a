"""What goes wrong at the shop during a run: the same for the same number of requests.

Each fault is one an engine must survive. The shop carries them out; which of them have struck is
read from its desk at the end.
"""

from dataclasses import dataclass

from runtime.examples.aftersales.control import ShopDesk

HELD = "hold"


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
    often = max(1, forecast.requests // 100)
    third = forecast.requests // 3
    desk.order_fault("rate_limit", "/orders", count=often, skip=third, retry_after=1)
    desk.order_fault("slow", "/orders", probability=0.15, seconds=0.25, seed=forecast.requests)
    desk.order_fault("lose_answer", "/refunds", method="POST", count=often)
    desk.order_fault("fail", "/refunds", method="POST", count=often, skip=forecast.refunds // 4)
    held = desk.order_fault(HELD, "/refunds", method="POST", count=1, skip=forecast.refunds // 3)
    desk.order_fault("lose_answer", "/mails", method="POST", count=often, skip=forecast.mails // 3)
    desk.order_fault("fail", "/mails", method="POST", count=often, skip=forecast.mails // 2)
    return held


def struck(desk: ShopDesk) -> dict[str, int]:
    """Count the faults that have struck, by kind and path."""
    found = {f"{fault['kind']} {fault['path']}": int(fault["fired"]) for fault in desk.faults()}
    return {name: number for name, number in found.items() if number}
