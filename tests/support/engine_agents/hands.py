"""Tools of every effect class whose effects the shop's books, or one table of ours, can count.

Each stands once as ``def`` and once as ``async def``.  `IN_CALL` is where crash tests strike:
visited before a call leaves us and again once its answer is here.
"""

import os
from collections.abc import Callable
from typing import Any

import httpx
from django.db import connection

from runtime.core.errors import Permanent
from runtime.engine.ports import CrashPoint
from runtime.examples.aftersales import client
from runtime.tools.context import ToolContext
from runtime.tools.registry import tool

TIMEOUT_S = 10.0
LOCAL_TABLE = "engine_test_effect"
DEFERRED_TABLE = "engine_test_deferred"
TABLES = (
    f"CREATE TABLE IF NOT EXISTS {LOCAL_TABLE} (order_id text, attempt int)",
    f"CREATE TABLE IF NOT EXISTS {DEFERRED_TABLE} (order_id text UNIQUE INITIALLY DEFERRED)",
)


def _lives_on(_point: CrashPoint) -> None:
    """Do nothing unless a test says otherwise."""


class _Strike:
    """What happens inside calls; set in a worker before it starts."""

    at: Callable[[CrashPoint], None] = staticmethod(_lives_on)


STRIKE = _Strike()
_http: dict[int, httpx.Client] = {}


def shop() -> httpx.Client:
    """Give this process's connection to the shop, with no retries of its own."""
    pid = os.getpid()
    if pid not in _http:
        transport = httpx.HTTPTransport(retries=0, trust_env=False)
        address = os.environ[client.ADDRESS_VARIABLE]
        _http[pid] = httpx.Client(base_url=address, timeout=TIMEOUT_S, transport=transport)
    return _http[pid]


def ask(method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """Ask the shop; None for 404."""
    STRIKE.at(CrashPoint.IN_CALL)
    response = shop().request(method, path, json=body)
    STRIKE.at(CrashPoint.IN_CALL)
    if response.status_code == httpx.codes.NOT_FOUND:
        return None
    if response.is_client_error:
        raise Permanent(response.text)
    return response.raise_for_status().json()


def body_of(order_id: str, operation_id: str) -> dict[str, Any]:
    """Write a body that every counter of the shop takes."""
    money = {"amount_minor": 100, "currency": "EUR"}
    return {"order_id": order_id, "to": "a@b.example", "operation_id": operation_id, **money}


def find_label(operation_id: str) -> Any:
    """Tell whether a label was printed."""
    return ask("GET", f"/labels/by-operation/{operation_id}")


async def find_label_async(operation_id: str) -> Any:
    """Tell whether a label was printed."""
    return await client.find_label(operation_id)


@tool(effect="read", timeout_s=TIMEOUT_S)
def look(order_id: str) -> Any:
    """Look at an order."""
    return ask("GET", f"/orders/{order_id}")


@tool(effect="local", timeout_s=TIMEOUT_S)
def enter(order_id: str, *, ctx: ToolContext) -> int:
    """Write one row of our own."""
    STRIKE.at(CrashPoint.IN_CALL)
    with ctx.transaction(), connection.cursor() as cursor:
        statement = f"INSERT INTO {LOCAL_TABLE} (order_id, attempt) VALUES (%s, %s)"  # noqa: S608
        cursor.execute(statement, (order_id, ctx.attempt))
    STRIKE.at(CrashPoint.IN_CALL)
    return ctx.attempt


@tool(effect="keyed", timeout_s=TIMEOUT_S)
def refund(order_id: str, *, operation_id: str) -> Any:
    """Pay back: the shop pays once for each operation id."""
    return ask("POST", "/refunds", body_of(order_id, operation_id))


@tool(effect="checked", timeout_s=TIMEOUT_S, check=find_label)
def label(order_id: str, *, operation_id: str) -> Any:
    """Print a label: the shop can tell whether it did."""
    return ask("POST", "/labels", body_of(order_id, operation_id))


@tool(effect="once", timeout_s=TIMEOUT_S)
def mail(order_id: str, *, operation_id: str) -> Any:
    """Send a mail: one for each call."""
    return ask("POST", "/mails", body_of(order_id, operation_id))


@tool(effect="read", timeout_s=TIMEOUT_S)
async def look_async(order_id: str) -> Any:
    """Look at an order."""
    STRIKE.at(CrashPoint.IN_CALL)
    found = await client.get_order(order_id)
    STRIKE.at(CrashPoint.IN_CALL)
    return found


@tool(effect="keyed", timeout_s=TIMEOUT_S)
async def refund_async(order_id: str, *, operation_id: str) -> Any:
    """Pay back: the shop pays once for each operation id."""
    STRIKE.at(CrashPoint.IN_CALL)
    paid = await client.pay_refund(body_of(order_id, operation_id))
    STRIKE.at(CrashPoint.IN_CALL)
    return paid


@tool(effect="checked", timeout_s=TIMEOUT_S, check=find_label_async)
async def label_async(order_id: str, *, operation_id: str) -> Any:
    """Print a label: the shop can tell whether it did."""
    STRIKE.at(CrashPoint.IN_CALL)
    printed = await client.print_label(body_of(order_id, operation_id))
    STRIKE.at(CrashPoint.IN_CALL)
    return printed


@tool(effect="once", timeout_s=TIMEOUT_S)
async def mail_async(order_id: str, *, operation_id: str) -> Any:
    """Send a mail: one for each call."""
    STRIKE.at(CrashPoint.IN_CALL)
    sent = await client.send_mail(body_of(order_id, operation_id))
    STRIKE.at(CrashPoint.IN_CALL)
    return sent


HANDS = (
    look,
    enter,
    refund,
    label,
    mail,
    look_async,
    refund_async,
    label_async,
    mail_async,
)
