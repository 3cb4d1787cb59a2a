"""A task that kills its worker goes to a person; those that happen to be beside it do not."""

from typing import Any
from uuid import UUID

import pytest

from tests.support.engine import Fork, Site
from tests.support.engine_diary import Diary

KILLERS: dict[str, dict[str, Any]] = {
    "a thread": {"call": "kill_worker"},
    "the loop": {"call": "kill_worker_async"},
    "a write": {"call": "kill_worker_write"},
    "its planner": {"kill": ""},
}


def _killer(name: str, diary: Diary) -> dict[str, Any]:
    if name == "its planner":
        return {"kill": str(diary)}
    return {**KILLERS[name], "diary": str(diary)}


class Fleet:
    """Workers of which the dead are replaced, as a supervisor would."""

    def __init__(self, site: Site, size: int) -> None:
        self._site = site
        self._workers: list[Fork] = [site.worker() for _ in range(size)]
        self.deaths = 0

    def settle(self, *tasks: UUID, timeout_s: float) -> None:
        """Replace the dead until the tasks are settled."""

        def settled() -> bool:
            for place, worker in enumerate(self._workers):
                if worker.ended():
                    self.deaths += 1
                    self._workers[place] = self._site.worker()
            self._site.sweep()
            return all(row.settled for row in self._site.rows(tasks))

        self._site.eventually(settled, timeout_s)


@pytest.mark.parametrize("name", list(KILLERS))
def test_a_killer_runs_alone_after_two_deaths_and_then_goes_to_a_person(
    name: str, site: Site, diary: Diary
) -> None:
    """Hazard RP-05."""
    task = site.script(_killer(name, diary))

    fleet = Fleet(site, 1)
    fleet.settle(task, timeout_s=40)

    assert site.asks(task) == "killed_worker"
    assert diary.count("killed") == 3
    assert fleet.deaths == 2
    site.check(task)


def test_a_person_may_have_the_killer_try_again_alone_or_give_its_result(
    site: Site, diary: Diary
) -> None:
    task = site.script(_killer("a thread", diary))
    fleet = Fleet(site, 1)
    fleet.settle(task, timeout_s=40)

    site.decide(task, "retry")
    site.eventually(lambda: diary.count("killed") == 4, 30)
    fleet.settle(task, timeout_s=40)
    assert site.asks(task) == "killed_worker"
    assert fleet.deaths == 2

    site.decide(task, "abort")
    assert site.row(task).state == "terminated_aborted"
    site.check(task)


def test_a_suspect_that_behaves_when_alone_goes_on_beside_others(site: Site, diary: Diary) -> None:
    """Its deaths are forgotten with its next commit."""
    task = site.script(
        {"call": "kill_twice", "diary": str(diary)}, {"call": "echo", "value": "alive"}
    )

    Fleet(site, 1).settle(task, timeout_s=40)

    (row,) = site.rows([task])
    assert row.state == "terminated_success"
    assert row.deaths == 0
    assert diary.count("killed") == 2
    site.check(task)


@pytest.mark.parametrize("number", [200, pytest.param(1000, marks=pytest.mark.long)])
def test_the_neighbours_of_a_killer_succeed_and_none_is_suspected(
    number: int, site: Site, diary: Diary
) -> None:
    steps = [
        {"call": "echo", "value": 1},
        {"call": "dwell", "seconds": 0.2},
        {"call": "echo_async", "value": 2},
    ]
    killers = [site.script(_killer(name, diary)) for name in KILLERS]
    neighbours = [site.script(*steps * 2) for _ in range(number)]

    fleet = Fleet(site, 2)
    fleet.settle(*killers, *neighbours, timeout_s=110)

    assert [site.asks(killer) for killer in killers] == ["killed_worker"] * len(KILLERS)
    assert {row.state for row in site.rows(neighbours)} == {"terminated_success"}
    asked = "SELECT count(*) FROM runtime_review WHERE NOT task_id = ANY(%s)"
    assert site.count(asked, killers) == 0
    assert fleet.deaths >= 2
    site.check(*killers, *neighbours)
