"""The demo agent's script: what it decides for each odd order, and what the books say then."""

import asyncio
from collections.abc import Iterator
from typing import Any, cast

import pytest

from runtime.core.plans import AskPlan, CallPlan, FinishPlan
from runtime.examples.aftersales import client, robot
from runtime.examples.aftersales.control import ShopDesk
from runtime.examples.aftersales.shop.books import compare, expected_effects
from runtime.examples.aftersales.shop.launch import start_shop
from runtime.examples.aftersales.shop.seeds import SCENARIOS, make

agents = pytest.importorskip("runtime.examples.aftersales.agents")

type Json = dict[str, Any]

SEEDS = make(len(SCENARIOS))


class Story:
    """As much of a planner's context as the script looks at."""

    def __init__(self, request: Json) -> None:
        self.input = request
        self.results: Json = {}
        self.answers: Json = {}

    def result(self, tool_name: str) -> Any:
        return self.results.get(tool_name)

    def answer(self, question: str) -> Any:
        return self.answers.get(question)


async def settle(request: Json, desk: ShopDesk, *, answer: str | None = None) -> Json:
    """Follow the script to its end, calling the real tools; `answer` stands in for the robot's."""
    story, writes = Story(request), 0
    while True:
        match agents.plan(story):
            case FinishPlan(result=result):
                return cast("Json", result)
            case AskPlan(question=question):
                decided = robot.answer({"kind": "question", "question": question}, desk)
                story.answers[question] = answer or decided["arguments"]
            case CallPlan(calls=(call,)):
                arguments = dict(call.arguments)
                if call.tool in {"refund_order", "notify_customer"}:
                    writes += 1
                    arguments["operation_id"] = f"{request['request_id']}.{writes}"
                value = getattr(agents, call.tool)(**arguments)
                story.results[call.tool] = await value if asyncio.iscoroutine(value) else value


async def settle_all(desk: ShopDesk) -> list[str]:
    """Settle every seeded request, one after the other."""
    try:
        settled = [await settle(dict(request), desk) for request in SEEDS.requests]
        return [result["outcome"] for result in settled]
    finally:
        await client.close()


@pytest.fixture
def own_desk(
    books_url: str,
    own_schema: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[ShopDesk]:
    """The desk of a shop whose orders nobody has touched."""
    shop = start_shop(books_url, schema=own_schema, seed_orders=len(SCENARIOS))
    monkeypatch.setenv(client.ADDRESS_VARIABLE, shop.url)
    with shop, ShopDesk(shop.url) as desk:
        yield desk


def test_each_odd_order_comes_to_its_own_end_with_the_effects_it_should_have(
    own_desk: ShopDesk,
) -> None:
    outcomes = asyncio.run(settle_all(own_desk))

    odd = {
        "no such order": "no such order",
        "too late": "not entitled",
        "free": "nothing to refund",
        "fully refunded": "nothing to refund",
    }
    assert outcomes == [odd.get(scenario.name, "refunded") for scenario in SCENARIOS]
    judged = compare(expected_effects(SEEDS.orders, SEEDS.requests), own_desk.books())
    assert judged.held, judged


def test_a_person_who_names_another_currency_ends_it_without_a_write(own_desk: ShopDesk) -> None:
    names = [scenario.name for scenario in SCENARIOS]
    request = SEEDS.requests[names.index("other currency")]

    async def whole() -> Json:
        try:
            return await settle(dict(request), own_desk, answer="usd")
        finally:
            await client.close()

    result = asyncio.run(whole())

    assert result["outcome"] == "not settled: currency"
    assert own_desk.books()["refunds"] == own_desk.books()["mails"] == []
