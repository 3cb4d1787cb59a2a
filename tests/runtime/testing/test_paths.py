"""A path is what the engine makes of the scripts: the same, in no time, every time."""

from typing import Any

import pytest

from runtime.api import Ambiguous, Permanent, Retryable
from runtime.core.breaker import DEFAULT_POLICY
from runtime.core.errors import InputRefused, ManifestWidens
from runtime.core.states import State
from runtime.examples.aftersales.agents import Request, aftersales, currency_question
from runtime.testing import always, decide, hangs, lost, run, slow
from tests.runtime.testing.errands import GOOD, do, errands

INPUT = {"request_id": "r1", "order_id": "A1", "customer_message": "It broke."}
ITEM = {"sku": "s", "title": "Lamp", "quantity": 2, "unit_minor": 100, "returnable": True}
ORDER = {
    "found": True,
    "id": "A1",
    "items": [ITEM],
    "total_minor": 200,
    "refunded_minor": 0,
    "currency": "EUR",
    "email": "ann@example.org",
    "customer_name": "Ann",
}
SHOP: dict[str, Any] = {
    "get_order": ORDER,
    "check_entitlement": {"entitled": True},
    "compute_refund": {"amount_minor": 200, "currency": "EUR", "display": "2.00 EUR"},
    "refund_order": {"id": "R1"},
    "notify_customer": {"id": "M1"},
}


def test_a_refund_is_paid_once() -> None:
    """The example of the page for authors: a busy till, and the same refund on the second try."""
    tools = {**SHOP, "refund_order": [Retryable("busy", after_s=30), {"id": "R1"}]}

    path = run(aftersales, INPUT, tools=tools)

    assert path.outcome == "succeeded"
    assert path.tools == list(SHOP)
    assert path.calls("refund_order")[0].attempts == 2
    assert [one.times for one in path.effects("refund_order")] == [1]
    assert 30 <= path.slept_s <= 31
    assert path.result["refund"] == {"id": "R1"}
    assert path.states[-3:] == [State.WAITING_TOOL_CALL, State.PLANNING, State.TERMINATED_SUCCESS]


def test_a_question_is_answered_by_its_wording_or_ends_the_path() -> None:
    asked = {**INPUT, "currency": "USD"}
    question = currency_question("A1", "EUR", "USD")

    silent = run(aftersales, asked, tools=SHOP)
    answered = run(aftersales, asked, tools=SHOP, answers={question: "EUR"})
    spoken = run(aftersales, asked, tools=SHOP, answers=lambda asked: asked and "usd")

    assert silent.outcome == "waiting"
    assert silent.waiting is not None
    assert (silent.waiting.kind, silent.waiting.question) == ("question", question)
    assert answered.outcome == "succeeded"
    assert answered.asked[0].decision == "answer"
    assert spoken.result["outcome"] == "not settled: currency"


def test_the_same_seed_gives_the_same_path_to_the_last_event() -> None:
    tools = {**GOOD, "pay": [Retryable("busy"), Retryable("busy"), "paid"]}
    steps = do("look", "pay", {"ask": "Go on?"}, "mail")

    one, two, other = (
        run(errands, steps, tools=tools, answers={"Go on?": True}, seed=seed) for seed in (7, 7, 8)
    )

    assert one.events == two.events
    assert one.happened == two.happened
    assert one.events != other.events
    assert one.story == other.story


def test_the_inputs_of_a_submit_are_checked_as_a_submit_checks_them() -> None:
    with pytest.raises(InputRefused):
        run(aftersales, {"order_id": "A1"}, tools=SHOP)
    with pytest.raises(ManifestWidens):
        run(aftersales, INPUT, tools=SHOP, manifest={"limits": {"writes": 9}})
    Request.model_validate(INPUT)


@pytest.mark.parametrize(
    ("outcome", "ends", "told"),
    [
        (Permanent("no"), "waiting", "tool_call_failed"),
        (Ambiguous("who knows"), "waiting", "tool_call_in_doubt"),
        (ValueError("a bug"), "waiting", "tool_call_in_doubt"),
        (Retryable("nothing was sent"), "waiting", "tool_call_failed"),
        (lost("sent"), "waiting", "tool_call_in_doubt"),
        (hangs(), "waiting", "tool_call_in_doubt"),
        ("sent", "succeeded", "tool_call_succeeded"),
    ],
)
def test_what_follows_an_outcome_of_a_once_tool_is_the_engines_word(
    outcome: Any, ends: str, told: str
) -> None:
    path = run(errands, do("mail"), tools={"mail": outcome})

    assert path.outcome == ends
    assert told in path.story
    assert len(path.effects("mail")) == (outcome in ("sent", lost("sent")))


def test_a_lost_answer_of_a_keyed_tool_is_fetched_with_the_same_id() -> None:
    path = run(errands, do("pay"), tools={"pay": [lost({"id": "P1"})]})

    assert path.outcome == "succeeded"
    assert path.calls("pay")[0].result == {"id": "P1"}
    assert path.calls("pay")[0].sent == 2
    assert [one.times for one in path.effects()] == [1]


