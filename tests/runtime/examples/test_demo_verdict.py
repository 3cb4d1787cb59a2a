"""The demo's verdict: what the books must say before a run counts as held."""

from dataclasses import replace
from typing import Any

import pytest

from runtime.examples.aftersales.demo.verdict import Killed, Verdict, judge_books, outcome_of
from runtime.examples.aftersales.shop.books import Effect, expected_effects
from runtime.examples.aftersales.shop.seeds import SCENARIOS, make

SEEDS = make(len(SCENARIOS))
EVERYTHING = list(expected_effects(SEEDS.orders, SEEDS.requests).elements())
FIRST = SEEDS.requests[0]


def books_with(effects: list[Effect]) -> dict[str, Any]:
    books: dict[str, Any] = {"refunds": [], "mails": [], "labels": []}
    for effect in effects:
        books[f"{effect.kind}s"].append(effect._asdict())
    return books


def a_verdict() -> Verdict:
    return Verdict(
        run="r",
        tasks=13,
        states={},
        outcomes={},
        terminal=13,
        waiting=(),
        stuck=0,
        books=judge_books(SEEDS, books_with(EVERYTHING)),
        answered={},
        faults={},
        killed=Killed(pid=1, held=2, recovered_s=0.5),
        fence_refusals=0,
        problems=(),
        seconds=1.0,
    )


def test_books_that_say_what_they_should_hold() -> None:
    assert judge_books(SEEDS, books_with(EVERYTHING)).held
    assert a_verdict().failures == []


def test_a_missing_effect_is_lost_and_one_too_many_a_duplicate() -> None:
    found = judge_books(SEEDS, books_with([*EVERYTHING[1:], EVERYTHING[-1]]))

    assert found.lost == (EVERYTHING[0],)
    assert found.duplicates == (EVERYTHING[-1],)


@pytest.mark.parametrize(("times", "held"), [(0, True), (1, True), (2, False)])
def test_an_unfinished_request_may_have_had_its_effect_but_once(times: int, held: bool) -> None:  # noqa: FBT001 (a parameter of the table)
    others = [effect for effect in EVERYTHING if effect.order_id != FIRST["order_id"]]
    mail = Effect("mail", FIRST["order_id"])

    found = judge_books(
        SEEDS, books_with([*others, *[mail] * times]), unfinished={FIRST["request_id"]}
    )

    assert found.held is held
    assert found.lost == ()


def test_an_aborted_request_must_have_had_no_effect() -> None:
    found = judge_books(SEEDS, books_with(EVERYTHING), aborted={FIRST["request_id"]})

    assert {effect.order_id for effect in found.unexpected} == {FIRST["order_id"]}


@pytest.mark.parametrize(
    "broken",
    [
        {"stuck": 1},
        {"problems": ("task 1: seq 3 is missing",)},
        {"killed": None},
        {"killed": Killed(pid=1, held=2, recovered_s=None)},
        {"books": judge_books(SEEDS, books_with(EVERYTHING[1:]))},
        {"books": judge_books(SEEDS, books_with([*EVERYTHING, EVERYTHING[0]]))},
        {"books": judge_books(SEEDS, books_with([*EVERYTHING, Effect("label", "A-9")]))},
    ],
)
def test_each_invariant_alone_breaks_the_verdict(broken: dict[str, Any]) -> None:
    verdict = replace(a_verdict(), **broken)

    assert len(verdict.failures) == 1
    assert verdict.as_json()["held"] is False


def test_an_outcome_is_the_agents_word_or_else_the_state() -> None:
    assert outcome_of("terminated_success", {"outcome": "refunded"}) == "refunded"
    assert outcome_of("waiting_human", None) == "waiting human"
