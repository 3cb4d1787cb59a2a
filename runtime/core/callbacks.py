"""Telling somebody outside that a task has ended: which addresses, which words, signed how.

Pure; `runtime.engine.courier` does the telling.  A signature covers the instant and the raw bytes,
never a re-written form of them; webhooks that come in are checked in the same way.
"""

import hmac
import ipaddress
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from runtime.core.errors import WrongUsage, clean_text

HEADER: Final = "X-Signature"
LONGEST_URL: Final = 2000
TOLERANCE_S: Final = 300.0
MOST_ATTEMPTS: Final = 12
_FIRST_S: Final = 5.0
_CAP_S: Final = 3600.0
_HOST: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?\.?")
_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
_LOCAL_NAMES: Final = frozenset({"localhost"})

type Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(eq=False)
class CallbackRefused(WrongUsage):
    """Nobody will be told under this address."""

    url: str
    why: str

    code = "callback_refused"
    sentence = "The callback address '{url}' is refused: {why}."


@dataclass(frozen=True, slots=True)
class Target:
    """A callback address taken apart.

    Args:
        origin: Scheme, host and port, as the receiver knows itself.
        host: Name or address, without brackets.
        port: The TCP port.
        path: Path and query, as they stand in the request line.
    """

    scheme: str
    host: str
    port: int
    path: str


def target(url: str, *, local: bool) -> Target:
    """Take an address apart and refuse what is never called.

    Only ``https`` leaves this machine.  With `local`, a receiver on this machine may be called by
    ``http`` too; other private networks never are.

    Args:
        url: The address.
        local: Whether receivers on this machine are allowed.

    Raises:
        CallbackRefused: The address is not one, or not allowed.
    """
    parts, port = _split(url)
    host = parts.hostname or ""
    here = is_here(host)
    if here and not local:
        raise CallbackRefused(url, "receivers on this machine are not allowed here")
    if not here and parts.scheme != "https":
        raise CallbackRefused(url, "a receiver outside this machine needs https")
    literal = address(host)
    if literal is not None and not callable_address(literal, local=local):
        raise CallbackRefused(url, "it lies in a private network")
    if literal is None and _HOST.fullmatch(host) is None:
        raise CallbackRefused(url, "its host is no name and no address")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, host, port or (443 if parts.scheme == "https" else 80), path)


def _split(url: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 (urllib's own private type)
    if len(url) > LONGEST_URL:
        raise CallbackRefused(url[:100], f"it is longer than {LONGEST_URL} characters")
    if clean_text(url) != url or not url.isascii() or any(sign <= " " for sign in url):
        raise CallbackRefused(url, "it holds blanks or characters outside ASCII")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise CallbackRefused(url, "it is no address") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise CallbackRefused(url, "it does not start with https://")
    if "@" in parts.netloc:
        raise CallbackRefused(url, "it holds a name or password")
    if port == 0:
        raise CallbackRefused(url, "its port is 0")
    return parts, port


def is_here(host: str) -> bool:
    """Tell whether a host names this machine."""
    literal = address(host)
    return host.lower().rstrip(".") in _LOCAL_NAMES or bool(literal and literal.is_loopback)


def address(host: str) -> Address | None:
    """Read an IP address; IPv4 inside IPv6 counts as what it is; None for a name."""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return None
    inside = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return inside or found


def callable_address(found: Address, *, local: bool) -> bool:
    """Tell whether an address may be called: a public one, or this machine if that is allowed."""
    if found.is_loopback:
        return local
    if isinstance(found, ipaddress.IPv6Address):
        # Tunnels carry an IPv4 address of anybody's choice inside.
        tunnel = found.sixtofour or found.teredo
        return found in _UNICAST and found.is_global and not tunnel
    return found.is_global and not found.is_multicast


def news(  # noqa: PLR0913 (the parts of one message)
    *,
    task_id: UUID,
    namespace: str,
    agent: str,
    key: str | None,
    state: str,
    reason: str | None,
    finished_at: datetime,
) -> bytes:
    """Give the body that is posted: the same bytes at every attempt; results are fetched."""
    body = {
        "type": "task.ended",
        "task": {
            "id": str(task_id),
            "namespace": namespace,
            "agent": agent,
            "key": key,
            "state": state,
            "outcome_reason": reason,
            "finished_at": finished_at.isoformat(),
        },
    }
    return json.dumps(body, separators=(",", ":")).encode()


def sign(secrets: Sequence[str], at_s: int, body: bytes) -> str:
    """Give the header's value: ``t=<seconds>,v1=<hex>``, one ``v1`` for each secret.

    Args:
        secrets: The valid ones; two while one is being exchanged.
        at_s: Now, in seconds since 1970.
        body: The raw bytes that are sent.
    """
    return ",".join([f"t={at_s}", *(f"v1={_mac(secret, at_s, body)}" for secret in secrets)])


def holds(header: str, secrets: Sequence[str], body: bytes, now_s: float) -> bool:
    """Tell whether a signature is by one of the secrets, over these bytes, and not old.

    Args:
        header: The value of the header.
        secrets: The valid ones.
        body: The raw bytes that came.
        now_s: Now, in seconds since 1970.
    """
    pairs = [part.strip().partition("=")[::2] for part in header.split(",")]
    stamps = [value for name, value in pairs if name == "t"]
    if len(stamps) != 1 or not re.fullmatch("[0-9]{1,12}", stamps[0]):
        return False
    at_s = int(stamps[0])
    if abs(now_s - at_s) > TOLERANCE_S:
        return False
    given = [value.encode() for name, value in pairs if name == "v1"]
    wanted = [_mac(secret, at_s, body).encode() for secret in secrets]
    return any([hmac.compare_digest(one, other) for one in given for other in wanted])  # noqa: C419 (all are compared, so that time tells nothing)


def _mac(secret: str, at_s: int, body: bytes) -> str:
    return hmac.digest(secret.encode(), b"%d." % at_s + body, "sha256").hex()


def pause_s(attempt: int, dice: float) -> float | None:
    """Give the pause after an attempt that failed; None when it was the last.

    Args:
        attempt: How many were made, from 1 on.
        dice: A number in [0, 1): half of the pause is left to chance.
    """
    if attempt >= MOST_ATTEMPTS:
        return None
    whole: float = min(_FIRST_S * 2.0 ** (attempt - 1), _CAP_S)
    return whole * (0.5 + dice / 2)
