"""PostgreSQL or Valkey go away under running workers: confirmed results outlive it in memory.

The servers are the test's own; the shop keeps its books elsewhere and goes on all the while.
"""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from console import embedded
from runtime.examples.aftersales.control import ShopDesk
from runtime.store.session import forget_connection
from tests.support.engine import LEASE_S, Site
from tests.support.engine_diary import Diary
from tests.support.engine_programs import Programs, servers_of_our_own, used
from tests.support.engine_shop import orders

HANDS = ["look", "enter", "refund", "refund_async", "label", "label_async", "mail", "mail_async"]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[embedded.Services]:
    """Servers that only these tests use."""
    with servers_of_our_own(tmp_path_factory.mktemp("servers")) as running:
        yield running


@pytest.fixture
def broken_site(servers: embedded.Services, site: Site, shop: object) -> Iterator[Site]:
    """An engine on those servers."""
    own = {**site.environ, **servers.environ()}
    place = replace(
        site,
        database_url=own["DATABASE_URL"],
        environ={
            **own,
            "DATABASE_DIRECT_URL": own["DATABASE_URL"],
            "BROKER_URL": own["VALKEY_URL"],
        },
        forks=[],
    )
    with used(servers):
        yield place


@pytest.fixture
def running(broken_site: Site, tmp_path: Path) -> Iterator[Programs]:
    """Two workers and a sweep as real processes, under way before anything breaks."""
    folder = tmp_path / "said"
    folder.mkdir()
    programs = Programs(broken_site, folder)
    try:
        programs.worker()
        programs.worker()
        programs.sweep()
        yield programs
    finally:
        programs.end()


def outlast(seconds: float) -> None:
    """Let an outage last: what is tested is that time passes without a database."""
    threading.Event().wait(seconds)


def test_an_outage_longer_than_a_lease_loses_and_doubles_nothing(
    servers: embedded.Services, broken_site: Site, running: Programs, desk: ShopDesk
) -> None:
    """A mail that is confirmed while the database is away counts as sent, and is in no doubt."""
    site = broken_site
    held_order, *order_ids = orders(desk, 1 + 5 * len(HANDS))
    fault = desk.order_fault("hold", "/mails", count=1)
    held = site.submit("test-hand", {"hand": "mail_async", "order_id": held_order})
    desk.wait_for_calls("/mails", fault="hold")
    hands = {order_id: HANDS[n % len(HANDS)] for n, order_id in enumerate(order_ids)}
    tasks = {
        order_id: site.submit("test-hand", {"hand": hand, "order_id": order_id})
        for order_id, hand in hands.items()
    }

    servers.kill_postgres()
    desk.release(fault)
    outlast(2.5 * LEASE_S)
    servers.start_postgres()
    forget_connection()
    rows = site.settle(held, *tasks.values(), timeout_s=60)

    assert {row.state for row in rows} == {"terminated_success"}, running.said()
    assert {row.deaths for row in rows} == {0}
    assert site.effects(held) == [("mail_async", "confirmed")]
    books = desk.books()
    for order_id, hand in {held_order: "mail_async", **hands}.items():
        kinds = {"refund": "refunds", "label": "labels", "mail": "mails"}
        kind = kinds.get(hand.removesuffix("_async"))
        if kind is not None:
            effects = [one for one in books[kind] if one["order_id"] == order_id]
            assert len(effects) == 1, (hand, order_id)
        elif hand == "enter":
            assert site.count(_LOCAL, order_id) == 1
    site.check(held, *tasks.values())


_LOCAL = "SELECT count(*) FROM engine_test_effect WHERE order_id = %s"


def test_workers_go_on_after_a_restart_of_the_database(
    servers: embedded.Services, broken_site: Site, running: Programs
) -> None:
    """Hazards DB-05 and DB-03: no thread keeps a dead connection."""
    site = broken_site
    before = [site.script(*[{"call": "echo", "value": n}] * 5) for n in range(10)]
    site.settle(*before)

    servers.restart_postgres("immediate")
    forget_connection()
    after = [site.script(*[{"call": "echo", "value": n}] * 5) for n in range(10)]
    rows = site.settle(*after, timeout_s=30)

    assert {row.state for row in rows} == {"terminated_success"}, running.said()
    site.check(*before, *after)


def test_restarts_one_after_the_other_under_load_leave_every_journal_whole(
    servers: embedded.Services, broken_site: Site, running: Programs, diary: Diary
) -> None:
    site = broken_site
    pay = {"call": "pay_often", "diary": str(diary), "to": "a", "cents": 1}
    tasks = [
        site.script(*[{"call": "echo_async", "value": n}, pay, {"call": "echo", "value": n}] * 20)
        for n in range(20)
    ]

    for paid in (50, 100, 150):
        site.eventually(lambda paid=paid: diary.count("paid") >= paid)  # type: ignore[misc]
        servers.restart_postgres("immediate")
        forget_connection()
    rows = site.settle(*tasks, timeout_s=60)

    assert {row.state for row in rows} == {"terminated_success"}, running.said()
    assert len({line["operation_id"] for line in diary.lines("paid")}) == 400
    site.check(*tasks)


def test_without_valkey_the_work_goes_on(
    servers: embedded.Services, broken_site: Site, running: Programs
) -> None:
    """Hazard BK-03: what is due is found in the database, whatever the broker forgot."""
    site = broken_site
    servers.kill_valkey()
    tasks = [site.script(*[{"call": "echo", "value": n}] * 3) for n in range(10)]

    rows = site.settle(*tasks, timeout_s=30)

    assert {row.state for row in rows} == {"terminated_success"}, running.said()
    servers.start_valkey()
    later = site.script({"call": "echo", "value": 1})
    assert site.settle(later)[0].state == "terminated_success"
    site.check(*tasks, later)
