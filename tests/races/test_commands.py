"""Commands and events that come at the very moment of a commit: none is lost, none half obeyed."""

from uuid import UUID

import pytest

from runtime.engine import levers
from runtime.store import claims, inbox, tasks
from runtime.store.session import execute
from tests.support import racing, work
from tests.support.drive import drive
from tests.support.racing import Go, carry_on, check_nothing_lost, crowd, race

pytestmark = pytest.mark.django_db(transaction=True)


def driving(worker: UUID) -> racing.Actor:
    """A worker that has sat down and takes the task as far as it can go."""

    def prepare(task_id: UUID) -> Go:
        desk = work.at_desk(task_id, worker)
        return lambda: drive(desk)

    return prepare


def commanding(kind: str, *, held: bool | None = None, dies: bool = False) -> racing.Actor:
    """A person: the command is stored, then obeyed at once if nobody holds the task.

    The process that took it may die in between.
    """

    def prepare(task_id: UUID) -> Go:
        def go() -> bool:
            inbox.deliver(
                task_id,
                kind,
                {"reason": "because"},
                actor="human:ann",
                source="race",
                event_id=kind,
                held=held,
            )
            return not dies and levers.apply_now(work.PORTS, task_id)

        return go

    return prepare


def check_race(outcomes: racing.Outcomes) -> None:
    """Nobody failed, and each side came first now and then: else it was no race."""
    assert [each for row in outcomes.rows for each in row if isinstance(each, Exception)] == []
    at_once = outcomes.of(1)
    assert 0 < at_once.count(True) < len(at_once)


def test_two_commands_racing_a_commit_that_parks_are_both_obeyed() -> None:
    worker, tasks = work.hire(), crowd("ask")

    outcomes = race(
        tasks,
        driving(worker),
        commanding("hold", held=True),
        commanding("cancel"),
    )

    check_race(outcomes)
    carry_on(worker)
    states = execute("SELECT state, count(*) FROM runtime_task GROUP BY state")
    assert states == [("terminated_aborted", len(tasks))]
    check_nothing_lost(tasks)


def test_two_commands_whose_takers_die_at_once_are_both_obeyed() -> None:
    worker, tasks = work.hire(), crowd("ask")

    race(
        tasks,
        driving(worker),
        commanding("retry", dies=True),
        commanding("cancel", dies=True),
    )

    carry_on(worker)
    states = execute("SELECT state, count(*) FROM runtime_task GROUP BY state")
    assert states == [("terminated_aborted", len(tasks))]
    check_nothing_lost(tasks)


def test_a_hold_racing_a_commit_holds_the_task_there_or_behind_it() -> None:
    worker, tasks = work.hire(), crowd("ask")

    outcomes = race(tasks, driving(worker), commanding("hold", held=True))

    check_race(outcomes)
    carry_on(worker)
    assert execute("SELECT held, count(*) FROM runtime_task GROUP BY held") == [(True, len(tasks))]
    placed = "SELECT count(*) FROM runtime_event WHERE type = 'hold_placed'"
    assert execute(placed) == [(len(tasks),)]
    check_nothing_lost(tasks)


def test_a_command_that_comes_just_before_the_end_is_read_and_then_the_task_ends_or_waits() -> None:
    desk = work.at_desk()
    desk.write(*work.read(desk))
    inbox.deliver(
        desk.claimed.id,
        "hold",
        {},
        actor="human:ann",
        source="race",
        event_id="1",
        held=True,
    )

    drive(desk)

    assert (desk.at.state, desk.held, desk.parked) == ("planning", True, True)


def test_a_cancel_racing_the_end_comes_before_it_or_finds_it_ended() -> None:
    """Hazards LD-13, LD-15."""
    worker, tasks = work.hire(), crowd("finish")

    def finishing(task_id: UUID) -> Go:
        desk = work.at_desk(task_id, worker)
        desk.write(*work.read(desk))
        return lambda: drive(desk)

    outcomes = race(tasks, finishing, commanding("cancel"))

    assert [each for row in outcomes.rows for each in row if isinstance(each, Exception)] == []
    letters = "SELECT count(*) FROM runtime_inbox"
    states: dict[str, int] = dict(
        execute("SELECT state, count(*) FROM runtime_task GROUP BY state")
    )
    assert states.get("terminated_aborted", 0) == execute(letters)[0][0]
    assert sum(states.values()) == states["terminated_success"] + states["terminated_aborted"]
    check_nothing_lost(tasks)


def test_a_wake_up_that_comes_while_the_wait_is_being_made_is_obeyed_or_refused() -> None:
    """Never stored, acknowledged and slept over: the back-off would last an hour."""
    worker, tasks = work.hire(), crowd()

    def backing_off(task_id: UUID) -> Go:
        desk = work.at_desk(task_id, worker)
        decision, attached = work.fail(desk, after_s=3600)

        def go() -> None:
            desk.write(decision, attached)
            if not desk.parked:
                drive(desk)

        return go

    outcomes = race(tasks, backing_off, commanding("retry"))

    check_race(outcomes)
    waiting = "SELECT count(*) FROM runtime_task WHERE due_at > runtime_now() + interval '1 minute'"
    asleep = execute(waiting)[0][0]
    refused = execute("SELECT count(*) FROM runtime_inbox WHERE refused IS NOT NULL")[0][0]
    assert asleep == refused
    check_nothing_lost([task_id for task_id in tasks if not racing.is_due(task_id)])


def test_a_command_that_comes_while_a_worker_gives_up_is_heard() -> None:
    """The task waits for a person, unheld and with no time to wake at: nobody else would come."""
    worker, task_id = work.hire(), work.submit()
    claimed = work.claim(task_id, worker)
    commanding("cancel")(task_id)()

    claims.give_up_on(claimed.holder, "broken", work.PORTS.chance, tasks.database_now())

    carry_on(worker)
    assert execute("SELECT state FROM runtime_task") == [("terminated_aborted",)]
