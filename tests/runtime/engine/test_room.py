"""A worker takes no more than its hands can do, so that others may."""

from runtime.store.session import execute
from tests.support.engine import LEASE_S, Site
from tests.support.engine_diary import Diary


def _renewed_ms(site: Site) -> int:
    return site.count("SELECT extract(epoch FROM max(renewed_at)) * 1000 FROM runtime_worker")


def test_a_worker_whose_threads_are_all_in_tools_leaves_what_comes_to_others(
    site: Site, diary: Diary
) -> None:
    site.worker(threads=1)
    busy = site.script({"call": "gated", "diary": str(diary), "gate": "middle"})
    site.eventually(lambda: diary.count("entered"))

    task = site.script({"call": "echo", "value": 1})
    # It looks for work with every renewal, four times a lease.
    before_ms = _renewed_ms(site)
    site.eventually(lambda: _renewed_ms(site) > before_ms + 500 * LEASE_S)
    alone = site.row(task).epoch
    site.worker(threads=1)
    site.settle(task)

    assert (alone, site.row(busy).state) == (0, "initialized")
    assert execute("SELECT DISTINCT epoch FROM runtime_task WHERE id = %s", (task,)) == [(1,)]
    diary.open("middle")
    site.settle(busy)


def test_a_worker_takes_what_it_left_as_soon_as_a_thread_is_back(site: Site, diary: Diary) -> None:
    site.worker(threads=1)
    busy = site.script({"call": "gated", "diary": str(diary), "gate": "middle"})
    site.eventually(lambda: diary.count("entered"))
    task = site.script({"call": "echo", "value": 1})

    diary.open("middle")

    site.settle(busy, task)
    assert site.result(task) == [1]
