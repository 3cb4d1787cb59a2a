"""The shop over real HTTP: what it answers, and what its books say afterwards."""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from runtime.examples.aftersales.control import ShopDesk
from runtime.examples.aftersales.shop.launch import ShopProcess
from runtime.examples.aftersales.shop.seeds import make

type Json = dict[str, Any]

PLAIN, MISSING, LATE, DINAR = "A-1-00000", "A-1-00006", "A-1-00007", "A-1-00004"


@pytest.fixture
def http(shop: ShopProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=shop.url, timeout=10, trust_env=False) as client:
        yield client


def new_id() -> str:
    return f"op_{uuid4().hex}"


def refund(operation_id: str, /, **changes: object) -> Json:
    body: Json = {"operation_id": operation_id, "order_id": PLAIN, "amount_minor": 1}
    return body | {"currency": "EUR", "reason": "broken"} | changes


def test_an_order_is_shown_as_seeded_with_every_character(http: httpx.Client) -> None:
    for order in make(13).orders[3:6]:
        assert http.get(f"/orders/{order['id']}").json() == order


def test_an_order_that_does_not_exist_is_not_found(http: httpx.Client) -> None:
    assert http.get(f"/orders/{MISSING}").status_code == 404
    assert http.get(f"/orders/{MISSING}/entitlement").status_code == 404


def test_entitlement_ends_with_the_last_day_of_its_period(http: httpx.Client) -> None:
    last_day = "A-1-00012"

    assert http.get(f"/orders/{last_day}/entitlement").json()["entitled"] is True
    assert http.get(f"/orders/{LATE}/entitlement").json()["entitled"] is False


def test_the_same_refund_again_gets_the_same_answer_and_pays_once(
    http: httpx.Client,
    desk: ShopDesk,
) -> None:
    operation_id = new_id()

    first = http.post("/refunds", json=refund(operation_id))
    again = http.post("/refunds", json=refund(operation_id))

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json() | {"replayed": True}
    assert len(desk.effects_of(operation_id)["refunds"]) == 1
    assert http.get(f"/refunds/by-operation/{operation_id}").json()["count"] == 1


def test_two_refunds_at_once_with_one_key_pay_once_and_both_are_answered(
    http: httpx.Client,
    desk: ShopDesk,
) -> None:
    operation_id, together = new_id(), Barrier(2, timeout=5)

    def send(_: int) -> Json:
        together.wait()
        answer: Json = http.post("/refunds", json=refund(operation_id)).json()
        return answer

    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(send, range(2)))

    assert sorted(answer["replayed"] for answer in answers) == [False, True]
    assert len(desk.effects_of(operation_id)["refunds"]) == 1


@pytest.mark.parametrize(
    "change",
    [{"amount_minor": 2}, {"reason": "other"}, {"order_id": DINAR, "currency": "KWD"}],
)
def test_a_key_used_for_another_refund_is_a_conflict(
    http: httpx.Client,
    desk: ShopDesk,
    change: Json,
) -> None:
    operation_id = new_id()
    http.post("/refunds", json=refund(operation_id))

    other = http.post("/refunds", json=refund(operation_id, **change))

    assert other.status_code == 409
    assert len(desk.effects_of(operation_id)["refunds"]) == 1


def test_refunds_at_once_never_exceed_what_was_paid(http: httpx.Client, desk: ShopDesk) -> None:
    order = make(2).orders[1]
    ids, half = [new_id() for _ in range(4)], order["total_minor"] // 2

    def send(operation_id: str) -> int:
        body = refund(operation_id, order_id=order["id"], amount_minor=half)
        return http.post("/refunds", json=body).status_code

    with ThreadPoolExecutor(4) as threads:
        statuses = sorted(threads.map(send, ids))

    assert statuses == [201, 201, 422, 422]
    shown = desk.order(order["id"])
    assert shown is not None
    assert shown["refunded_minor"] == 2 * half


@pytest.mark.parametrize(
    "change",
    [
        {"amount_minor": 0},
        {"amount_minor": -5},
        {"amount_minor": True},
        {"amount_minor": 1.5},
        {"amount_minor": "1"},
        {"amount_minor": 2**70},
        {"currency": "USD"},
        {"currency": None},
        {"order_id": "A\x00"},
        {"order_id": ["A"]},
        {"operation_id": "\ud800"},
        {"operation_id": ""},
        {"operation_id": "x" * 201},
    ],
    ids=lambda change: str(change)[:40],
)
def test_a_refund_that_makes_no_sense_is_refused_for_good(
    http: httpx.Client,
    change: Json,
) -> None:
    content = json.dumps(refund(new_id(), **change))

    assert http.post("/refunds", content=content).status_code == 422


