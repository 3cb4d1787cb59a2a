"""The faults a test can order: each does to a call exactly what it says, as often as it says."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import httpx
import pytest

from runtime.core.errors import Ambiguous, Permanent, Retryable
from runtime.examples.aftersales import client
from runtime.examples.aftersales.control import ShopDesk
from runtime.examples.aftersales.shop.faults import FaultBook, FaultRefusedError
from runtime.examples.aftersales.shop.launch import ShopProcess, start_shop

type Json = dict[str, Any]


@pytest.fixture
def http(shop: ShopProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=shop.url, timeout=10, trust_env=False) as connection:
        yield connection


@pytest.fixture
def agent(shop: ShopProcess, monkeypatch: pytest.MonkeyPatch) -> Callable[[Awaitable[Json]], Json]:
    """Run a call of the agent's client to its end, on a loop of its own."""
    monkeypatch.setenv(client.ADDRESS_VARIABLE, shop.url)
    return run


def run(call: Awaitable[Json]) -> Json:
    async def whole() -> Json:
        try:
            return await call
        finally:
            await client.close()

    return asyncio.run(whole())


def mail(operation_id: str = "") -> Json:
    return {"operation_id": operation_id or f"op_{uuid4().hex}", "to": "a@example.com"}


def test_a_lost_answer_leaves_its_effect_in_the_books(
    desk: ShopDesk,
    agent: Callable[[Awaitable[Json]], Json],
) -> None:
    desk.order_fault("lose_answer", "/mails", count=1)
    body = mail()

    with pytest.raises(Ambiguous):
        agent(client.send_mail(body))

    assert len(desk.effects_of(body["operation_id"])["mails"]) == 1


def test_a_failure_before_the_commit_is_ambiguous_to_a_write_and_leaves_nothing(
    desk: ShopDesk,
    agent: Callable[[Awaitable[Json]], Json],
) -> None:
    desk.order_fault("fail", "/mails", count=1)
    body = mail()

    with pytest.raises(Ambiguous):
        agent(client.send_mail(body))

    assert desk.effects_of(body["operation_id"])["mails"] == []
    assert agent(client.send_mail(body))["status"] == "sent"


def test_a_failing_read_may_simply_be_repeated(
    desk: ShopDesk,
    agent: Callable[[Awaitable[Json]], Json],
) -> None:
    desk.order_fault("fail", "/orders", count=1, status=503, retry_after=7)

    with pytest.raises(Retryable) as refused:
        agent(client.get_entitlement("A-1-00000"))  # type: ignore[arg-type]

    assert refused.value.after_s == 7


def test_a_refusal_is_permanent(desk: ShopDesk, agent: Callable[[Awaitable[Json]], Json]) -> None:
    desk.order_fault("refuse", "/mails", count=1, status=409)

    with pytest.raises(Permanent, match="409"):
        agent(client.send_mail(mail()))


@pytest.mark.parametrize(
    ("ordered", "least_s", "most_s"),
    [({"retry_after": "120"}, 120, 120), ({"retry_after_date_s": 90}, 80, 91)],
    ids=["seconds", "date"],
)
def test_a_rate_limit_names_its_pause_in_seconds_or_as_a_date(
    desk: ShopDesk,
    agent: Callable[[Awaitable[Json]], Json],
    ordered: Json,
    least_s: float,
    most_s: float,
) -> None:
    desk.order_fault("rate_limit", "/mails", count=1, **ordered)

    with pytest.raises(Retryable) as refused:
        agent(client.send_mail(mail()))

    assert refused.value.after_s is not None
    assert least_s <= refused.value.after_s <= most_s


@pytest.mark.parametrize("junk", ["soon", "-1", "", "Wed, 99 Foo 2026"])
def test_a_pause_that_is_junk_counts_as_none(
    desk: ShopDesk,
    agent: Callable[[Awaitable[Json]], Json],
    junk: str,
) -> None:
    desk.order_fault("rate_limit", "/mails", count=1, retry_after=junk)

    with pytest.raises(Retryable) as refused:
        agent(client.send_mail(mail()))

    assert refused.value.after_s is None


def test_a_dripping_answer_arrives_whole_but_a_deadline_cuts_it(
    http: httpx.Client,
    desk: ShopDesk,
) -> None:
    desk.order_fault("drip", "/mails", count=1, seconds=0.001)
    desk.order_fault("drip", "/mails", count=1, seconds=60)
    cut = mail()

    assert http.post("/mails", json=mail()).json()["status"] == "sent"
    with pytest.raises(httpx.ReadTimeout):
        http.post("/mails", json=cut, timeout=0.2)

    assert len(desk.effects_of(cut["operation_id"])["mails"]) == 1


def test_a_hanging_call_is_never_answered_and_never_done(
    http: httpx.Client,
    desk: ShopDesk,
) -> None:
    desk.order_fault("hang", "/mails", count=1)
    body = mail()

    with pytest.raises(httpx.ReadTimeout):
        http.post("/mails", json=body, timeout=0.2)

    noted = desk.wait_for_calls("/mails", operation_id=body["operation_id"], timeout_s=5)
    assert [(call["status"], call["effect"]) for call in noted] == [(None, False)]
    assert desk.effects_of(body["operation_id"])["mails"] == []


