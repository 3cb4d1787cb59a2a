"""The desk behind the counter, for tests and robots: faults, calls, books, seeds.

Nothing here is noted in the books or meets a fault. `server.py` asks it first.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from math import isfinite
from typing import cast

from runtime.examples.aftersales.shop.faults import FaultRefusedError
from runtime.examples.aftersales.shop.house import Shop
from runtime.examples.aftersales.shop.http import (
    Answer,
    Json,
    Request,
    RequestRefusedError,
    problem,
    read_json,
)
from runtime.examples.aftersales.shop.ledger import CallFilter, storable
from runtime.examples.aftersales.shop.rules import Order
from runtime.examples.aftersales.shop.seeds import make

MAX_SEEDS = 200_000
MAX_WAIT_S = 300.0
DEFAULT_CALLS_LISTED = 200
#: Looks again at least this often: another shop process may note calls in the same books.
LOOK_AGAIN_S = 0.5
#: A burst of calls is looked at once.
GATHER_S = 0.005


class Desk:
    """Answers what belongs to the desk; everything else is for the counter."""

    def __init__(self, shop: Shop) -> None:
        """Sit behind a shop."""
        self._shop = shop

    async def answer(self, request: Request) -> Answer | None:  # noqa: PLR0911 - one each
        """Answer a request for the desk; None where it is one for the counter."""
        match request.method, request.segments:
            case "GET", ("health",):
                return Answer(200, {"status": "open"})
            case _, ("faults", *rest):
                return self._faults(request, rest)
            case "GET", ("calls",):
                return await self._calls(request.query)
            case "GET", ("books",):
                return await self._books()
            case "GET", ("books", "orders", order_id):
                order = await self._shop.ledger.peek_order(order_id) if storable(order_id) else None
                return Answer(200, {**order}) if order else problem(404, "there is no such order")
            case "GET", ("books", "effects", operation_id):
                return await self._effects(operation_id, request.query)
            case "POST", ("seed",):
                return await self._seed(read_json(request.body))
        return None

    def _faults(self, request: Request, rest: list[str]) -> Answer:
        shop = self._shop
        match request.method, rest:
            case "GET", []:
                listed = [f.as_json() | {"held": shop.held(f.id)} for f in shop.faults.faults]
                return Answer(200, {"faults": listed})
            case "POST", []:
                try:
                    return Answer(201, shop.faults.add(read_json(request.body)).as_json())
                except FaultRefusedError as refusal:
                    return problem(422, str(refusal))
            case "POST", ["release"]:
                fault_id = read_json(request.body or b"{}").get("id")
                return Answer(
                    200,
                    {"released": shop.release(fault_id if isinstance(fault_id, int) else None)},
                )
            case "DELETE", []:
                return Answer(200, {"removed": shop.faults.clear(), "released": shop.release()})
        return problem(405, "faults can be ordered, listed, released and removed")

    async def _calls(self, query: Mapping[str, str]) -> Answer:
        where = CallFilter(
            *(query.get(name) for name in ("path", "method", "operation_id", "fault"))
        )
        if any(text is not None and not storable(text) for text in where.parameters()):
            return Answer(200, {"count": 0, "calls": []})
        wanted = int(_number(query, "wait_for", 0, 10**9))
        limit = int(_number(query, "limit", DEFAULT_CALLS_LISTED, 10**5)) or 1
        deadline = _now_s() + _number(query, "timeout_s", 0, MAX_WAIT_S)
        while True:
            news = self._shop.news
            count, listed = await self._shop.ledger.calls(where, limit)
            if count >= wanted or _now_s() >= deadline:
                return Answer(200, {"count": count, "calls": listed})
            await _news_until(news, deadline)

    async def _effects(self, operation_id: str, query: Mapping[str, str]) -> Answer:
        if not storable(operation_id):
            return Answer(200, {"pending": False, "refunds": [], "mails": [], "labels": []})
        deadline = _now_s() + _number(query, "timeout_s", 0, MAX_WAIT_S)
        while self._shop.pending[operation_id] and _now_s() < deadline:
            await _news_until(self._shop.news, deadline)
        pending = self._shop.pending[operation_id] > 0
        return Answer(200, {"pending": pending, **await self._shop.ledger.effects(operation_id)})

    async def _books(self) -> Answer:
        ledger = self._shop.ledger
        by_path = await ledger.count_calls()
        calls = {"total": sum(by_path.values()), "by_path": by_path}
        return Answer(200, {**await ledger.effects(), "calls": calls})

    async def _seed(self, body: Json) -> Answer:
        orders = body.get("orders")
        if orders is not None:
            added = await self._shop.ledger.add_orders(_read_orders(orders))
            return Answer(201, {"added": added})
        n, seed = body.get("n", 0), body.get("seed", 1)
        if not (isinstance(n, int) and isinstance(seed, int) and 0 <= n <= MAX_SEEDS):
            raise RequestRefusedError(422, f"n is a number up to {MAX_SEEDS}, seed a number")
        seeds = make(n, seed)
        added = await self._shop.ledger.add_orders(seeds.orders)
        return Answer(201, {"added": added, "requests": list(seeds.requests)})


def _read_orders(value: object) -> list[Order]:
    needed = Order.__required_keys__
    if not isinstance(value, list) or any(
        not isinstance(order, dict) or order.keys() != needed for order in value
    ):
        raise RequestRefusedError(422, f"an order has the fields {', '.join(sorted(needed))}")
    return cast("list[Order]", value)


def _number(query: Mapping[str, str], name: str, default: float, most: float) -> float:
    try:
        number = float(query.get(name, default))
    except ValueError:
        number = -1.0
    if not (isfinite(number) and 0 <= number <= most):
        raise RequestRefusedError(422, f"{name} is a number from 0 to {most:g}")
    return number


def _now_s() -> float:
    return asyncio.get_running_loop().time()


async def _news_until(news: asyncio.Event, deadline: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(news.wait(), min(LOOK_AGAIN_S, max(0.0, deadline - _now_s())))
        await asyncio.sleep(GATHER_S)
