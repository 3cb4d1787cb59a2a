"""The courier: tells receivers outside that their task has ended, until they have taken it.

It runs beside the sweep, in a thread of its own, so that a slow receiver delays no sweep.  At
least once: a receiver that answered while we died is told again, under the same delivery id.
"""

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx
from django.conf import settings

from runtime.core.callbacks import (
    HEADER,
    CallbackRefused,
    Target,
    address,
    callable_address,
    news,
    pause_s,
    sign,
    target,
)
from runtime.core.errors import safe_text
from runtime.engine.ports import Ports
from runtime.store import callbacks
from runtime.store.callbacks import Due
from runtime.store.session import AGAIN, LOST, forget_connection

_LOG = logging.getLogger("runtime.courier")
_LONGEST_FAILURE: Final = 300


@dataclass(frozen=True, slots=True)
class CourierOptions:
    """How deliveries are made.

    Args:
        secrets: What they are signed with.
        local: Whether receivers on this machine are allowed.
        timeout_s: Seconds one delivery may take from name to answer.
        batch: Deliveries at once.
    """

    secrets: tuple[str, ...]
    local: bool
    timeout_s: float = 10.0
    batch: int = 16

    @classmethod
    def from_settings(cls) -> "CourierOptions":
        """Build the options from Django's settings."""
        return cls(settings.SIGNALBOX_CALLBACK_SECRETS, settings.SIGNALBOX_CALLBACKS_LOCAL)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one delivery: the answer's status if there was one, and what was wrong."""

    answer: int | None
    failure: str = ""


class Courier:
    """Rounds of deliveries.

    Args:
        ports: The dice of the pauses.
        options: How deliveries are made.
    """

    EVERY_S = 1.0

    def __init__(self, ports: Ports, options: CourierOptions) -> None:
        """Nothing is sent before the first round."""
        self._ports = ports
        self._options = options
        self._stop = threading.Event()

    def run(self) -> None:
        """Deliver until stopped; a database that is away is waited for."""
        while not self._stop.is_set():
            busy = 0
            try:
                busy = self.run_once()
            except AGAIN:
                pass
            except LOST as error:
                _LOG.warning("deliveries were interrupted: %s", error)
                forget_connection()
            except Exception:  # noqa: BLE001 (whatever it is, receivers wait for the next round)
                _LOG.exception("a round of deliveries failed; the next one goes on")
            if busy < self._options.batch:
                # Also after a failure: a broken round must not spin.
                self._stop.wait(self.EVERY_S)

    def stop(self) -> None:
        """End after the present round."""
        self._stop.set()

    def run_once(self) -> int:
        """Deliver what is due; gives how many were tried.

        Raises:
            psycopg.Error: The database is away; what was taken is due again later.
        """
        taken = callbacks.take(self._options.batch, self._options.timeout_s * 3)
        if taken:
            outcomes = asyncio.run(_all(taken, self._options))
            for one, outcome in zip(taken, outcomes, strict=True):
                self._settle(one, outcome)
        return len(taken)

    def _settle(self, one: Due, outcome: Outcome) -> None:
        if not outcome.failure:
            callbacks.delivered(one, outcome.answer or 0)
            return
        again_in_s = pause_s(one.attempt, self._ports.chance.random())
        if again_in_s is None:
            _LOG.warning("task %s: its receiver is given up: %s", one.task_id, outcome.failure)
        callbacks.failed(one, outcome.answer, outcome.failure, again_in_s)


async def _all(taken: Sequence[Due], options: CourierOptions) -> list[Outcome]:
    # No proxy of the environment: it would resolve names itself, and reach what we must not.
    async with httpx.AsyncClient(trust_env=False, timeout=options.timeout_s) as client:
        return await asyncio.gather(*(_deliver(client, one, options) for one in taken))


async def _deliver(client: httpx.AsyncClient, one: Due, options: CourierOptions) -> Outcome:
    try:
        async with asyncio.timeout(options.timeout_s):
            goal = target(one.url, local=options.local)
            ip = await _resolve(one.url, goal, local=options.local)
            return await _post(client, one, goal, ip, options)
    except TimeoutError:
        return Outcome(None, f"no answer within {options.timeout_s:g} s")
    except Exception as error:  # noqa: BLE001 (one receiver's oddity must not stop the others)
        return Outcome(None, safe_text(error, _LONGEST_FAILURE) or type(error).__name__)


async def _resolve(url: str, goal: Target, *, local: bool) -> str:
    """Look a name up and refuse it if any of its addresses may not be called."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(goal.host, goal.port, type=socket.SOCK_STREAM)
    ips = [str(info[4][0]) for info in found]
    known = [address(ip.partition("%")[0]) for ip in ips]
    if not ips or not all(ip is not None and callable_address(ip, local=local) for ip in known):
        raise CallbackRefused(url, "its name leads into a private network")
    return ips[0]


async def _post(
    client: httpx.AsyncClient, one: Due, goal: Target, ip: str, options: CourierOptions
) -> Outcome:
    body = news(
        task_id=one.task_id,
        namespace=one.namespace,
        agent=one.agent,
        key=one.key,
        state=one.state,
        reason=one.reason,
        finished_at=one.finished_at,
    )
    # The address that was checked is the one that is called; the name stays in Host and in TLS.
    shown = f"[{ip}]" if ":" in ip else ip
    host = f"[{goal.host}]" if ":" in goal.host else goal.host
    headers = {
        "Host": f"{host}:{goal.port}" if goal.port not in {80, 443} else host,
        "Content-Type": "application/json",
        "User-Agent": "signalbox",
        "X-Signalbox-Delivery": str(one.task_id),
        "X-Signalbox-Attempt": str(one.attempt),
        HEADER: sign(options.secrets, int(time.time()), body),
    }
    extensions: dict[str, Any] = {"sni_hostname": goal.host} if goal.scheme == "https" else {}
    request = client.build_request(
        "POST",
        f"{goal.scheme}://{shown}:{goal.port}{goal.path}",
        content=body,
        headers=headers,
        extensions=extensions,
    )
    # The answer's body is not read: its status is all that counts.
    answer = await client.send(request, stream=True, follow_redirects=False)
    await answer.aclose()
    if answer.is_success:
        return Outcome(answer.status_code)
    return Outcome(answer.status_code, f"the receiver answered {answer.status_code}")
