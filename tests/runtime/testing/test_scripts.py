"""What a test may say, and what it is told when it says something that cannot be played."""

import asyncio
from typing import Any

import pytest

from runtime.testing import (
    Crash,
    NeverEnds,
    NotPlayable,
    NotScripted,
    RanDry,
    ScriptError,
    UnknownName,
    decide,
    real,
    run,
)
from runtime.tools.context import ToolContext
from tests.runtime.testing.errands import GOOD, do, errands


def test_a_function_sees_arguments_operation_id_and_context() -> None:
    seen: list[Any] = []

    def till(order_id: str, amount: int, operation_id: str, ctx: ToolContext) -> str:
        seen.append((order_id, amount, operation_id, ctx.attempt))
        return "paid"

    path = run(errands, do({"call": "pay", "amount": 7}), tools={"pay": till})

    assert seen == [("A1", 7, path.operations[0].id, 1)]


def test_a_coroutine_function_and_an_exception_class_will_do() -> None:
    async def later(order_id: str) -> str:
        await asyncio.sleep(0)
        return f"seen {order_id}"

    path = run(errands, do("peek", "look"), tools={"peek": KeyError, "look": later})

    assert path.tools == ["peek", "look"]
    assert path.calls("look")[0].result == "seen A1"


def test_one_tool_or_all_of_them_can_be_called_for_real() -> None:
    one = run(errands, do({"add": [1, 2]}, "look"), tools={"add": real, "look": "seen"})
    every = run(errands, do({"add": [3]}), tools="real")

    assert one.calls("add")[0].result == {"sum": 3, "attempt": 1, "before": None}
    assert every.result == [["add", "succeeded", {"sum": 3, "attempt": 1, "before": None}]]


def test_a_real_tool_that_fails_is_tried_again_as_in_life() -> None:
    path = run(errands, do("look"), tools={"look": real})

    assert path.waiting is not None
    assert path.waiting.kind == "retries_exhausted"
    assert path.calls("look")[0].attempts == 3


def test_progress_reaches_the_next_attempt_also_after_a_crash() -> None:
    crash = Crash("add", "after_call")

    path = run(errands, do({"add": [1]}), tools={"add": real}, crash_at=crash)

    assert path.calls("add")[0].result["before"] == {"seen": 1}


def test_a_failed_assertion_in_a_script_fails_the_test_and_is_not_retried() -> None:
    calls: list[str] = []

    def strict(order_id: str) -> None:
        calls.append(order_id)
        assert order_id == "B2", "the wrong order"

    with pytest.raises(AssertionError, match="the wrong order"):
        run(errands, do("look"), tools={"look": strict})
    assert len(calls) == 1


def test_names_that_the_agent_does_not_know_are_named() -> None:
    for argument in ({"tools": {"lok": 1}}, {"checks": {"lok": 1}}, {"crash_at": "lok"}):
        with pytest.raises(UnknownName, match=r"'lok'.*look"):
            run(errands, do("look"), **argument)


def test_what_has_no_meaning_is_refused_in_a_sentence() -> None:
    with pytest.raises(NotPlayable, match='the word "real"'):
        run(errands, do("look"), tools="rael")
    with pytest.raises(NotPlayable, match="after_call"):
        run(errands, do("look"), tools=GOOD, crash_at=Crash("look", "sometimes"))
    with pytest.raises(NotPlayable, match="retry, abort"):
        run(errands, do("close"), tools=GOOD, decisions={"plan_invalid": decide("result", 1)})


def test_a_tool_without_an_outcome_is_named_when_it_is_called() -> None:
    with pytest.raises(NotScripted, match=r"tools=\{'pay': …\}"):
        run(errands, do("look", "pay"), tools={"look": "seen"})


def test_a_script_that_runs_dry_says_at_which_attempt() -> None:
    with pytest.raises(RanDry, match=r"look .*attempt 2.*1 scripted"):
        run(errands, do("look"), tools={"look": [ConnectionError()]})


def test_a_path_that_turns_in_circles_is_stopped() -> None:
    with pytest.raises(NeverEnds):
        run(errands, do("close"), tools=GOOD, decisions={"plan_invalid": "retry"})


def test_every_error_of_a_test_is_an_assertion() -> None:
    assert issubclass(ScriptError, AssertionError)
