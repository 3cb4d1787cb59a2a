"""No task stays in the name of a living worker that does not know of it: no sweep would free it."""

from uuid import uuid4

import psycopg
import pytest
from django.db import connection

from runtime.core.retry import ErrorKind, Failure
from runtime.engine.breakers import Breakers
from runtime.engine.ports import CrashPoint, Ports
from runtime.examples.aftersales.control import ShopDesk
from runtime.store import claims
from runtime.store.session import LOST, execute, forget_connection
from tests.support import work
from tests.support.engine import Crash, Site
from tests.support.engine_shop import order


def once(at: CrashPoint) -> Crash:
    """Lose the database at one point, the first time only."""
    lost: list[CrashPoint] = []

    def crash(point: CrashPoint) -> None:
        if point is at and not lost:
            lost.append(point)
            message = "the answer is lost"
            raise psycopg.OperationalError(message)

    return crash


def test_a_claim_whose_answer_was_lost_is_given_back_and_made_again(site: Site) -> None:
    task = site.script({"call": "echo", "value": 1})

    site.worker(crash=once(CrashPoint.AFTER_CLAIM))
    site.settle(task)

    assert site.row(task).epoch > 1
    assert site.result(task) == [1]
    site.check(task)


def test_a_driver_that_fails_with_the_database_asks_no_person(site: Site, desk: ShopDesk) -> None:
    order_id = order(desk)
    task = site.script({"call": "refund", "order_id": order_id})

    site.worker(crash=once(CrashPoint.AFTER_INTENT))
    site.settle(task)

    assert site.row(task).ended
    assert "review_requested" not in site.story(task)
    assert len([row for row in desk.books()["refunds"] if row["order_id"] == order_id]) == 1
    site.check(task)


@pytest.mark.django_db(transaction=True)
def test_strays_are_freed_at_a_new_epoch_and_what_is_in_hands_is_kept() -> None:
    worker = work.hire()
    stray, held = (work.claim(work.submit(), worker) for _ in range(2))
    others = work.claim(work.submit())

    assert claims.free_strays(worker, keep=[held.id]) == [stray.id]

    owners: dict[object, object] = dict(execute("SELECT id, (owner, epoch) FROM runtime_task"))
    assert owners[stray.id] == (None, str(stray.epoch + 1))
    assert claims.reread(held) is not None
    assert claims.reread(others) is not None
    taken = claims.claim(uuid4(), [work.QUEUE], [work.AGENT], 10)
    assert [claimed.id for claimed in taken] == [stray.id]


@pytest.mark.django_db(transaction=True)
def test_a_server_that_refuses_connections_counts_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails while Django connects is Django's error, not the driver's."""
    forget_connection()
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nowhere")

    with pytest.raises(LOST):
        execute("SELECT 1")


@pytest.mark.django_db(transaction=True)
def test_a_breaker_that_cannot_be_shared_still_opens_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever tells it holds the outcome of a call, which must not be lost for this."""
    breakers = Breakers(Ports())
    forget_connection()
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nowhere")

    for _ in range(5):
        breakers.record(("default", "pay"), Failure(ErrorKind.RETRYABLE, None, "down", "Down"))

    assert breakers.admit(("default", "pay")) > 0