def test_a_downstream_that_forgot_our_id_is_not_called_again() -> None:
    """After `key_ttl_s` the class `keyed` holds no longer: a person is asked instead."""
    path = run(errands, do("pay_soon"), tools={"pay_soon": [slow(90, "paid")]})

    assert path.waiting is not None
    assert path.waiting.kind == "in_doubt"
    assert [one.times for one in path.effects()] == [1]


def test_a_check_tells_the_truth_unless_it_is_scripted() -> None:
    true = run(errands, do("label"), tools={"label": [lost({"id": "L1"})]})
    blind = run(
        errands,
        do("label"),
        tools={"label": lost({"id": "L1"})},
        checks={"label": [False, {"id": "L2"}]},
    )

    assert [one.times for one in true.effects()] == [1]
    assert true.calls("label")[0].result == {"id": "L1"}
    assert [one.times for one in blind.effects()] == [2], "a lying check doubles the effect"


def test_a_fallback_takes_over_after_the_last_attempt() -> None:
    path = run(errands, do("peek"), tools={**GOOD, "peek": Retryable("down")})

    assert path.tools == ["peek", "look"]
    assert [call.outcome for call in path.calls()] == ["failed", "succeeded"]
    assert path.calls("peek")[0].attempts == 2


def test_preconditions_and_repeated_writes_are_refused_as_in_life() -> None:
    early = run(errands, do("close"), tools=GOOD)
    twice = run(errands, do("look", "close", {"call": "close", "why": "again"}), tools=GOOD)
    wrong = run(errands, do({"call": "pay", "amount": "much"}), tools=GOOD)

    assert early.waiting is not None
    assert "requires look" in early.waiting.why
    assert twice.waiting is not None
    assert twice.waiting.kind == "repeated_write"
    assert wrong.waiting is not None
    assert wrong.waiting.kind == "plan_invalid"


def test_a_plan_of_several_calls_runs_them_in_order() -> None:
    path = run(errands, do({"all": ["look", "pay", "note"]}), tools=GOOD)

    assert path.tools == ["look", "pay", "note"]
    assert path.outcome == "succeeded"
    assert {one.tool for one in path.effects()} == {"pay", "note"}


def test_limits_end_a_path() -> None:
    steps = run(errands, do("look", "peek", "look"), tools=GOOD, manifest={"limits": {"steps": 2}})
    writes = run(errands, do("pay", "mail"), tools=GOOD, manifest={"limits": {"writes": 1}})

    assert (steps.outcome, steps.reason) == ("failed", "its limit of 2 steps is used up")
    assert writes.outcome == "failed"
    assert [one.tool for one in writes.effects()] == ["pay"]


def test_a_deadline_passes_in_no_time() -> None:
    late = {"look": [Retryable(after_s=50), Retryable(after_s=50), "seen"]}

    path = run(errands, do("look"), tools=late, manifest={"limits": {"deadline_s": 60}})

    assert (path.outcome, path.reason) == ("failed", "its deadline passed")
    assert path.took_s == 60


def test_a_breaker_parks_a_task_without_spending_attempts() -> None:
    down = [ConnectionError("down")] * 5
    path = run(
        errands,
        do("look"),
        tools={"look": [*down, "seen"]},
        decisions={"look": ["retry", "retry"]},
    )

    assert path.outcome == "succeeded"
    assert path.slept_s >= DEFAULT_POLICY.open_s, "it opened after five failures and rested"


def test_people_decide_by_tool_by_kind_or_not_at_all() -> None:
    doubt = {"mail": [Ambiguous("who knows")]}

    by_kind = run(errands, do("mail"), tools=doubt, decisions={"in_doubt": decide("result", "M")})
    by_tool = run(
        errands, do("mail"), tools={"mail": [Ambiguous("?"), "sent"]}, decisions={"mail": "retry"}
    )
    aborted = run(
        errands, do("mail"), tools=doubt, decisions={"in_doubt": decide("abort", reason="enough")}
    )

    assert by_kind.result == [["mail", "succeeded", "M"]]
    assert by_kind.effects() == []
    assert by_tool.calls("mail")[0].result == "sent"
    assert aborted.outcome == "aborted"
    assert aborted.reason is not None
    assert "enough" in aborted.reason


@pytest.mark.parametrize("value", [[1, 2], ["a"], len, ValueError])
def test_any_value_can_be_returned_as_it_is(value: Any) -> None:
    path = run(errands, do("look"), tools={"look": always(value)})

    assert path.outcome == "succeeded"


def test_large_and_odd_values_are_kept_whole() -> None:
    large = {"text": "x" * 200_000}

    path = run(errands, do("look"), tools={"look": large})

    assert path.calls("look")[0].result == large
    assert path.outcome == "succeeded"


def test_a_path_tells_itself() -> None:
    path = run(errands, do("look", {"fail": "no more"}), tools=GOOD)

    shown = repr(path)

    assert "test-errands: failed" in shown
    assert "because no more" in shown
    assert "tool_call_succeeded look" in shown
