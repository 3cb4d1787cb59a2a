"""A checkpoint that cannot be trusted: nothing is called on it, and a person has it rebuilt."""

from uuid import UUID

import pytest

from runtime import api
from runtime.store.session import execute
from tests.support.engine import Site
from tests.support.engine_diary import Diary

pytestmark = pytest.mark.usefixtures("site")


def _damage(task: UUID) -> None:
    statement = "UPDATE runtime_task SET checkpoint = overlay(checkpoint PLACING '?' FROM 9 FOR 1) "
    execute(f"{statement} WHERE id = %s RETURNING id", (task,))


def _answer(site: Site, task: UUID, decision: str, **arguments: str) -> None:
    item = site.review(task)
    assert item is not None
    api.decide(item[0], decision, reason="because", by="human:test", arguments=arguments)


def test_a_damaged_checkpoint_is_shown_to_a_person_and_rebuilt_before_anything_is_called(
    site: Site, diary: Diary
) -> None:
    """Hazard CR-03."""
    task = site.script({"call": "pay", "diary": str(diary), "to": "a", "cents": 1})
    _damage(task)

    site.worker()
    site.eventually(lambda: site.asks(task))

    assert site.asks(task) == "checkpoint_unreadable"
    assert diary.count("paid") == 0

    _answer(site, task, "rebuild")
    site.eventually(lambda: site.row(task).state == "terminated_success")
    assert diary.count("paid") == 1
    site.check(task)


@pytest.mark.parametrize("works", [True, False])
def test_an_answer_given_on_a_damaged_checkpoint_is_not_lost_in_silence(
    site: Site, *, works: bool
) -> None:
    """Hazard AP-01: the person is told, and asked again once the state is rebuilt."""
    task = site.script({"ask": "which?"}, {"answer of": "which?"})
    worker = site.worker()
    site.settle(task)
    if not works:
        worker.stop()
    _damage(task)

    _answer(site, task, "answer", answer="this")
    site.eventually(lambda: site.asks(task) == "checkpoint_unreadable")

    if not works:
        site.worker()
    _answer(site, task, "rebuild")
    site.eventually(lambda: site.asks(task) == "question")
    _answer(site, task, "answer", answer="that")
    site.eventually(lambda: site.row(task).state == "terminated_success")
    (finished,) = site.events(task, "task_completed")
    assert "that" in finished["summary"]
    site.check(task)


@pytest.mark.parametrize("lever", ["cancel", "abort"])
def test_a_task_with_a_damaged_checkpoint_can_be_ended_and_then_holds(
    site: Site, lever: str
) -> None:
    task = site.script({"ask": "which?"})
    worker = site.worker()
    site.settle(task)
    worker.stop()
    _damage(task)

    if lever == "cancel":
        api.cancel(task, reason="enough", by="human:test")
    else:
        _answer(site, task, "abort")

    assert site.row(task).state == "terminated_aborted"
    site.check(task)


def test_a_damaged_task_that_is_paused_asks_a_person_and_stays_paused(site: Site) -> None:
    task = site.script({"ask": "which?"}, {"finish": 1})
    worker = site.worker()
    site.settle(task)
    worker.stop()
    _damage(task)

    api.pause(task, reason="look", by="human:test")

    assert site.asks(task) == "checkpoint_unreadable"
    assert api.task(task).held
    site.check(task)
