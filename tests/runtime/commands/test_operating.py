"""`manage.py review`, `queues`, `workers`, `dead`, `verify`, `states`."""

import json
import re
from io import StringIO
from uuid import UUID, uuid4

import pytest
from django.db import connection

from runtime import api
from runtime.core.reviews import Kind
from runtime.core.states import State
from runtime.management.base import screen
from tests.agents_for_tests.clerk import NAME
from tests.agents_for_tests.hand import Hand
from tests.runtime.commands.conftest import Manage


def submit() -> UUID:
    return api.submit(NAME, {"order_id": "A1"}).id


def asking(question: str = "Which one?") -> tuple[UUID, UUID]:
    task_id = submit()
    Hand(task_id).start().ask(question)
    return task_id, api.reviews()[-1].id


def test_what_waits_for_a_person_is_listed_and_shown_with_what_each_decision_does(
    manage: Manage,
) -> None:
    task_id, item = asking()

    listed = manage("review", "list", "--json").json["reviews"]
    shown = manage("review", "show", item, "--json").json

    assert [one["id"] for one in listed] == [str(item)]
    assert shown["review"]["task_id"] == str(task_id)
    assert shown["offers"] == {
        "answer": "the answer goes to the planner",
        "abort": "the task ends as aborted",
    }


def test_a_decision_is_recorded_as_the_local_account_on_the_command_line(manage: Manage) -> None:
    task_id, item = asking()

    done = manage(
        *("review", "decide", item, "--decision", "answer", "--reason", "it says so"),
        *("--args", '{"answer": "EUR"}', "--json"),
    )

    decided = done.json["review"]
    assert (decided["status"], decided["decided_by"], decided["channel"]) == (
        "closed",
        "human:local",
        "cli",
    )
    assert api.task(task_id).state == "planning"
    assert manage("review", "list").out.strip() == "Nothing waits for a person."
    assert len(manage("review", "list", "--all", "--json").json["reviews"]) == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--decision", "answer", "--reason", "r"], 'it needs the argument {"answer": …}'),
        (["--decision", "retry", "--reason", "r"], "it offers answer, abort"),
        (["--decision", "abort", "--reason", " "], "it needs a reason"),
        (["--decision", "answer", "--reason", "r", "--args", "5"], "it is not a JSON object"),
        (["--decision", "answer", "--reason", "r", "--args", "{"], "it is not JSON"),
        (["--decision", "abort", "--reason", "r", "--situation", "x"], "not a whole number from 1"),
        (["--decision", "abort", "--reason", "r", "--situation", "1"], "has moved on"),
        (["--decision", "abort"], "required: --reason"),
    ],
)
def test_a_wrong_decision_gets_one_sentence_and_exit_2(
    manage: Manage, words: list[str], says: str
) -> None:
    _, item = asking()

    done = manage("review", "decide", item, *words, "--json")

    assert (done.status, done.out) == (2, "")
    assert says in done.err
    assert done.err.count("\n") == 1
    assert api.review(item).status == "open"


def test_the_second_decision_names_the_first(manage: Manage) -> None:
    _, item = asking()
    api.decide(item, "abort", reason="enough", by="human:ann")

    done = manage("review", "decide", item, "--decision", "abort", "--reason", "r")

    assert done.status == 2
    assert "human:ann closed it as abort at" in done.err


@pytest.mark.parametrize("words", [["show"], ["decide", "--decision", "abort", "--reason", "r"]])
def test_an_unknown_item_gets_one_sentence_and_exit_2(manage: Manage, words: list[str]) -> None:
    unknown = manage("review", words[0], uuid4(), *words[1:])
    none = manage("review", words[0], "r1", *words[1:])

    assert (unknown.status, none.status) == (2, 2)
    assert "There is no review item" in unknown.err
    assert "'r1' is not a valid id." in none.err


def test_a_question_of_a_model_cannot_colour_the_screen_or_turn_its_direction(
    manage: Manage,
) -> None:
    _, item = asking("pay \x1b[31m\u202e[bold]all[/bold]?")

    for words in (("list",), ("show", item)):
        out = manage("review", *words).out
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert "[bold]all[/bold]" in re.sub(r"\s+", "", out)


