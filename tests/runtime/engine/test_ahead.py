"""A quick read is written with the ending that follows it, and with nothing else."""

from collections.abc import Callable, Iterator
from uuid import UUID

import pytest

from runtime.api import Agent, Plan, PlanContext, tool
from runtime.engine.desk import Desk
from runtime.store import inbox, tasks
from runtime.store.session import execute
from runtime.store.tasks import forget_keys
from runtime.tools.agents import registry
from runtime.tools.registry import AnyTool
from tests.support import work
from tests.support.drive import House, drive

pytestmark = pytest.mark.django_db(transaction=True)

HOUSES: list[House] = []

type Planner = Callable[[PlanContext], Plan]


@pytest.fixture(autouse=True)
def _keys_of_this_test() -> Iterator[None]:
    yield
    forget_keys()


@tool(effect="read")
def glance() -> str:
    """See something at once."""
    return "seen"


@tool(effect="keyed")
def settle(*, operation_id: str) -> str:
    """Write something under its key."""
    return operation_id


@tool(effect="read")
def stop() -> None:
    """Tell the worker to stop."""
    HOUSES[-1].stopping = True


def agent(planner: Planner) -> Agent:
    with registry.separate():
        tools: list[AnyTool] = [glance, settle, stop]
        return Agent(work.AGENT, role="Looks", tools=tools, planner=planner)


def one_look(context: PlanContext) -> Plan:
    return Plan.finish("done") if context.results else Plan.call(glance)


def commits(task_id: UUID) -> list[list[str]]:
    """Give the events of a task, those of one transaction together; its creation is left out."""
    rows = execute(
        "SELECT array_agg(type ORDER BY seq) FROM runtime_event "
        "WHERE task_id = %s AND seq > 1 GROUP BY xmin::text ORDER BY min(seq)",
        (task_id,),
    )
    return [types for (types,) in rows]


def at_desk() -> Desk:
    tools = {tool.name: tool.definition_hash for tool in (glance, settle, stop)}
    return work.at_desk(tasks.create(work.new_task(tool_hashes=tools)))


def test_an_ending_is_written_with_the_quick_read_before_it() -> None:
    desk = at_desk()

    drive(desk, agent(one_look), House(quick=True))

    assert commits(desk.claimed.id) == [["task_started", "tool_call_succeeded", "task_completed"]]
    at = work.check_whole(desk.claimed.id)
    assert (at.state, at.done) == ("terminated_success", 1)
    kept = execute("SELECT result FROM runtime_stepresult WHERE task_id = %s", (desk.claimed.id,))
    ended = execute("SELECT result FROM runtime_taskspec WHERE task_id = %s", (desk.claimed.id,))
    assert (kept, ended) == ([('"seen"',)], [('"done"',)])


def test_a_failure_is_written_with_the_quick_read_before_it() -> None:
    desk = at_desk()

    def planner(context: PlanContext) -> Plan:
        return Plan.fail("nothing to be done") if context.results else Plan.call(glance)

    drive(desk, agent(planner), House(quick=True))

    (events,) = commits(desk.claimed.id)
    assert events[:2] == ["task_started", "tool_call_succeeded"]
    assert work.check_whole(desk.claimed.id).state == "terminated_failed"


def test_a_read_is_written_before_a_planner_that_may_take_its_time() -> None:
    desk = at_desk()

    drive(desk, agent(one_look), House(quick=False))

    assert commits(desk.claimed.id) == [["task_started", "tool_call_succeeded"], ["task_completed"]]


def test_a_read_is_written_before_the_intent_of_a_write() -> None:
    """What goes out may rest on what was read: that must not be lost behind it."""
    desk = at_desk()

    def planner(context: PlanContext) -> Plan:
        steps = (Plan.call(glance), Plan.call(settle), Plan.finish("done"))
        return steps[len(context.results)]

    drive(desk, agent(planner), House(quick=True))

    assert commits(desk.claimed.id) == [
        ["task_started", "tool_call_succeeded"],
        ["tool_call_started"],
        ["tool_call_succeeded"],
        ["task_completed"],
    ]


def test_each_read_is_written_before_the_next_one() -> None:
    desk = at_desk()

    def planner(context: PlanContext) -> Plan:
        return Plan.finish("done") if len(context.results) > 1 else Plan.call(glance)

    drive(desk, agent(planner), House(quick=True))

    assert commits(desk.claimed.id) == [
        ["task_started", "tool_call_succeeded"],
        ["tool_call_succeeded", "task_completed"],
    ]


def test_a_read_is_written_before_a_person_is_asked() -> None:
    desk = at_desk()

    def planner(context: PlanContext) -> Plan:
        return Plan.ask("Which one?") if context.results else Plan.call(glance)

    drive(desk, agent(planner), House(quick=True))

    read, *asked = commits(desk.claimed.id)
    assert read == ["task_started", "tool_call_succeeded"]
    assert len(asked) == 1
    assert work.check_whole(desk.claimed.id).state == "waiting_human"


def test_a_read_is_written_when_the_planner_fails_behind_it() -> None:
    desk = at_desk()

    def planner(context: PlanContext) -> Plan:
        if context.results:
            raise KeyError("no")
        return Plan.call(glance)

    drive(desk, agent(planner), House(quick=True))

    assert commits(desk.claimed.id)[0] == ["task_started", "tool_call_succeeded"]
    assert work.check_whole(desk.claimed.id).done == 1


def test_a_command_that_comes_while_the_ending_is_decided_is_obeyed_before_it() -> None:
    desk = at_desk()

    def planner(context: PlanContext) -> Plan:
        if not context.results:
            return Plan.call(glance)
        if not desk.held:
            inbox.deliver(
                desk.claimed.id, "hold", {"reason": "wait"}, actor="human:ann", source="test",
                event_id="1", held=True,
            )  # fmt: skip
        return Plan.finish("done")

    drive(desk, agent(planner), House(quick=True))

    assert commits(desk.claimed.id) == [["task_started", "tool_call_succeeded"], ["hold_placed"]]
    assert work.check_whole(desk.claimed.id).state == "planning"
    assert execute("SELECT held, owner FROM runtime_task") == [(True, None)]


def test_a_worker_that_stops_writes_the_read_and_gives_the_task_back() -> None:
    desk, house = at_desk(), House(quick=True)
    HOUSES.append(house)

    def planner(context: PlanContext) -> Plan:
        return Plan.finish("done") if context.results else Plan.call(stop)

    drive(desk, agent(planner), house)

    assert commits(desk.claimed.id) == [["task_started", "tool_call_succeeded"]]
    assert work.check_whole(desk.claimed.id).state == "planning"
    assert execute("SELECT owner, due_at <= runtime_now() FROM runtime_task") == [(None, True)]


def test_a_read_that_the_fence_refuses_with_its_ending_is_kept_as_evidence() -> None:
    desk, house = at_desk(), House(quick=True)

    def planner(context: PlanContext) -> Plan:
        if not context.results:
            return Plan.call(glance)
        execute("UPDATE runtime_task SET epoch = epoch + 1")
        return Plan.finish("done")

    drive(desk, agent(planner), house)

    assert commits(desk.claimed.id) == []
    assert house.evidence == ["seen"]
