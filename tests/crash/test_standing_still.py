"""A worker that stood still past its lease: what it does on waking moves nothing."""

import signal

import pytest
from django.apps import apps

from runtime.engine.ports import CrashPoint as P
from runtime.examples.aftersales.control import ShopDesk
from runtime.store.session import execute
from tests.support.engine import Site, eventually
from tests.support.engine_crash import Case
from tests.support.engine_shop import count_effects
from tests.support.engine_victims import Victim, cases_of, rescue, victims_of

# Between the last look at the lease and the socket lies a window that nothing can close.
WINDOW = {Case(P.IN_CALL, visit) for visit in (1, 3, 5)}
HELD_BY_ALL = {
    P.AFTER_CLAIM,
    P.BEFORE_COMMIT,
    P.AFTER_COMMIT,
    P.AFTER_INTENT,
    P.IN_CALL,
    P.AFTER_CALL,
    P.IN_LOCAL_TRANSACTION,
    P.BEFORE_RENEWAL,
    P.AFTER_RENEWAL,
}
OWN_ROWS = {"runtime_worker", "runtime_refusal", "runtime_pulse"}


@pytest.mark.parametrize("hand", ["look", "enter", "refund", "label_async", "mail", "mail_async"])
def test_a_worker_that_wakes_after_its_lease_writes_no_row_and_starts_no_call(
    hand: str, site: Site, desk: ShopDesk
) -> None:
    cases = [case for case in cases_of(site, desk, hand) if case not in WINDOW]
    victims = victims_of(site, desk, hand, cases, number=signal.SIGSTOP)
    rescue(site, victims)
    books, calls, rows = count_effects(desk, hand), len(desk.calls()), _all_rows()

    for victim in victims:
        assert victim.fork is not None
        victim.crash.wake()
        victim.fork.signal(signal.SIGCONT)
    eventually(
        lambda: all(_has_begun_anew(victim) for victim in victims),
        what=lambda: [str(victim.case) for victim in victims if not _has_begun_anew(victim)],
    )
    for victim in victims:
        assert victim.fork is not None
        assert victim.fork.stop() == 0

    assert count_effects(desk, hand) == books
    assert len(desk.calls()) == calls
    assert _all_rows() == rows
    last = max(one.case.visit for one in victims if one.case.point is P.AFTER_COMMIT)
    for victim in victims:
        # Who held nothing at that point has nothing that could be refused.
        if victim.case.point in HELD_BY_ALL and victim.case != Case(P.AFTER_COMMIT, last):
            assert site.refusals(victim.task) >= 1, victim.case
    site.check(*(victim.task for victim in victims))


def _has_begun_anew(victim: Victim) -> bool:
    """Whether it lives as another incarnation that has nothing in its hands."""
    assert victim.fork is not None
    found = execute(
        "SELECT count(*) FROM runtime_worker WHERE pid = %s AND held = 0 "
        "AND state IN ('running', 'draining') AND renewed_at > started_at",
        (victim.fork.pid,),
    )
    return bool(found[0][0])


def _all_rows() -> dict[str, list[tuple[object, ...]]]:
    """Read every row that a task can have."""
    tables = {model._meta.db_table for model in apps.get_app_config("runtime").get_models()}
    return {
        table: sorted(execute(f"SELECT t::text FROM {table} t"))  # noqa: S608 - names of our own
        for table in sorted(tables - OWN_ROWS)
    }