def test_each_mail_is_one_more_mail_whatever_its_operation_id(
    http: httpx.Client,
    desk: ShopDesk,
) -> None:
    mail = {"operation_id": new_id(), "order_id": PLAIN, "to": "a@example.com", "text": "hello"}

    ids = [http.post("/mails", json=mail).json()["mail_id"] for _ in range(2)]

    rows = desk.effects_of(mail["operation_id"])["mails"]
    assert [row["id"] for row in rows] == ids
    assert rows[0]["body"] == mail


def test_a_label_can_be_looked_up_but_is_printed_again(http: httpx.Client) -> None:
    operation_id = new_id()
    assert http.get(f"/labels/by-operation/{operation_id}").status_code == 404

    for _ in range(2):
        http.post("/labels", json={"operation_id": operation_id, "order_id": PLAIN})

    assert http.get(f"/labels/by-operation/{operation_id}").json()["count"] == 2


@pytest.mark.parametrize(
    "text",
    [
        "\x00",
        "\ud800 alone",
        "\u202egnp.exe",
        "王小明 🦊 الزهراء",
        "'; DROP TABLE mails; --",
        "a" * 90_000,
    ],
    ids=["nul", "surrogate", "bidi", "scripts", "sql", "long"],
)
def test_the_books_hold_any_text_exactly(http: httpx.Client, desk: ShopDesk, text: str) -> None:
    operation_id = new_id()
    mail = {"operation_id": operation_id, "to": "a@example.com", "text": text}

    answer = http.post("/mails", content=json.dumps(mail))

    assert answer.status_code == 201
    assert desk.effects_of(operation_id)["mails"][0]["body"]["text"] == text


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b"\xff\xfe", 400),
        (b'{"to": NaN}', 400),
        (b"[" * 50_000, 400),
        (b'{"to": ' + b"9" * 5_000 + b"}", 400),
        (b"x" * (1024 * 1024 + 1), 413),
    ],
    ids=["broken", "list", "bytes", "nan", "deep", "digits", "large"],
)
def test_a_body_that_is_no_json_object_is_refused_and_the_shop_lives_on(
    http: httpx.Client,
    content: bytes,
    status: int,
) -> None:
    assert http.post("/mails", content=content).status_code == status
    assert http.get("/health").status_code == 200


@pytest.mark.parametrize("path", ["/orders/%00", "/orders/%ED%A0%80", "/orders/", "/nothing"])
def test_an_address_that_leads_nowhere_is_no_order(http: httpx.Client, path: str) -> None:
    assert http.get(path).status_code in {400, 404}


def test_every_call_is_noted_with_what_it_did(http: httpx.Client, desk: ShopDesk) -> None:
    operation_id = new_id()
    for amount in (1, 1, 10**9):
        http.post("/refunds", json=refund(operation_id, amount_minor=amount))

    noted = desk.calls("/refunds", operation_id=operation_id)

    assert [(call["status"], call["effect"]) for call in noted] == [
        (201, True),
        (200, False),
        (409, False),
    ]


def test_the_shop_finds_its_books_again_after_its_connections_broke(
    http: httpx.Client,
    shop: ShopProcess,
    books_url: str,
) -> None:
    with psycopg.connect(books_url, autocommit=True) as database:
        database.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE application_name = %s",
            [f"shop {shop.schema}"],
        )

    statuses = [http.get(f"/orders/{PLAIN}").status_code for _ in range(5)]

    assert statuses == [500, 200, 200, 200, 200]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"hello\r\n\r\n", b"400"),
        (b"POST /mails HTTP/1.1\r\n\r\n", b"411"),
        (b"POST /mails HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", b"411"),
        (b"POST /mails HTTP/1.1\r\ncontent-length: -1\r\n\r\n", b"400"),
        (b"POST /mails HTTP/1.1\r\ncontent-length: " + b"9" * 5_000 + b"\r\n\r\n", b"413"),
        (b"GET /health HTTP/1.1\r\nx: " + b"y" * 70_000 + b"\r\n\r\n", b"431"),
        (b"POST /mails HTTP/1.1\r\ncontent-length: 10\r\n\r\nhalf", b""),
    ],
    ids=["words", "no length", "chunked", "negative", "digits", "long head", "half a body"],
)
def test_bytes_that_are_no_request_end_their_connection_only(
    http: httpx.Client,
    shop: ShopProcess,
    sent: bytes,
    status: bytes,
) -> None:
    with socket.create_connection(("127.0.0.1", shop.port), timeout=5) as raw:
        raw.sendall(sent)
        raw.shutdown(socket.SHUT_WR)
        with raw.makefile("rb") as answer:
            first_line = answer.readline()

    assert first_line[9:12] == status
    assert http.get("/health").status_code == 200
