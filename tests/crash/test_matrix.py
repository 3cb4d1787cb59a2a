"""SIGKILL at every crash point, for every effect class: what the books say afterwards.

A task looks, does one thing, and looks again.  Victims die at the n-th visit of a point; then one
worker and a sweep bring all of them to their end.
"""

import pytest

from runtime.engine.ports import CrashPoint as P
from runtime.examples.aftersales.control import ShopDesk
from tests.support.engine import Site
from tests.support.engine_crash import Case
from tests.support.engine_shop import count_effects
from tests.support.engine_victims import cases_of, rescue, victims_of

READS = ["look", "look_async"]
ONCE = ["mail", "mail_async"]
EXACT = ["enter", "refund", "refund_async", "label", "label_async"]
HANDS = [*READS, *EXACT, *ONCE]


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
