"""Handing a claimed task to a person when the engine itself cannot go on with it."""

from functools import partial

from runtime.core import commands as c
from runtime.core.errors import SignalboxError
from runtime.core.reviews import Kind
from runtime.engine.loading import sit_down
from runtime.engine.ports import Ports
from runtime.store import claims
from runtime.store.claims import Claimed
from runtime.store.session import patiently


def hand_over(ports: Ports, claimed: Claimed, why: str) -> None:
    """Have a person look at a task as it stands in the database, whatever we had in memory."""
    anew = claims.reread(claimed)
    if anew is None:
        return
    try:
        desk = sit_down(ports, anew, "system")
        desk.write(desk.decide(c.Escalate(Kind.RETRIES_EXHAUSTED, why)))
    except SignalboxError:
        give_up_on(ports, anew, why)


def give_up_on(ports: Ports, claimed: Claimed, why: str) -> None:
    """Have a person look at a task that cannot be loaded: neither checkpoint nor events serve."""
    now = ports.clock.now()
    if not patiently(partial(claims.give_up_on, claimed.holder, why, ports.chance, now)):
        # Somebody is asked already, or it is not ours any more.
        patiently(partial(claims.release, claimed.holder, claimed.attention))