def test_queues_show_backlog_age_and_who_serves_them(manage: Manage) -> None:
    Hand(submit(), slots=7).start().ask()
    submit()

    (queue,) = manage("queues", "--json").json["queues"]

    assert (queue["queue"], queue["due"], queue["later"]) == ("default", 1, 0)
    assert (queue["workers"], queue["slots"]) == (1, 7)
    assert queue["oldest_s"] >= 0
    assert "default" in manage("queues").out


def test_workers_show_leases_and_how_the_dead_died(manage: Manage) -> None:
    hand = Hand(submit())
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO runtime_worker (id, namespace, host, pid, kind, queues, slots, held, "
            "memory_mb, version, state, expires_at, ended_at, death) VALUES (%s, 'default', "
            "'elsewhere', 1, 'worker', '{default}', 5, 0, 0, '1', 'dead', runtime_now(), "
            "runtime_now(), 'its process is gone')",
            [uuid4()],
        )

    alive, dead = manage("workers", "--json").json["workers"]

    assert (alive["id"], alive["state"], alive["death"]) == (str(hand.worker), "running", None)
    assert 50 < alive["lease_left_s"] <= 60
    assert (dead["host"], dead["death"]) == ("elsewhere", "its process is gone")
    assert "its process is gone" in manage("workers").out


def test_what_killed_its_worker_is_listed_as_dead_and_set_going_again(manage: Manage) -> None:
    task_id = submit()
    Hand(task_id).start().read().begin().escalate(Kind.KILLED_WORKER)

    listed = manage("dead", "list", "--json").json
    assert [item["task_id"] for item in listed["tasks"]] == [str(task_id)]
    assert str(task_id) in manage("dead", "list").out
    done = manage("dead", "requeue", task_id, "--json")

    assert done.json == {"requeued": {"what": "task", "id": str(task_id)}}
    assert manage("dead", "list").out.strip() == "Nothing was given up."
    assert manage("dead", "requeue", task_id).status == 2


def test_verify_exits_0_when_everything_holds(manage: Manage) -> None:
    task_id = submit()
    Hand(task_id).start().read().begin().succeed().finish()

    done = manage("verify", "--json")

    assert done.status == 0, done.out
    assert done.json == {"held": True, "tasks": 1, "events": 6, "problems": []}
    assert (
        manage("verify", "--task", task_id).out.strip() == "Everything holds (1 tasks, 6 events)."
    )


def test_verify_exits_1_and_names_task_and_problem_when_something_does_not_hold(
    manage: Manage,
) -> None:
    task_id = submit()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE runtime_task SET situation = 9")

    done = manage("verify", "--json")

    assert done.status == 1
    (problem,) = done.json["problems"]
    assert problem == {
        "task": str(task_id),
        "what": "its situation is 9 and its events say 1",
    }


def test_verify_of_an_unknown_task_exits_2(manage: Manage) -> None:
    assert manage("verify", "--task", uuid4()).status == 2
    assert manage("verify", "--task", "x").status == 2


def test_states_print_the_table_of_the_core(manage: Manage) -> None:
    value = manage("states", "--json").json
    drawn = manage("states", "--mermaid").out

    assert [state["name"] for state in value["states"]] == [state.value for state in State]
    assert {event["event"] for event in value["events"]} >= {"task_created", "task_failed"}
    assert drawn.startswith("stateDiagram-v2\n    [*] --> initialized: task_created\n")
    assert json.dumps(value)


@pytest.mark.parametrize("words", [["task"], ["review"], ["dead"], ["task", "explode"]])
def test_a_group_without_a_known_action_gets_one_sentence_and_exit_2(
    manage: Manage, words: list[str]
) -> None:
    done = manage(*words)

    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("queues", [",", "a b", "é", "9lives", "default,../x", "caf\udce9"])
def test_a_worker_is_refused_a_queue_that_no_broker_could_name(manage: Manage, queues: str) -> None:
    done = manage("worker", "--queues", queues)

    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("--queues")
    assert done.err.count("\n") == 1


def test_a_reader_that_goes_early_is_left_to_the_entry_of_the_command_line() -> None:
    """Status 1 is for what did not hold; a pipe that closes is not that."""

    class Closed(StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        screen(Closed()).print("text")
