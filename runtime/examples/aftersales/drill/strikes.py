"""Carries faults out: each is a script that does something, waits, and puts things right again.

A script yields the seconds until its next part, so that many faults can be under way at once.
`play.py` drives them on its one thread.
"""

import signal
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import redis
from django.conf import settings

from runtime.actors.broker import BrokerHints
from runtime.examples.aftersales.control import ShopDesk
from runtime.examples.aftersales.drill.faults import Fault, Kind
from runtime.examples.aftersales.drill.recovery import Recoveries
from runtime.examples.aftersales.drill.servers import Servers, StopMode
from runtime.examples.aftersales.stage import Child, Stage

type Script = Generator[float]

TICK_S = 0.05
#: A pause lasts so many leases at least, so that the pause is seen as a death.
PAUSE_LEASES = 1.5
TERM_GRACE_S = 40.0
OUTAGE_S = 2.0
#: Messages vanish, or come twice, for so long.
SPELL_S = 1.0
STOLEN_AT_ONCE = 100


@dataclass
class Field:
    """What faults can reach."""

    stage: Stage
    servers: Servers
    desk: ShopDesk
    recoveries: Recoveries
    queue: str
    lease_s: float
    tell: Callable[[str], None]
    #: Children that are down or still on purpose, so that nobody starts them again.
    absent: set[str] = field(default_factory=set)
    #: Those of them that stand still.
    still: set[str] = field(default_factory=set)

    def present(self, prefix: str) -> list[Child]:
        """List the children of this kind that run and are left alone by other faults."""
        return [
            child
            for name, child in self.stage.children.items()
            if name.startswith(prefix) and name not in self.absent and child.status is None
        ]

    def pick(self, fault: Fault, prefix: str = "worker") -> Child | None:
        """Choose one of them by the fault's dice."""
        found = self.present(prefix)
        return found[int(fault.pick * len(found))] if found else None


def script(at: Field, fault: Fault) -> Script:
    """Give the script of a fault."""
    return _SCRIPTS[fault.kind](at, fault)


# --- processes ------------------------------------------------------------------------------------


def _kill(at: Field, fault: Fault) -> Script:
    if fault.variant == "all":
        victims = at.present("worker")
    else:
        prefix = "sweep" if fault.variant == "sweep" else "worker"
        victims = [child for child in [at.pick(fault, prefix)] if child is not None]
    for child in victims:
        at.absent.add(child.name)
        at.recoveries.before(child.pid)
    for child in victims:
        child.kill()
        at.recoveries.struck(child.pid)
    at.tell(f"{_names(victims)} killed")
    yield fault.strength * OUTAGE_S
    for child in victims:
        child.start()
        at.absent.discard(child.name)


def _terminate(at: Field, fault: Fault) -> Script:
    child = at.pick(fault)
    if child is None:
        return
    at.absent.add(child.name)
    at.recoveries.before(child.pid)
    child.terminate()
    at.recoveries.struck(child.pid)
    at.tell(f"{child.name} told to end")
    waited_s = 0.0
    while child.status is None and waited_s < TERM_GRACE_S:
        yield TICK_S
        waited_s += TICK_S
    if child.status is None:
        at.tell(f"{child.name} did not end in {TERM_GRACE_S:.0f} s and is killed")
        child.kill()
    child.start()
    at.absent.discard(child.name)


def _pause(at: Field, fault: Fault) -> Script:
    child = at.pick(fault)
    if child is None:
        return
    at.absent.add(child.name)
    at.recoveries.before(child.pid)
    at.still.add(child.name)
    child.signal(signal.SIGSTOP)
    at.recoveries.struck(child.pid)
    length_s = at.lease_s * (PAUSE_LEASES + fault.strength)
    at.tell(f"{child.name} stands still for {length_s:.1f} s")
    try:
        yield length_s
    finally:
        child.signal(signal.SIGCONT)
        at.absent.discard(child.name)
        at.still.discard(child.name)


# --- servers --------------------------------------------------------------------------------------


