"""What if the worker dies here: the path goes on as the effect class says, effects by their id."""

import pytest

from runtime.testing import Crash, decide, run
from tests.runtime.testing.errands import GOOD, do, errands


@pytest.mark.parametrize("when", ["before_call", "after_call"])
@pytest.mark.parametrize("tool", ["look", "note", "pay", "label"])
def test_a_call_that_can_be_repeated_or_checked_takes_effect_once(tool: str, when: str) -> None:
    path = run(errands, do(tool, "look"), tools=GOOD, crash_at=Crash(tool, when))

    assert path.outcome == "succeeded"
    assert path.crashes == 1
    assert [one.times for one in path.effects()] == ([1] if tool != "look" else [])
    assert path.calls(tool)[0].attempts == 1


def test_a_keyed_call_goes_out_again_under_its_id_and_nothing_else_does() -> None:
    tools = [tool for tool in GOOD if tool not in {"add", "close"}]

    paths = {tool: run(errands, do(tool), tools=GOOD, crash_at=tool) for tool in tools}

    assert {tool: path.calls(tool)[0].sent for tool, path in paths.items()} == {
        "look": 2,  # a read is read again
        "peek": 2,
        "note": 2,  # its transaction was rolled back
        "pay": 2,  # the same id: the downstream answers from memory
        "pay_soon": 2,
        "label": 1,  # the check has found it
        "mail": 1,  # never again by ourselves
    }


@pytest.mark.parametrize("when", ["before_call", "after_call"])
def test_a_once_call_is_in_doubt_and_only_a_person_says_what_happened(when: str) -> None:
    crash = Crash("mail", when)

    waits = run(errands, do("mail"), tools=GOOD, crash_at=crash)
    told = run(
        errands,
        do("mail"),
        tools=GOOD,
        crash_at=crash,
        decisions={"in_doubt": decide("result", "sent") if when == "after_call" else "retry"},
    )

    assert waits.waiting is not None
    assert waits.waiting.kind == "in_doubt"
    assert len(waits.effects("mail")) == (when == "after_call")
    assert told.outcome == "succeeded"
    assert [one.times for one in told.effects("mail")] == [1]


def test_a_crash_changes_nothing_of_what_a_list_of_outcomes_means() -> None:
    """An attempt that is made again finds the outcome it found before."""
    tools = {**GOOD, "look": ["first", "second"]}

    plain = run(errands, do("look", "look"), tools=tools)
    crashed = run(errands, do("look", "look"), tools=tools, crash_at=Crash("look", call=2))

    assert plain.result == crashed.result
    assert crashed.crashes == 1


def test_every_call_of_a_path_survives_a_crash_at_once() -> None:
    steps = do("look", "note", "pay", "label", {"add": [1]})
    tools = {**GOOD, "add": {"sum": 1}}
    everywhere = [
        Crash(tool, when)
        for tool in ("look", "note", "pay", "label", "add")
        for when in ("before_call", "after_call")
    ]

    plain = run(errands, steps, tools=tools)
    crashed = run(errands, steps, tools=tools, crash_at=everywhere)

    assert crashed.crashes == 10
    assert crashed.result == plain.result
    assert crashed.tools == plain.tools
    assert [one.times for one in crashed.effects()] == [1, 1, 1]


def test_a_step_that_kills_its_worker_goes_to_a_person_after_the_third_time() -> None:
    twice = run(errands, do("look"), tools=GOOD, crash_at=Crash("look", "in_call", times=2))
    thrice = run(errands, do("look"), tools=GOOD, crash_at=Crash("look", "in_call", times=3))
    given = run(
        errands,
        do("look", "peek"),
        tools=GOOD,
        crash_at=Crash("look", "in_call", times=4),
        decisions={"killed_worker": ["retry", "abort"]},
    )

    assert twice.outcome == "succeeded"
    assert thrice.waiting is not None
    assert thrice.waiting.kind == "killed_worker"
    assert given.outcome == "aborted"
    assert [item.kind for item in given.asked] == ["killed_worker", "killed_worker"]
