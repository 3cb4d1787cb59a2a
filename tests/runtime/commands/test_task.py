"""`manage.py task`: what scripts and people rely on."""

import json
import re
from pathlib import Path
from uuid import UUID

import pytest

from runtime import api
from tests.agents_for_tests.clerk import NAME
from tests.agents_for_tests.hand import Hand
from tests.runtime.commands.conftest import Manage

INPUT = '{"order_id": "A1"}'


def submit(**more: object) -> UUID:
    return api.submit(NAME, {"order_id": "A1"}, **more).id  # type: ignore[arg-type]


def test_a_submitted_task_is_printed_as_one_object(manage: Manage) -> None:
    done = manage("task", "submit", NAME, "--input", INPUT, "--title", "First", "--json")

    task = done.json["task"]
    assert (done.status, done.err) == (0, "")
    assert (task["state"], task["title"], task["created_by"]) == (
        "initialized",
        "First",
        "human:local",
    )
    assert task["input"] == {"order_id": "A1", "note": ""}
    assert api.task(task["id"]).state == "initialized"


def test_input_comes_from_a_file_or_from_standard_input(manage: Manage, tmp_path: Path) -> None:
    file = tmp_path / "in put.json"
    file.write_text('{"order_id": "中文"}')

    by_file = manage("task", "submit", NAME, "--input", f"@{file}", "--json")
    by_stdin = manage("task", "submit", NAME, "--input", "-", "--json", stdin=INPUT)

    assert by_file.json["task"]["input"]["order_id"] == "中文"
    assert by_stdin.json["task"]["input"]["order_id"] == "A1"


def test_the_same_key_and_request_print_the_same_task(manage: Manage) -> None:
    line = ("task", "submit", NAME, "--input", INPUT, "--key", "k", "--json")

    assert manage(*line).json["task"]["id"] == manage(*line).json["task"]["id"]


def test_waiting_for_a_task_that_nobody_takes_exits_1_with_its_state(manage: Manage) -> None:
    done = manage("task", "submit", NAME, "--input", INPUT, "--wait", "0.05", "--json")

    assert done.status == 1
    assert done.json["task"]["state"] == "initialized"
    assert "No worker serves its queue" in done.json["why"]


MANIFESTS = {
    "widens": {"limits": {"steps": 1000}},
    "unknown-tool": {"tools": ["lok"]},
    "wrong": {"limits": {"steps": "many"}},
    "list": [],
}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nobody", "--input", INPUT], f"No agent is named 'nobody'; known agents: .*{NAME}"),
        ([NAME, "--input", "{}"], "The input does not fit agent"),
        ([NAME, "--input", "[]"], "the input must be a JSON object"),
        ([NAME, "--input", "{"], "--input cannot be used: it is not JSON"),
        ([NAME, "--input", "NaN"], "--input cannot be used: it is not JSON .NaN"),
        ([NAME, "--input", '{"order_id": NaN}'], "NaN is no JSON number"),
        ([NAME, "--input", "@/nowhere"], "--input cannot be used: .*No such file"),
        ([NAME, "--input", "[" * 100_000], "it is nested too deeply"),
        ([NAME], "the following arguments are required: --input"),
        ([NAME, "--input", INPUT, "--manifest", "widens"], "may only narrow its agent's: limits"),
        ([NAME, "--input", INPUT, "--manifest", "unknown-tool"], "has no tool 'lok'"),
        ([NAME, "--input", INPUT, "--manifest", "wrong"], "The manifest was refused: limits.steps"),
        ([NAME, "--input", INPUT, "--manifest", "list"], "a manifest is a JSON object"),
        ([NAME, "--input", INPUT, "--manifest", "nowhere"], "--manifest cannot be used"),
        ([NAME, "--input", INPUT, "--key", "used"], "Key 'used' was already used with a different"),
        ([NAME, "--input", INPUT, "--key", ""], "is not a valid key"),
        ([NAME, "--input", INPUT, "--wait", "nan"], "'nan' is not a number of seconds"),
        ([NAME, "--input", INPUT, "--wait", "-1"], "'-1' is not a number of seconds"),
        ([NAME, "--input", INPUT, "--priority", "first"], "'first' is not a whole number"),
        ([NAME, "--input", INPUT, "--priority", "-9999"], "is not a valid priority"),
        ([NAME, "--input", INPUT, "--namespace", "a b"], "is not a valid namespace"),
    ],
)
def test_a_wrong_submit_gets_one_sentence_and_exit_2(
    manage: Manage, tmp_path: Path, arguments: list[str], says: str
) -> None:
    submit(key="used", title="another request")
    for name, manifest in MANIFESTS.items():
        (tmp_path / name).write_text(json.dumps(manifest))
    if "--manifest" in arguments:
        arguments = [*arguments[:-1], str(tmp_path / arguments[-1])]

    done = manage("task", "submit", *arguments, "--json")

    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1, done.err
    assert done.err.rstrip().endswith((".", "`manage.py task submit --help`."))
    assert re.search(says, done.err, re.IGNORECASE), done.err
    assert len(api.tasks().rows) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["show"],
        ["events"],
        ["why"],
        ["effects"],
        ["pause", "--reason", "r"],
        ["resume", "--reason", "r"],
        ["cancel", "--reason", "r"],
        ["retry", "--reason", "r"],
    ],
)
@pytest.mark.parametrize(
    ("task_id", "says"),
    [
        ("0198", "'0198' is not a valid id."),
        ("x" * 36, "is not a valid id."),
        ("01980000-0000-7000-8000-00000000beef", "There is no task"),
    ],
)
def test_an_id_that_is_none_or_unknown_gets_one_sentence_and_exit_2(
    manage: Manage, words: list[str], task_id: str, says: str
) -> None:
    done = manage("task", words[0], task_id, *words[1:])

    assert (done.status, done.out) == (2, "")
    assert says in done.err
    assert done.err.count("\n") == 1


