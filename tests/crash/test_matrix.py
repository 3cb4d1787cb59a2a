"""SIGKILL at every crash point, for every effect class: what the books say afterwards.

A task looks, does one thing, and looks again.  Victims die at the n-th visit of a point; then one
worker and a sweep bring all of them to their end.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

import pytest

from runtime.engine.ports import CrashPoint as P
from runtime.examples.aftersales.control import ShopDesk
from tests.support.engine import Fork, Row, Site, eventually
from tests.support.engine_crash import Case, DieAt, Visits
from tests.support.engine_shop import count_effects, order, orders

READS = ["look", "look_async"]
ONCE = ["mail", "mail_async"]
EXACT = ["enter", "refund", "refund_async", "label", "label_async"]
HANDS = [*READS, *EXACT, *ONCE]
AT_ONCE = 4
_IN_OTHER_THREADS = [Case(P.BEFORE_RENEWAL, 1), Case(P.AFTER_RENEWAL, 1)]
_AT_RELEASE = [Case(P.BEFORE_RELEASE, 1), Case(P.AFTER_RELEASE, 1)]


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
    return [Case(P.BEFORE_CLAIM, 1), *on_the_way, *_IN_OTHER_THREADS, *_AT_RELEASE]


def victims_of(
    site: Site, desk: ShopDesk, hand: str, cases: list[Case], *, blind: bool = False
) -> list[Victim]:
    """Create a task in a queue of its own for each case, and let its worker die there."""
    victims = []
    for number, (case, order_id) in enumerate(zip(cases, orders(desk, len(cases)), strict=True)):
        queue = f"{hand}-{number}"
        task = site.submit("test-hand", {"hand": hand, "order_id": order_id}, queue=queue)
        crash = DieAt(
            case,
            blind=blind,
            stand_still_in_call=case in _IN_OTHER_THREADS,
            drain_at_commit=2 if case in _AT_RELEASE else None,
        )
        victims.append(Victim(case, order_id, task, queue, crash))
    for victim in victims:
        eventually(lambda: len(_alive(victims)) < AT_ONCE)
        victim.fork = site.worker(
            crash=victim.crash, prepare_worker=victim.crash.prepare, queues=(victim.queue,)
        )
    for victim in victims:
        assert victim.fork is not None
        assert victim.fork.wait() == -9, f"{victim.case} was never visited"
    return victims


def _alive(victims: list[Victim]) -> list[Victim]:
    return [victim for victim in victims if victim.fork and not victim.fork.ended()]


def rescue(site: Site, victims: Iterable[Victim]) -> dict[UUID, Row]:
    """Let one worker and a sweep bring the victims' tasks to their end."""
    victims = list(victims)
    site.worker(queues=tuple(victim.queue for victim in victims))
    rows = site.settle(*(victim.task for victim in victims), sweep=True, timeout_s=60)
    site.check(*(row.id for row in rows))
    return {row.id: row for row in rows}


@pytest.mark.parametrize("hand", HANDS)
def test_a_kill_at_any_point_repeats_no_effect_and_loses_none(
    hand: str, site: Site, desk: ShopDesk
) -> None:
    victims = victims_of(site, desk, hand, cases_of(site, desk, hand))

    rows = rescue(site, victims)

    counted = count_effects(desk, hand)
    for victim in victims:
        row, effects = rows[victim.task], counted.get(victim.order_id, 0)
        seen = f"{hand} {victim.case}: {row.state}, {effects} effects, {site.story(victim.task)}"
        if hand in ONCE and row.state == "waiting_human":
            assert effects <= 1, seen
            assert site.asks(victim.task) == "in_doubt", seen
        else:
            assert row.state == "terminated_success", seen
            assert effects == (0 if hand in READS else 1), seen


@pytest.mark.parametrize("hand", HANDS)
def test_when_the_witness_dies_too_the_sweep_finds_out_by_itself(
    hand: str, site: Site, desk: ShopDesk
) -> None:
    """As the loss of a whole machine: nobody is accused, and nothing happens twice."""
    cases = [Case(P.AFTER_CLAIM, 1), Case(P.IN_CALL, 4), Case(P.AFTER_COMMIT, 2)]

    victims = victims_of(site, desk, hand, cases, blind=True)
    rows = rescue(site, victims)

    counted = count_effects(desk, hand)
    for victim in victims:
        row, effects = rows[victim.task], counted.get(victim.order_id, 0)
        assert row.deaths == 0
        assert effects <= 1
        assert row.ended or site.asks(victim.task) == "in_doubt"


@pytest.mark.parametrize("hand", ONCE)
def test_a_person_who_tells_what_happened_ends_the_doubt(
    hand: str, site: Site, desk: ShopDesk
) -> None:
    """Hazard DS-05: sent before the crash, it counts as done; not sent, it is sent once."""
    before, after = Case(P.IN_CALL, 3), Case(P.IN_CALL, 4)
    victims = victims_of(site, desk, hand, [before, after])
    rescue(site, victims)

    for victim in victims:
        happened = count_effects(desk, hand).get(victim.order_id, 0)
        assert happened == (victim.case == after)
        if happened:
            site.decide(victim.task, "result", result={"status": "sent"})
        else:
            site.decide(victim.task, "retry")
    site.settle(*(victim.task for victim in victims), sweep=True)
    site.eventually(lambda: all(site.row(victim.task).ended for victim in victims))

    counted = count_effects(desk, hand)
    assert [counted[victim.order_id] for victim in victims] == [1, 1]
    site.check(*(victim.task for victim in victims))
