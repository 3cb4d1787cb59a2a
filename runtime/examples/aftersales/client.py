"""The agent's way to the shop: HTTP with no retries of its own, and honest errors.

Says of each failure what is known about it: nothing was sent (`Retryable`), it was refused
(`Permanent`), nobody knows (`Ambiguous`). The tools in `agents.py` call it; what to do next is
the engine's to decide.
"""

import asyncio
import json
import os
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import quote
from weakref import WeakKeyDictionary

import httpx

from runtime.core.errors import Ambiguous, Permanent, Retryable
from runtime.core.retry import retry_after_s

type Json = dict[str, Any]

ADDRESS_VARIABLE = "SIGNALBOX_SHOP_URL"
TIMEOUT = httpx.Timeout(connect=2.0, read=15.0, write=5.0, pool=5.0)
#: Many tasks share a worker's loop; few calls are on the wire at once.
LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=50, keepalive_expiry=5.0)
#: No downstream may ask for a longer pause than this.
MAX_PAUSE_S = 3600.0

_NOTHING_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_TOO_EARLY = 425
_TOO_MANY = 429

_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[str, httpx.AsyncClient]] = (
    WeakKeyDictionary()
)


async def get_order(order_id: str) -> Json | None:
    """Look up one order; None where there is no such order."""
    return await _look_up(f"/orders/{_quoted(order_id)}")


async def get_entitlement(order_id: str) -> Json | None:
    """Ask whether an order may still be refunded; None where there is no such order."""
    return await _look_up(f"/orders/{_quoted(order_id)}/entitlement")


async def pay_refund(body: Json) -> Json:
    """Pay back a part of an order, once for each `operation_id` in the body."""
    return await _send("POST", "/refunds", body)


async def send_mail(body: Json) -> Json:
    """Send a mail; the shop sends one for each call."""
    return await _send("POST", "/mails", body)


async def print_label(body: Json) -> Json:
    """Print a return label; the shop prints one for each call."""
    return await _send("POST", "/labels", body)


async def find_label(operation_id: str) -> Json | None:
    """Look up the labels an operation printed; None where it printed none."""
    return await _look_up(f"/labels/by-operation/{_quoted(operation_id)}")


async def _look_up(path: str) -> Json | None:
    response = await _exchange("GET", path, None)
    if response.status_code == httpx.codes.NOT_FOUND:
        return None
    return _read(response, "GET")


async def _send(method: Literal["POST"], path: str, body: Json) -> Json:
    return _read(await _exchange(method, path, body), method)


async def _exchange(method: str, path: str, body: Json | None) -> httpx.Response:
    """Send one request and read the answer to its end.

    Raises:
        Retryable: nothing was sent, or it was a read.
        Ambiguous: a write left us and its answer did not arrive.
        Permanent: it could not be written down as a request.
    """
    # ASCII JSON holds whatever a text may hold, also lone surrogates.
    content = None if body is None else json.dumps(body).encode("ascii")
    headers = {"content-type": "application/json"} if content is not None else {}
    try:
        return await _client().request(method, path, content=content, headers=headers)
    except _NOTHING_SENT as error:
        message = f"the shop cannot be reached, nothing was sent ({type(error).__name__})"
        raise Retryable(message) from error
    except (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
        message = f"this is no request the shop could be sent ({type(error).__name__})"
        raise Permanent(message) from error
    except httpx.HTTPError as error:
        message = f"the shop did not answer {method} {path} ({type(error).__name__})"
        raise _unclear(method, message) from error


def _read(response: httpx.Response, method: str) -> Json:
    """Take the answer's JSON, or raise what its status means."""
    if not response.is_success:
        raise _refusal(response, method)
    try:
        value = response.json()
    except ValueError as error:
        message = f"the shop's answer to {method} {response.url.path} cannot be read"
        raise _unclear(method, message) from error
    if not isinstance(value, dict):
        message = f"the shop's answer to {method} {response.url.path} is no object"
        raise _unclear(method, message)
    return value


def _refusal(response: httpx.Response, method: str) -> Exception:
    status = response.status_code
    message = f"the shop answered {status}: {_detail(response)}"
    if status in {_TOO_MANY, _TOO_EARLY}:
        return Retryable(message, _pause_s(response))
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        # A server that fails may have failed after the work was done.
        return _unclear(method, message, _pause_s(response))
    return Permanent(message)


def _unclear(method: str, message: str, after_s: float | None = None) -> Exception:
    """Judge a call without a clear answer: a read is harmless, a write may have happened."""
    return Retryable(message, after_s) if method == "GET" else Ambiguous(message)


def _pause_s(response: httpx.Response) -> float | None:
    header = response.headers.get("retry-after")
    return retry_after_s(header, datetime.now(UTC), MAX_PAUSE_S)


def _detail(response: httpx.Response) -> str:
    try:
        return str(response.json()["detail"])[:300]
    except (ValueError, KeyError, TypeError):
        return response.reason_phrase


def _quoted(text: str) -> str:
    try:
        # Dots too: `..` alone would be read as a step up in the path.
        return quote(text, safe="").replace(".", "%2E")
    except UnicodeEncodeError as error:
        message = "an id with a lone surrogate cannot stand in an address"
        raise Permanent(message) from error


def _client() -> httpx.AsyncClient:
    """Return this event loop's client, with its open connections."""
    address = os.environ.get(ADDRESS_VARIABLE, "")
    if not address:
        message = f"the shop's address is not set: start the shop and set {ADDRESS_VARIABLE}"
        raise Retryable(message)
    loop = asyncio.get_running_loop()
    known = _clients.get(loop)
    if known is not None and known[0] == address:
        return known[1]
    client = httpx.AsyncClient(
        base_url=address,
        timeout=TIMEOUT,
        transport=httpx.AsyncHTTPTransport(retries=0, limits=LIMITS, trust_env=False),
        trust_env=False,
        follow_redirects=False,
    )
    _clients[loop] = (address, client)
    return client


async def close() -> None:
    """Close this event loop's connections to the shop; the next call opens new ones."""
    known = _clients.pop(asyncio.get_running_loop(), None)
    if known is not None:
        await known[1].aclose()
