"""At its deadline a call is unknown, whatever it does; the worker and its other tasks go on."""

from pathlib import Path

import pytest
from django.db import connection

from runtime.examples.aftersales.control import ShopDesk
from tests.support.engine import Site
from tests.support.engine_diary import Diary
from tests.support.engine_shop import order

TIMED_OUT = "runtime.engine.requests.CallTimedOut"


def test_a_thread_that_hangs_is_left_behind_and_its_late_result_moves_nothing(
    site: Site, diary: Diary
) -> None:
    """Hazard LD-07: each attempt ends as timed out, and waking up later changes nothing."""
    task = site.script({"call": "hang", "diary": str(diary)})

    site.worker(threads=1)
    site.settle(task)
    diary.open("hang")
    site.eventually(lambda: diary.count("awoke") == 3)

    failed = site.events(task, "tool_call_failed")
    assert [one["error"] for one in failed] == [TIMED_OUT] * 3
    assert site.asks(task) == "retries_exhausted"
    assert site.results(task) == []
    site.check(task)


def test_other_tasks_pass_a_thread_that_hangs(site: Site, diary: Diary) -> None:
    stuck = site.script({"call": "hang", "diary": str(diary)})
    site.worker(threads=1)
    site.eventually(lambda: diary.count("hung"))

    others = [site.script({"call": "echo", "value": n}) for n in range(5)]
    site.settle(*others)

    assert all(site.row(one).state == "terminated_success" for one in others)
    site.settle(stuck)


def test_a_worker_with_too_many_hung_threads_ends_so_that_a_fresh_one_can_begin(
    site: Site, diary: Diary
) -> None:
    task = site.script({"call": "hang", "diary": str(diary)})

    worker = site.worker(threads=1, abandoned=2)

    assert worker.wait() == 0
    site.worker(threads=1, abandoned=99)
    site.settle(task)
    assert site.asks(task) == "retries_exhausted"


def test_a_once_call_that_outstays_its_deadline_is_in_doubt_and_not_sent_again(
    site: Site, diary: Diary
) -> None:
    task = site.script({"call": "hang_once", "diary": str(diary)})

    site.worker()
    site.settle(task)
    diary.open("hang")

    assert site.asks(task) == "in_doubt"
    assert site.effects(task) == [("hang_once", "in_doubt")]
    assert diary.count("sent") == 1
    site.check(task)


def test_a_local_tool_that_hangs_leaves_no_row_behind(site: Site, diary: Diary) -> None:
    """Its thread still holds the transaction when the step has failed long since."""
    task = site.script({"call": "hang_local", "diary": str(diary), "order_id": "hang-1"})

    site.worker()
    site.settle(task)
    diary.open("hang")

    assert site.asks(task) == "retries_exhausted"
    assert diary.count("inserted") == 3
    site.eventually(lambda: not site.count(_OPEN_TRANSACTIONS))
    assert _local_rows("hang-1") == 0
    site.check(task)


@pytest.mark.parametrize("name", ["drip", "drip_async"])
def test_an_answer_that_drips_a_byte_at_a_time_does_not_outlast_the_deadline(
    name: str, site: Site, desk: ShopDesk
) -> None:
    """A time-out of the client counts from byte to byte and would never end it."""
    order_id = order(desk)
    desk.order_fault("drip", f"/orders/{order_id}", seconds=0.1)
    task = site.script({"call": name, "order_id": order_id})

    site.worker()
    site.settle(task)

    assert site.asks(task) == "retries_exhausted"
    assert {one["error"] for one in site.events(task, "tool_call_failed")} == {TIMED_OUT}


def test_a_coroutine_that_swallows_its_cancellation_holds_nobody(site: Site, diary: Diary) -> None:
    task = site.script({"call": "stubborn", "diary": str(diary)})
    other = site.script({"call": "echo_async", "value": 1})

    site.worker()
    site.settle(task, other)

    assert site.asks(task) == "retries_exhausted"
    assert site.result(other) == [1]
    site.check(task, other)


def test_a_coroutine_that_blocks_the_loop_delays_its_neighbours_and_loses_none(
    site: Site, diary: Diary
) -> None:
    """Its neighbours' timers cannot fire meanwhile; they go on in the worker's successor."""
    blocker = site.script({"call": "block_loop", "diary": str(diary)})
    worker = site.worker(abandoned=1, grace_s=0.5)
    site.eventually(lambda: diary.count("hung"))
    neighbour = site.script({"call": "echo_async", "value": 1})

    assert worker.wait() == 0
    diary.open("hang")
    site.worker()
    site.settle(blocker, neighbour, sweep=True)

    assert site.result(neighbour) == [1]
    assert site.row(neighbour).state == "terminated_success"
    site.check(blocker, neighbour)


def test_a_call_that_could_not_begin_behind_a_blocked_loop_is_never_sent_late(
    site: Site, diary: Diary
) -> None:
    """Nothing was sent, so that nobody has to say what happened; and it is not sent afterwards."""
    site.script({"call": "block_loop", "diary": str(diary)})
    site.worker(abandoned=99)
    site.eventually(lambda: diary.count("hung"))

    task = site.script({"call": "send_async", "diary": str(diary)})
    site.settle(task)
    diary.open("hang")
    later = site.script({"call": "echo_async", "value": 1})
    site.settle(later)

    assert site.asks(task) == "retries_exhausted"
    assert diary.count("sent") == 0
    site.check(task)


@pytest.mark.parametrize("how", ["exit", "interrupt", "exit in a task", "stop"])
def test_a_tool_that_ends_the_event_loop_costs_the_others_nothing(
    site: Site, diary: Diary, how: str
) -> None:
    neighbour = site.script({"call": "gated_async", "diary": str(diary), "gate": "go"})
    worker = site.worker()
    site.eventually(lambda: diary.count("entered"))

    task = site.script({"call": "end_loop", "how": how})
    if how != "stop":
        site.settle(task)
    else:
        site.settle(site.script({"call": "echo_async", "value": 1}))
    diary.open("go")
    later = site.script({"call": "echo_async", "value": 2})
    site.settle(neighbour, later)

    assert site.result(neighbour) == ["go"]
    assert site.result(later) == [2]
    assert not worker.ended()


def test_a_hung_isolated_tool_is_killed(site: Site, diary: Diary) -> None:
    task = site.script({"call": "hang_apart", "diary": str(diary)})

    site.worker()
    site.settle(task)

    assert site.asks(task) == "retries_exhausted"
    (line,) = diary.lines("hung")
    assert not _lives(line["pid"])


def test_an_isolated_tool_that_dies_takes_nobody_along(site: Site, diary: Diary) -> None:
    task = site.script({"call": "die_apart", "diary": str(diary)})

    worker = site.worker()
    row = site.settle(task)[0]

    assert site.asks(task) == "retries_exhausted"
    assert row.deaths == 0
    assert not worker.ended()


def test_a_planner_that_never_returns_is_left_behind_for_a_person(
    site: Site, diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.engine.driver.PLANNER_TIMEOUT_S", 0.3)
    task = site.script({"loop": str(diary)})
    other = site.script({"call": "echo", "value": 1})

    site.worker(threads=1)
    site.settle(task, other)

    assert site.asks(task) == "plan_invalid"
    assert site.result(other) == [1]
    site.check(task, other)


_OPEN_TRANSACTIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
    "AND pid <> pg_backend_pid() AND xact_start IS NOT NULL AND backend_type = 'client backend'"
)


def _local_rows(order_id: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM engine_test_effect WHERE order_id = %s", [order_id])
        return int(cursor.fetchone()[0])


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