def test_a_lever_without_a_reason_is_refused(manage: Manage) -> None:
    done = manage("task", "cancel", submit())

    assert done.status == 2
    assert "--reason" in done.err


def test_levers_work_with_no_worker_alive(manage: Manage) -> None:
    task_id = submit()

    paused = manage("task", "pause", task_id, "--reason", "lunch", "--json")
    resumed = manage("task", "resume", task_id, "--reason", "back", "--json")
    cancelled = manage("task", "cancel", task_id, "--reason", "enough", "--json")

    assert paused.json["task"]["held"]
    assert "human:local paused it" in paused.json["why"]
    assert not resumed.json["task"]["held"]
    assert cancelled.json["task"]["state"] == "terminated_aborted"


def test_a_lever_with_no_place_in_this_state_exits_2(manage: Manage) -> None:
    done = manage("task", "retry", submit(), "--reason", "r")

    assert done.status == 2
    assert "cannot be retried now: it is in state initialized." in done.err


def test_a_moved_situation_refuses_a_resume(manage: Manage) -> None:
    task_id = submit()
    api.pause(task_id, reason="", by="human:ann")

    done = manage("task", "resume", task_id, "--reason", "r", "--situation", "1")

    assert done.status == 2
    assert "has moved on since it was read (situation 1, now 2)" in done.err


def test_tasks_are_listed_by_state_agent_and_words_page_by_page(manage: Manage) -> None:
    ids = [str(submit(title=f"order {number}")) for number in range(3)]
    Hand(UUID(ids[0])).start()

    planning = manage("task", "list", "--state", "planning", "--json").json
    free = manage("task", "list", "--state", "initialized", "--agent", NAME, "--json").json
    found = manage("task", "list", "--search", "order 1", "--json").json
    first = manage("task", "list", "--limit", "2", "--json").json
    second = manage("task", "list", "--limit", "2", "--cursor", first["cursor"], "--json").json

    assert [task["id"] for task in planning["tasks"]] == ids[:1]
    assert [task["id"] for task in free["tasks"]] == ids[:0:-1]
    assert [task["id"] for task in found["tasks"]] == [ids[1]]
    assert [task["id"] for task in first["tasks"] + second["tasks"]] == ids[::-1]
    assert second["cursor"] is None


def test_a_state_that_there_is_not_is_refused_with_those_there_are(manage: Manage) -> None:
    done = manage("task", "list", "--state", "asleep")

    assert done.status == 2
    assert "'asleep' is not a valid state (one of initialized, planning" in done.err


def test_effects_are_told_in_one_word_each(manage: Manage) -> None:
    task_id = submit()
    Hand(task_id).start().read().begin().succeed()

    done = manage("task", "effects", task_id, "--json")

    (effect,) = done.json["effects"]
    assert (effect["word"], effect["tool"], effect["dispatches"]) == ("confirmed", "pay", 1)
    assert [event["type"] for event in effect["events"]] == [
        "tool_call_started",
        "tool_call_succeeded",
    ]


def test_all_events_are_told_in_order(manage: Manage) -> None:
    task_id = submit()
    Hand(task_id).start().read()

    done = manage("task", "events", task_id, "--json")

    assert [(event["seq"], event["type"]) for event in done.json["events"]] == [
        (1, "task_created"),
        (2, "task_started"),
        (3, "tool_call_succeeded"),
    ]
    assert len(manage("task", "events", task_id, "--after", "2", "--json").json["events"]) == 1


@pytest.mark.parametrize("action", ["list", "show", "events", "why", "effects"])
def test_what_people_see_fits_a_hundred_columns_with_whole_ids(manage: Manage, action: str) -> None:
    title = "a title that is much longer than any line of a terminal can be " * 3
    task_id = submit(title=f"{title}\x1b[31m")
    Hand(task_id).start().read(result="x" * 500).begin().doubt()

    done = manage("task", action, *([] if action == "list" else [task_id]))

    assert done.status == 0
    assert max(map(len, done.out.splitlines())) <= 100
    assert "\x1b" not in done.out
    if action in {"list", "show"}:
        assert str(task_id) in done.out


def test_a_result_of_any_kind_is_printed(manage: Manage) -> None:
    task_id = submit()
    odd = {"n": 2**60, "f": float("nan"), "b": b"\x00", "s": "\ud800", "set": {1}}
    Hand(task_id).start().finish(odd)

    done = manage("task", "show", task_id, "--json")

    result = done.json["task"]["result"]
    assert (result["n"], result["f"], result["b"]) == (str(2**60), "nan", {"bytes": "00"})
    assert manage("task", "show", task_id).status == 0


@pytest.mark.parametrize("lever", ["pause", "cancel"])
def test_a_lever_with_an_empty_reason_is_refused(manage: Manage, lever: str) -> None:
    done = manage("task", lever, str(submit()), "--reason", " ")

    assert (done.status, done.out) == (2, "")
    assert "--reason cannot be used" in done.err


def test_an_argument_that_is_no_text_is_refused_in_one_sentence(manage: Manage) -> None:
    """What a shell passes that is not UTF-8 arrives as lone surrogates."""
    done = manage("task", "list", "--agent", "caf\udce9")

    assert done.status == 2
    assert done.err == "agent cannot be used: it is not valid UTF-8.\n"
