"""Hands on the shop's desk: order faults, wait for calls, read the books, look at one effect.

For tests, drills and the robot person; never for the agent, which sees only the counter
(`client.py`). Synchronous; no call is noted in the books.
"""

from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from runtime.examples.aftersales.shop.rules import Order

type Json = dict[str, Any]

#: The desk itself waits up to what it is told; this comes on top.
ANSWER_TIMEOUT_S = 10.0


class ShopDesk:
    """A connection to one shop's desk."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=ANSWER_TIMEOUT_S, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def seed(self, n: int, seed: int = 1) -> list[Json]:
        """Store n odd orders; returns the requests about them."""
        requests: list[Json] = self._ask("POST", "/seed", {"n": n, "seed": seed})["requests"]
        return requests

    def add_orders(self, orders: Iterable[Order]) -> int:
        """Store orders; returns how many were new."""
        return int(self._ask("POST", "/seed", {"orders": list(orders)})["added"])

    def order_fault(self, kind: str, path: str = "/", **fields: object) -> int:
        """Order a fault (see `shop/faults.py` for kinds and fields); returns its id."""
        return int(self._ask("POST", "/faults", {"kind": kind, "path": path, **fields})["id"])

    def faults(self) -> list[Json]:
        """List the faults in force, with how often each has struck and whom it withholds."""
        listed: list[Json] = self._ask("GET", "/faults")["faults"]
        return listed

    def release(self, fault_id: int | None = None) -> int:
        """Let withheld answers go, of one fault or of all; returns how many there were."""
        return int(self._ask("POST", "/faults/release", {"id": fault_id})["released"])

    def clear_faults(self) -> None:
        """Withdraw all faults and let all withheld answers go."""
        self._ask("DELETE", "/faults")

    def calls(
        self,
        path: str | None = None,
        *,
        method: str | None = None,
        operation_id: str | None = None,
        fault: str | None = None,
    ) -> list[Json]:
        """List the newest calls (at most 1,000) that match, oldest first."""
        where = {"path": path, "method": method, "operation_id": operation_id, "fault": fault}
        return self._calls(where, {"limit": 1000})

    def wait_for_calls(  # noqa: PLR0913 - all by keyword, each one filter of the same question
        self,
        path: str | None = None,
        *,
        number: int = 1,
        timeout_s: float = 30.0,
        method: str | None = None,
        operation_id: str | None = None,
        fault: str | None = None,
    ) -> list[Json]:
        """Wait until so many matching calls were noted, and list them.

        A call that meets a fault is noted as soon as its effect is committed or its waiting begins.

        Raises:
            TimeoutError: they did not come within `timeout_s`.
        """
        where = {"path": path, "method": method, "operation_id": operation_id, "fault": fault}
        listed = self._calls(where, {"wait_for": number, "timeout_s": timeout_s, "limit": 1000})
        if len(listed) < min(number, 1000):
            message = f"the shop saw {len(listed)} of {number} calls {where} within {timeout_s} s"
            raise TimeoutError(message)
        return listed

    def books(self) -> Json:
        """Read all books: refunds, mails, labels, and counts of calls."""
        return self._ask("GET", "/books", wait_s=60.0)

    def order(self, order_id: str) -> Json | None:
        """Look at an order without a call being noted; None where there is none."""
        response = self._http.get(f"/books/orders/{quote(order_id, safe='')}")
        if response.status_code == httpx.codes.NOT_FOUND:
            return None
        return _read(response)

    def effects_of(self, operation_id: str, *, settle_s: float = 5.0) -> Json:
        """Look at what an operation left in the books: lists of refunds, mails and labels.

        Waits up to `settle_s` seconds while the operation may still have its effect; `pending` in
        the answer tells whether that is still so.
        """
        path = f"/books/effects/{quote(operation_id, safe='')}?timeout_s={settle_s}"
        return self._ask("GET", path, wait_s=settle_s)

    def _calls(self, where: dict[str, str | None], options: dict[str, float]) -> list[Json]:
        query: dict[str, str | float] = {**options}
        query |= {name: value for name, value in where.items() if value is not None}
        path = f"/calls?{httpx.QueryParams(query)}"
        listed: list[Json] = self._ask("GET", path, wait_s=options.get("timeout_s", 0))["calls"]
        return listed

    def _ask(self, method: str, path: str, body: Json | None = None, wait_s: float = 0.0) -> Json:
        timeout_s = ANSWER_TIMEOUT_S + wait_s
        if body is None:
            return _read(self._http.request(method, path, timeout=timeout_s))
        return _read(self._http.request(method, path, json=body, timeout=timeout_s))


def _read(response: httpx.Response) -> Json:
    if not response.is_success:
        message = f"the shop's desk answered {response.status_code}: {response.text[:300]}"
        raise httpx.HTTPStatusError(message, request=response.request, response=response)
    answer: Json = response.json()
    return answer
