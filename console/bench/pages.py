"""Asks every page of a real web process again and again, and the database what that cost."""

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import httpx
from django.db import connection
from django.test import Client

from console.bench.addresses import Address, addresses, deeper
from console.bench.web import signed_in, web_process

LISTS: Final = ("/tasks/", "/tasks/?state=done", "/tasks/?state=failed")
_TIMEOUT_S: Final = 60.0
_READ: Final = """
SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)
     + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes),
       (SELECT sum(calls) FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_%')
"""


def measure_pages(
    samples: Mapping[str, str], runs: int, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Ask every page; see `runtime.bench.dashboard.AskPages`.

    Gives ``pages`` and ``p50`` in milliseconds; of one answer of each the ``statements`` and
    ``rows_read`` (rows of tables read through, and entries of indexes); and ``broken``: pages that
    did not answer with 200.
    """
    times_ms: dict[str, list[float]] = {}
    broken: dict[str, int] = {}
    costs: dict[str, tuple[int, int]] = {}
    with web_process() as web, _client(web.address) as client:
        wanted = addresses(samples)
        wanted += _deeper(client, wanted, samples["middle"])
        browser = _browser()
        for one in wanted:
            status = client.get(one.path).status_code
            if status != httpx.codes.OK:
                broken[one.name] = status
                continue
            costs[one.name] = _cost(browser, one.path)
        for number in range(runs):
            for one in wanted:
                if one.name in costs:
                    times_ms.setdefault(one.name, []).append(_ask(client, one.path))
            tell(f"run {number + 1} of {runs}")
    p95 = {name: _p95(values) for name, values in times_ms.items()}
    return {
        "pages": dict(sorted(p95.items(), key=lambda item: -item[1])),
        "p50": {name: round(statistics.median(values), 1) for name, values in times_ms.items()},
        "statements": {name: cost[1] for name, cost in costs.items()},
        "rows_read": {name: cost[0] for name, cost in costs.items()},
        "broken": broken,
    }


def _client(address: str) -> httpx.Client:
    return httpx.Client(base_url=address, cookies=signed_in(), timeout=_TIMEOUT_S)


def _deeper(client: httpx.Client, wanted: list[Address], middle: str) -> list[Address]:
    found = []
    for one in wanted:
        if one.name in LISTS:
            path = deeper(one.path, client.get(one.path).text, middle)
            if path is None:
                continue
            found.append(Address(f"{one.name} (far down)", path))
            back = path.replace("cursor=", "before=")
            found.append(Address(f"{one.name} (back from far down)", back))
    return found


def _ask(client: httpx.Client, path: str) -> float:
    began_s = time.perf_counter()
    client.get(path)
    return (time.perf_counter() - began_s) * 1000


def _cost(browser: Client, path: str) -> tuple[int, int]:
    """Give the rows that one answer reads, and its statements; asked in this process.

    The web's own sessions live on and leave their figures when they please.
    """
    before = _read()
    browser.get(path)
    after = _read()
    return after[0] - before[0], after[1] - before[1]


def _read() -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT 1 AS pg_stat_flushed")
        cursor.execute(_READ)
        rows, calls = cursor.fetchone()
    return int(rows), int(calls)


def _browser() -> Client:
    with connection.cursor() as cursor:
        cursor.execute("SET stats_fetch_consistency = none")
        cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    browser = Client(SERVER_NAME="127.0.0.1")
    for name, value in signed_in().items():
        browser.cookies[name] = value
    return browser


def _p95(values: list[float]) -> float:
    ordered = sorted(values)
    return round(ordered[max(0, -(-95 * len(ordered) // 100) - 1)], 1)