def test_a_held_call_is_in_the_books_before_its_answer_is_released(
    http: httpx.Client,
    desk: ShopDesk,
) -> None:
    hold = desk.order_fault("hold", "/mails", count=1)
    body = mail()

    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(http.post, "/mails", json=body)
        desk.wait_for_calls("/mails", operation_id=body["operation_id"], timeout_s=5)
        in_books, answered = desk.effects_of(body["operation_id"])["mails"], answer.done()
        released = desk.release(hold)

        assert len(in_books) == 1
        assert not answered
        assert released == 1
        assert answer.result(5).status_code == 201


def test_a_call_held_before_its_commit_is_pending_until_released(
    http: httpx.Client,
    desk: ShopDesk,
) -> None:
    desk.order_fault("hold", "/labels", method="POST", count=1, after_commit=False)
    body = {"operation_id": f"op_{uuid4().hex}", "order_id": "A-1-00000"}
    look = f"/labels/by-operation/{body['operation_id']}"

    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(http.post, "/labels", json=body)
        desk.wait_for_calls("/labels", operation_id=body["operation_id"], timeout_s=5)
        pending = desk.effects_of(body["operation_id"], settle_s=0)
        while_pending = httpx.get(str(http.base_url) + look, trust_env=False)
        desk.release()

        assert answer.result(5).status_code == 201
    assert (pending["pending"], pending["labels"]) == (True, [])
    assert while_pending.status_code == 425
    assert desk.effects_of(body["operation_id"])["pending"] is False
    assert len(desk.calls("/labels", method="POST", operation_id=body["operation_id"])) == 1


def test_a_slow_call_is_done_although_its_caller_has_gone(
    http: httpx.Client,
    desk: ShopDesk,
) -> None:
    desk.order_fault("slow", "/mails", count=1, seconds=0.4)
    body = mail()

    with pytest.raises(httpx.ReadTimeout):
        http.post("/mails", json=body, timeout=0.1)

    settled = desk.effects_of(body["operation_id"], settle_s=5)
    assert (settled["pending"], len(settled["mails"])) == (False, 1)


def test_where_nobody_listens_nothing_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        monkeypatch.setenv(client.ADDRESS_VARIABLE, f"http://127.0.0.1:{port}")

        with pytest.raises(Retryable, match="nothing was sent"):
            run(client.send_mail(mail()))


def test_without_an_address_nothing_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(client.ADDRESS_VARIABLE, raising=False)

    with pytest.raises(Retryable, match=client.ADDRESS_VARIABLE):
        run(client.send_mail(mail()))


@pytest.mark.parametrize("order_id", ["..", ".", "", "a/b", "?x=1", "#", "\x00", "%41"])
def test_no_order_id_leads_to_another_address(
    agent: Callable[[Awaitable[Json]], Json],
    order_id: str,
) -> None:
    assert agent(client.get_order(order_id)) is None  # type: ignore[arg-type]


def test_many_calls_of_one_loop_share_its_connections(
    shop: ShopProcess,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(client.ADDRESS_VARIABLE, shop.url)

    async def many() -> list[Json | None]:
        looked_up = await asyncio.gather(*(client.get_order("A-1-00000") for _ in range(150)))
        await client.close()
        return looked_up

    assert all(asyncio.run(many()))


def test_the_books_survive_a_shop_that_is_killed(books_url: str, own_schema: str) -> None:
    first = start_shop(books_url, schema=own_schema, seed_orders=1)
    with ShopDesk(first.url) as desk:
        httpx.post(f"{first.url}/mails", json=mail("op_before"), trust_env=False)
        before = desk.books()
    first.kill()

    with start_shop(books_url, schema=own_schema, port=first.port) as second:
        with ShopDesk(second.url) as desk:
            assert desk.books() == before
        assert second.url == first.url


def test_two_shops_may_open_the_same_new_books_at_once(books_url: str, own_schema: str) -> None:
    with ThreadPoolExecutor(2) as threads:
        shops = list(
            threads.map(
                lambda _: start_shop(books_url, schema=own_schema, seed_orders=2), range(2)
            ),
        )

    try:
        for shop in shops:
            assert httpx.get(f"{shop.url}/orders/A-1-00001", trust_env=False).status_code == 200
    finally:
        for shop in shops:
            shop.stop()


def test_a_shop_ends_with_whoever_started_it(books_url: str, own_schema: str) -> None:
    shop = start_shop(books_url, schema=own_schema)
    assert shop.process.stdin is not None

    shop.process.stdin.close()

    assert shop.process.wait(5) == 0
    shop.stop()


def test_counts_skips_and_probabilities_are_exact_and_repeat() -> None:
    def strikes(**order: object) -> list[bool]:
        book = FaultBook()
        book.add({"kind": "fail", "path": "/mails", **order})
        return [book.draw("POST", "/mails", None) is not None for _ in range(6)]

    assert strikes(count=2, skip=1) == [False, True, True, False, False, False]
    assert strikes(method="GET") == [False] * 6
    assert strikes(probability=0.5, seed=3) == strikes(probability=0.5, seed=3)
    assert 0 < sum(strikes(probability=0.5, seed=3)) < 6


@pytest.mark.parametrize(
    "order",
    [
        {},
        {"kind": "explode"},
        {"kind": "fail", "times": 3},
        {"kind": "fail", "count": True},
        {"kind": "fail", "count": -1},
        {"kind": "fail", "status": 200},
        {"kind": "fail", "probability": 2},
        {"kind": "rate_limit", "retry_after": "1\r\nx: y"},
    ],
    ids=str,
)
def test_a_fault_that_makes_no_sense_is_refused(order: Json) -> None:
    with pytest.raises(FaultRefusedError):
        FaultBook().add(order)