def _break_database(at: Field, fault: Fault) -> Script:
    modes: dict[str, StopMode] = {"fast": "fast", "immediate": "immediate"}
    if fault.variant in modes:
        at.servers.restart_postgres(modes[fault.variant])
        at.tell(f"PostgreSQL restarted ({fault.variant})")
    else:
        at.servers.kill_postgres()
        at.tell("PostgreSQL killed")
        try:
            yield fault.strength * OUTAGE_S
        finally:
            at.servers.start_postgres()
    at.recoveries.database_is_back()


def _break_valkey(at: Field, fault: Fault) -> Script:
    if fault.variant == "flush":
        with _valkey(settings.VALKEY_URL) as client:
            client.flushall()
        at.tell("Valkey emptied")
        return
    at.servers.kill_valkey()
    at.tell("Valkey killed")
    try:
        yield fault.strength * OUTAGE_S
    finally:
        at.servers.start_valkey()


def _steal(at: Field, fault: Fault) -> Script:
    """Take messages away before a worker gets them."""
    stolen = 0
    for _ in range(int((SPELL_S + fault.strength) / TICK_S)):
        with suppress(redis.RedisError), _valkey(settings.BROKER_URL) as client:
            stolen += _lose_messages(client, f"dramatiq:{at.queue}")
        yield TICK_S
    at.tell(f"{stolen} messages lost")


def _lose_messages(client: Any, key: str) -> int:
    ids = client.lpop(key, STOLEN_AT_ONCE) or []
    if ids:
        client.hdel(f"{key}.msgs", *ids)
    return len(ids)


def _double(at: Field, fault: Fault) -> Script:
    """Call workers for tasks again and again, whatever these wait for."""
    hints, sent = BrokerHints(), 0
    for _ in range(int((SPELL_S + fault.strength) / TICK_S)):
        for task_id in at.recoveries.some_tasks(fault.pick):
            for _ in range(2):
                hints.work(at.queue, task_id)
                sent += 1
        yield TICK_S
    at.tell(f"{sent} messages doubled")


def _valkey(url: str) -> Any:
    """Connect; untyped, because the client promises text where bytes come."""
    return redis.Redis.from_url(url, socket_timeout=5)


# --- the shop -------------------------------------------------------------------------------------


def _downstream(at: Field, fault: Fault) -> Script:
    """Order trouble at the shop; it ends by itself, after so many calls."""
    many, few = 3 + int(fault.strength * 8), 1 + int(fault.strength * 2)
    post = {"method": "POST", "count": few}
    orders: dict[str, list[tuple[str, str, dict[str, Any]]]] = {
        "slow": [("slow", "/", {"count": many, "seconds": 1 + 2 * fault.strength})],
        "lose": [("lose_answer", "/refunds", post), ("lose_answer", "/mails", post)],
        "fail": [("fail", "/orders", {"count": few + 1}), ("fail", "/refunds", post)],
        "refuse": [("refuse", "/orders", {"count": few}), ("refuse", "/mails", post)],
        "limit": [("rate_limit", "/", {"count": few + 1, "retry_after": 1})],
        "hang": [("hang", "/orders", {"count": 1}), ("fail", "/mails", post)],
    }
    with suppress(httpx.HTTPError):
        for kind, path, fields in orders[fault.variant]:
            at.desk.order_fault(kind, path, **fields)
        at.tell(f"the shop will {fault.variant}")
    yield 0.0


_SCRIPTS: dict[Kind, Callable[[Field, Fault], Script]] = {
    Kind.WORKER: _kill,
    Kind.TERM: _terminate,
    Kind.PAUSE: _pause,
    Kind.DATABASE: _break_database,
    Kind.VALKEY: _break_valkey,
    Kind.BROKER: _steal,
    Kind.DUPLICATE: _double,
    Kind.DOWNSTREAM: _downstream,
}


def _names(victims: list[Child]) -> str:
    return " and ".join(child.name for child in victims) or "nobody"
