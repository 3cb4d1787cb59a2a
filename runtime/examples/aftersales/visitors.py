"""Some customers at once, for whoever wants to see tasks move; the console can ask them in.

Found through the setting `SIGNALBOX_DEMO`; only where a shop is open, as `up` keeps one.
"""

import os
import secrets
from typing import Final

import httpx

from runtime import api
from runtime.examples.aftersales.client import ADDRESS_VARIABLE
from runtime.examples.aftersales.control import ShopDesk
from runtime.examples.aftersales.customers import AGENT, TITLE_LENGTH
from runtime.examples.aftersales.shop.seeds import AfterSalesRequest, Seeds, make

NUMBER: Final = 12
_SEEDS_FROM, _SEEDS = 1000, 1_000_000
"""Numbers that neither `up` nor the demo command uses."""


class ShopIsClosed(api.SignalboxError):
    """No shop answers."""

    http_status = 503

    def __str__(self) -> str:
        """Say what to do."""
        return "The demo’s shop does not answer; uv run manage.py up keeps one open."


def is_open() -> bool:
    """Tell whether this process knows a shop and the agent that serves its customers."""
    return bool(os.environ.get(ADDRESS_VARIABLE)) and AGENT in api.agents()


def prepare() -> Seeds:
    """Store the orders that the customers will write about.

    Raises:
        ShopIsClosed: Nobody stored them.
    """
    seeds = make(NUMBER, _SEEDS_FROM + secrets.randbelow(_SEEDS))
    try:
        with ShopDesk(os.environ.get(ADDRESS_VARIABLE, "")) as desk:
            desk.add_orders(seeds.orders)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ShopIsClosed from error
    return seeds


def submit(seeds: Seeds, by: str) -> int:
    """Have the customers write; gives how many tasks that makes.

    Args:
        seeds: As prepared.
        by: The account that asked them in.
    """
    for request in seeds.requests:
        api.submit(
            AGENT, dict(request), title=_title(request), labels={"demo": "visit"}, created_by=by
        )
    return len(seeds.requests)


def _title(request: AfterSalesRequest) -> str:
    return f"{request['order_id']}: {request['customer_message']}"[:TITLE_LENGTH]
