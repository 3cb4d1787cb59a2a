"""Victims of crash tests: workers that die, or stand still, at one visit of one crash point.

Each has a task and a queue of its own; a task looks, does one thing, and looks again.  `rescue`
brings all of them to their end with one healthy worker and a sweep.
"""

import signal
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from runtime.engine.ports import CrashPoint as P
from runtime.examples.aftersales.control import ShopDesk
from tests.support.engine import Fork, Row, Site, eventually
from tests.support.engine_crash import Case, DieAt, Visits
from tests.support.engine_shop import order, orders

AT_ONCE = 4
IN_OTHER_THREADS = [Case(P.BEFORE_RENEWAL, 1), Case(P.AFTER_RENEWAL, 1)]
AT_RELEASE = [Case(P.BEFORE_RELEASE, 1), Case(P.AFTER_RELEASE, 1)]


@dataclass
class Victim:
    """One case of the matrix under way."""

    case: Case
    order_id: str
    task: UUID
    queue: str
    crash: DieAt
    fork: Fork | None = None


def cases_of(site: Site, desk: ShopDesk, hand: str) -> list[Case]:
    """Find every visit of every point by watching one task that nobody kills."""
    visits = Visits()
    task = site.submit("test-hand", {"hand": hand, "order_id": order(desk)})
    watched = site.worker(crash=visits)
    site.settle(task)
    watched.stop()
    on_the_way = [
        Case(point, visit)
        for point in P
        if point not in {P.BEFORE_CLAIM, P.BEFORE_RENEWAL, P.AFTER_RENEWAL}
        for visit in range(1, visits.of(point) + 1)
    ]
    return [Case(P.BEFORE_CLAIM, 1), *on_the_way, *IN_OTHER_THREADS, *AT_RELEASE]


def victims_of(  # noqa: PLR0913 - who, where, what, and two ways of falling
    site: Site,
    desk: ShopDesk,
    hand: str,
    cases: list[Case],
    *,
    blind: bool = False,
    number: int = signal.SIGKILL,
) -> list[Victim]:
    """Create a task in a queue of its own for each case, and let its worker fall there."""
    victims = []
    for place, (case, order_id) in enumerate(zip(cases, orders(desk, len(cases)), strict=True)):
        queue = f"{hand}-{place}"
        task = site.submit("test-hand", {"hand": hand, "order_id": order_id}, queue=queue)
        crash = DieAt(
            case,
            number=number,
            blind=blind,
            stand_still_in_call=case in IN_OTHER_THREADS,
            drain_at_commit=2 if case in AT_RELEASE else None,
        )
        victims.append(Victim(case, order_id, task, queue, crash))
    for victim in victims:
        eventually(lambda: len(_alive(victims)) < AT_ONCE)
        victim.fork = site.worker(
            crash=victim.crash, prepare_worker=victim.crash.prepare, queues=(victim.queue,)
        )
    eventually(lambda: not _alive(victims), what=lambda: [str(one.case) for one in _alive(victims)])
    return victims


def _alive(victims: list[Victim]) -> list[Victim]:
    alive = [victim for victim in victims if victim.fork and not victim.fork.ended()]
    return [victim for victim in alive if victim.fork and not victim.fork.stands_still()]


def rescue(site: Site, victims: Iterable[Victim]) -> dict[UUID, Row]:
    """Let one worker and a sweep bring the victims' tasks to their end."""
    victims = list(victims)
    site.worker(queues=tuple(victim.queue for victim in victims))
    rows = site.settle(*(victim.task for victim in victims), sweep=True, timeout_s=60)
    site.check(*(row.id for row in rows))
    return {row.id: row for row in rows}
