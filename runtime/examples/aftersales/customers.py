"""The customers of the shop that `up` keeps open: some at once, then one now and then, for ever.

Every request has its own number and key, so a process that was killed goes on where it stopped and
nobody asks twice. It only submits; the work is the workers'.
"""

import time
from collections.abc import Callable
from contextlib import suppress

import httpx
from django.db import Error as DatabaseError
from django.db import connection
from django.db.models import Q

from runtime import api
from runtime.core.states import TERMINAL
from runtime.examples.aftersales.control import ShopDesk
from runtime.examples.aftersales.shop.seeds import AfterSalesRequest, make
from runtime.models import Task, TaskSpec

AGENT = "aftersales"
ACCOUNT = "demo"
SEED = 7
KEY = "customer-"
LABEL = "up"
#: On the first start.
AT_ONCE = 12
EVERY_S = 6.0
LATER_EVERY_S = 30.0
#: From the start on, customers come often for so long, that something moves while people look.
OFTEN_FOR_S = 900.0
#: No more come while so many requests are open, most of them waiting for a person.
MOST_OPEN = 40
TITLE_LENGTH = 60


class Customers:
    """Sends requests.

    Args:
        desk: Of the shop, where the orders are stored first.
        began_s: When it began, by the monotonic clock.
    """

    def __init__(self, desk: ShopDesk, began_s: float) -> None:
        self._desk = desk
        self._began_s = began_s
        self._next_s = began_s

    def come(self, now_s: float) -> int:
        """Send what is due; gives how many requests were sent.

        A database or shop that is away is no failure: the customers come back later.

        Args:
            now_s: The present by the monotonic clock.
        """
        if now_s < self._next_s:
            return 0
        often = now_s - self._began_s < OFTEN_FOR_S
        self._next_s = now_s + (EVERY_S if often else LATER_EVERY_S)
        try:
            return self._send()
        except (DatabaseError, httpx.HTTPStatusError):
            connection.close()
            return 0

    def _send(self) -> int:
        sent = TaskSpec.objects.filter(_ours()).count()
        if _open_requests() >= MOST_OPEN:
            return 0
        number = 1 if sent else AT_ONCE
        seeds = make(sent + number, SEED)
        wanted = seeds.requests[sent:]
        about = {request["order_id"] for request in wanted}
        self._desk.add_orders([order for order in seeds.orders if order["id"] in about])
        for request in wanted:
            _submit(request)
        return number


def serve(customers: Customers, is_over: Callable[[float], bool]) -> None:
    """Have customers come until it is over.

    Args:
        customers: The customers.
        is_over: Waits the given seconds, and tells whether to stop.
    """
    while not is_over(0.5):
        customers.come(time.monotonic())


def order_weather(desk: ShopDesk) -> None:
    """Have the shop behave like the world: mostly slow, sometimes failing, seldom silent."""
    desk.clear_faults()
    desk.order_fault("fail", "/orders", probability=0.04, seed=1)
    desk.order_fault("rate_limit", "/orders", probability=0.03, retry_after=3, seed=2)
    desk.order_fault("lose_answer", "/mails", method="POST", probability=0.03, seed=3)
    desk.order_fault("slow", "/", probability=0.8, seconds=1.2, seed=4)


def _submit(request: AfterSalesRequest) -> None:
    with suppress(api.SignalboxError):
        api.submit(
            AGENT,
            dict(request),
            key=KEY + request["request_id"],
            title=f"{request['order_id']}: {request['customer_message']}"[:TITLE_LENGTH],
            labels={"demo": LABEL},
            created_by=ACCOUNT,
        )


def _ours() -> Q:
    return Q(namespace="default", key__startswith=f"{KEY}R-{SEED}-")


def _open_requests() -> int:
    return Task.objects.filter(agent=AGENT, queue="default").exclude(state__in=TERMINAL).count()
