"""A worker asked to drain takes no more, carries on what it holds, and can be asked back."""

from runtime.store import leases
from runtime.store.session import execute
from tests.support.engine import LEASE_S, Site
from tests.support.engine_diary import Diary


def _drain(site: Site, *, wanted: bool) -> None:
    """Ask the one worker, and wait until it says of itself that it has heard."""
    (worker,) = site.eventually(lambda: execute("SELECT id FROM runtime_worker"))[0]
    leases.drain(worker, wanted=wanted)
    said = "draining" if wanted else "running"
    site.eventually(lambda: execute("SELECT state FROM runtime_worker") == [(said,)])


def _renewed_ms(site: Site) -> int:
    text = "SELECT extract(epoch FROM renewed_at) * 1000 FROM runtime_worker"
    return site.count(text)


def test_a_draining_worker_takes_nothing_until_it_is_asked_back(site: Site) -> None:
    site.worker()
    _drain(site, wanted=True)

    task = site.script({"call": "echo", "value": 1})
    # It looks for work with every renewal, four times a lease.
    before_ms = _renewed_ms(site)
    site.eventually(lambda: _renewed_ms(site) > before_ms + 500 * LEASE_S)
    assert site.row(task).epoch == 0

    _drain(site, wanted=False)
    site.settle(task)
    assert site.result(task) == [1]
    site.check(task)


def test_a_draining_worker_carries_on_what_it_holds(site: Site, diary: Diary) -> None:
    site.worker()
    gate = {"call": "gated", "diary": str(diary), "gate": "middle"}
    task = site.script(gate, {"call": "echo", "value": 1})
    site.eventually(lambda: diary.count("entered"))

    _drain(site, wanted=True)
    diary.open("middle")

    site.settle(task)
    assert site.row(task).epoch == 1
    site.check(task)
