"""What the books should say, how they are held against it, and the robot that reads them."""

from collections import Counter
from typing import Any

import pytest

from runtime.examples.aftersales import robot
from runtime.examples.aftersales.control import ShopDesk
from runtime.examples.aftersales.money import display, refundable_minor
from runtime.examples.aftersales.shop.books import Effect, compare, expected_effects
from runtime.examples.aftersales.shop.seeds import SCENARIOS, make

type Json = dict[str, Any]

MAIL, REFUND = Effect("mail", "A"), Effect("refund", "A", 500, "EUR")


def books(*effects: Effect) -> Json:
    written: Json = {"refunds": [], "mails": [], "labels": []}
    for effect in effects:
        written[f"{effect.kind}s"].append(effect._asdict())
    return written


def test_books_that_say_what_they_should_hold() -> None:
    judged = compare(Counter([MAIL, REFUND]), books(REFUND, MAIL))

    assert judged.held
    assert (judged.expected, judged.seen) == (2, 2)


def test_an_effect_seen_again_is_a_duplicate_and_one_not_seen_is_lost() -> None:
    judged = compare(Counter([MAIL, REFUND]), books(MAIL, MAIL, MAIL))

    assert judged.duplicates == (MAIL, MAIL)
    assert judged.lost == (REFUND,)
    assert not judged.held


def test_a_wrong_amount_is_both_lost_and_unexpected() -> None:
    wrong = REFUND._replace(amount_minor=501)

    judged = compare(Counter([REFUND]), books(wrong))

    assert (judged.lost, judged.unexpected, judged.duplicates) == ((REFUND,), (wrong,), ())


def test_an_unexpected_effect_seen_twice_is_a_duplicate_too() -> None:
    judged = compare(Counter(), books(MAIL, MAIL))

    assert (judged.unexpected, judged.duplicates) == ((MAIL,), (MAIL,))


def test_each_odd_order_should_have_its_own_effects() -> None:
    seeds = make(len(SCENARIOS))

    expected = expected_effects(seeds.orders, seeds.requests)

    found = Counter(effect.kind for effect in expected.elements())
    unrefundable = {"no such order", "too late", "free", "fully refunded"}
    assert found["mail"] == len(SCENARIOS) - 1
    assert found["refund"] == len(SCENARIOS) - len(unrefundable)
    assert expected.total() == len(expected)


def test_an_aborted_request_should_have_no_effects() -> None:
    seeds = make(1)

    aborted = [seeds.requests[0]["request_id"]]

    assert not expected_effects(seeds.orders, seeds.requests, aborted=aborted)


def test_seeds_repeat_and_a_longer_list_begins_with_the_shorter_one() -> None:
    assert make(30, seed=7) == make(30, seed=7)
    assert make(30, seed=7).orders[:9] == make(10, seed=7).orders
    assert make(30, seed=7).orders != make(30, seed=8).orders


@pytest.mark.parametrize(
    ("amount_minor", "currency", "text"),
    [
        (24_000, "EUR", "240.00 EUR"),
        (5, "EUR", "0.05 EUR"),
        (-5, "EUR", "-0.05 EUR"),
        (1_200, "JPY", "1200 JPY"),
        (1_250, "KWD", "1.250 KWD"),
    ],
)
def test_an_amount_reads_with_the_digits_of_its_currency(
    amount_minor: int,
    currency: str,
    text: str,
) -> None:
    assert display(amount_minor, currency) == text


def test_a_refund_leaves_out_what_is_not_returnable_and_what_was_paid_back() -> None:
    items = make(11).orders[-1]["items"]
    total = sum(item["quantity"] * item["unit_minor"] for item in items)
    kept = items[0]["quantity"] * items[0]["unit_minor"]

    assert refundable_minor(items, total, 100) == total - kept - 100
    assert refundable_minor(items, total, total) == 0


class KnownBooks:
    """Books in memory, for the robot's own rules."""

    def __init__(self, effects: Json, *, pending: bool = False) -> None:
        self._effects = {"refunds": [], "mails": [], "labels": [], "pending": pending} | effects

    def order(self, order_id: str) -> Json | None:
        return {"currency": "JPY"} if order_id == "A-1" else None

    def effects_of(self, operation_id: str) -> Json:
        return self._effects if operation_id == "op_1" else self._effects | {"mails": []}

    def books(self) -> Json:
        return self._effects


SENT = KnownBooks({"mails": [{"id": 4, "order_id": "A-1"}]})
NOTHING = KnownBooks({})


def review(kind: str, **fields: object) -> Json:
    return {"kind": kind, "tool": "notify_customer", "operation_id": "op_1", **fields}


@pytest.mark.parametrize("kind", ["in_doubt", "killed_worker", "retries_exhausted"])
def test_the_robot_gives_the_result_where_the_books_show_it_and_else_says_retry(
    kind: str,
) -> None:
    happened = robot.answer(review(kind), SENT)
    not_happened = robot.answer(review(kind), NOTHING)

    assert happened["decision"] == "result"
    assert happened["arguments"] == {"result": {"mail_id": 4, "status": "sent"}}
    assert not_happened["decision"] == "retry"


def test_the_robot_does_not_answer_while_the_shop_is_still_at_work() -> None:
    with pytest.raises(robot.CannotAnswerError, match="still at work"):
        robot.answer(review("in_doubt"), KnownBooks({}, pending=True))


def test_the_robot_takes_a_repeated_write_for_the_first_one() -> None:
    repeated = review("repeated_write", operation_id="op_2", arguments={"order_id": "A-1"})

    assert robot.answer(repeated, SENT)["decision"] == "result"


def test_the_robot_answers_a_question_from_the_order() -> None:
    question = 'Order "A-1" was paid in JPY, the customer asks for USD. Which?'

    answered = robot.answer({"kind": "question", "question": question}, NOTHING)

    assert (answered["decision"], answered["arguments"]) == ("answer", {"answer": "JPY"})


@pytest.mark.parametrize(
    ("kind", "decision"),
    [("plan_invalid", "abort"), ("checkpoint_unreadable", "rebuild")],
)
def test_the_robot_has_one_answer_to_a_broken_plan_or_checkpoint(kind: str, decision: str) -> None:
    assert robot.answer({"kind": kind}, NOTHING)["decision"] == decision


def test_the_robot_never_decides_what_is_not_allowed_or_not_known() -> None:
    with pytest.raises(robot.CannotAnswerError, match="allowed"):
        robot.answer(review("in_doubt", allowed=["retry", "abort"]), SENT)
    with pytest.raises(robot.CannotAnswerError, match="not known"):
        robot.answer(review("strange"), SENT)


def test_the_robot_reads_a_real_shop(desk: ShopDesk) -> None:
    answered = robot.answer(review("in_doubt", operation_id="op_never_sent"), desk)

    assert answered["decision"] == "retry"
