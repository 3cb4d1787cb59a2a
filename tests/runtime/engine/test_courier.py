"""Callbacks against a real receiver: signed, until it has them, never where they must not go."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from runtime import api
from runtime.core.callbacks import HEADER, MOST_ATTEMPTS, CallbackRefused, holds
from runtime.engine.courier import Courier, CourierOptions
from runtime.engine.ports import Chance, Ports
from runtime.models import Callback
from tests.agents_for_tests import clerk
from tests.agents_for_tests.hand import Hand

SECRETS = ("old", "new")


@dataclass
class Receiver:
    """What came, and what is answered: statuses in turn, then 200."""

    url: str = ""
    answers: list[int] = field(default_factory=list)
    came: list[tuple[dict[str, str], bytes, str]] = field(default_factory=list)
    gate: threading.Event | None = None


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a receiver on this machine."""
    known = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            known.came.append((dict(self.headers), body, self.path))
            if known.gate is not None:
                known.gate.wait(20)
            status = known.answers.pop(0) if known.answers else 200
            self.send_response(status)
            if status in {301, 307}:
                self.send_header("Location", f"{known.url}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    known.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield known
    if known.gate is not None:
        known.gate.set()
    server.shutdown()
    server.server_close()
    thread.join(10)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver on this machine."""
    with receiving() as known:
        yield known


def courier(*, local: bool = True, timeout_s: float = 20.0) -> Courier:
    return Courier(Ports(chance=Chance(1)), CourierOptions(SECRETS, local, timeout_s=timeout_s))


def submit(url: str, key: str | None = None) -> UUID:
    return api.submit(clerk.NAME, {"order_id": "A1"}, callback_url=url, key=key).id


def ended(url: str) -> UUID:
    task_id = submit(url)
    Hand(task_id).start().finish({"paid": True})
    return task_id


def due_now(task_id: UUID) -> None:
    Callback.objects.filter(pk=task_id).update(due_at=api.task(task_id).created_at)


def status_of(task_id: UUID) -> str:
    view = api.callback(task_id)
    assert view is not None
    return view.status


@pytest.mark.django_db
def test_a_receiver_is_told_of_the_end_with_a_signature_over_the_raw_bytes(
    receiver: Receiver,
) -> None:
    task_id = ended(f"{receiver.url}/done?x=%20y")

    assert courier().run_once() == 1

    ((headers, body, path),) = receiver.came
    assert path == "/done?x=%20y"
    assert headers["Host"] == receiver.url.removeprefix("http://")
    assert headers["Content-Type"] == "application/json"
    assert (headers["X-Signalbox-Delivery"], headers["X-Signalbox-Attempt"]) == (str(task_id), "1")
    for secret in SECRETS:
        assert holds(headers[HEADER], [secret], body, time.time())
    assert not holds(headers[HEADER], ["other"], body, time.time())
    task = json.loads(body)["task"]
    assert (task["id"], task["state"]) == (str(task_id), "terminated_success")
    assert status_of(task_id) == "delivered"
    assert courier().run_once() == 0


@pytest.mark.django_db
def test_nobody_is_told_before_the_end(receiver: Receiver) -> None:
    task_id = submit(receiver.url)
    Hand(task_id).start().read().give_back()

    assert courier().run_once() == 0

    assert status_of(task_id) == "waiting"
    api.cancel(task_id, reason="r", by="human:ann")
    assert courier().run_once() == 1
    assert json.loads(receiver.came[0][1])["task"]["state"] == "terminated_aborted"


@pytest.mark.django_db
def test_a_refused_delivery_is_made_again_with_the_same_bytes(receiver: Receiver) -> None:
    receiver.answers = [500, 404, 307]
    task_id = ended(receiver.url)

    for attempt in range(1, 5):
        assert courier().run_once() == 1
        if attempt < 4:
            view = api.callback(task_id)
            assert view is not None
            assert (view.status, view.attempts) == ("due", attempt)
            assert courier().run_once() == 0, "it waits before the next attempt"
            due_now(task_id)

    assert status_of(task_id) == "delivered"
    assert len({body for _, body, _ in receiver.came}) == 1
    assert {headers["X-Signalbox-Delivery"] for headers, _, _ in receiver.came} == {str(task_id)}
    assert {path for _, _, path in receiver.came} == {"/"}, "redirects are not followed"


@pytest.mark.django_db
def test_a_receiver_that_never_takes_it_is_given_up(receiver: Receiver) -> None:
    receiver.answers = [503] * 50
    task_id = ended(receiver.url)

    for _ in range(MOST_ATTEMPTS):
        due_now(task_id)
        courier().run_once()

    view = api.callback(task_id)
    assert view is not None
    assert (view.status, view.attempts, view.answer) == ("given_up", MOST_ATTEMPTS, 503)
    assert view.failure == "the receiver answered 503"
    assert courier().run_once() == 0


@pytest.mark.django_db
def test_nobody_answers_and_the_next_attempt_is_planned() -> None:
    task_id = ended("http://127.0.0.1:9/")

    courier().run_once()

    view = api.callback(task_id)
    assert view is not None
    assert (view.status, view.answer) == ("due", None)
    assert "connection" in view.failure.lower()


@pytest.mark.django_db
def test_a_receiver_that_hangs_holds_up_no_other(receiver: Receiver) -> None:
    receiver.gate = threading.Event()
    hanging = ended(receiver.url)
    with receiving() as quick:
        other = ended(quick.url)

        courier(timeout_s=0.3).run_once()

    view = api.callback(hanging)
    assert view is not None
    assert view.failure == "no answer within 0.3 s"
    assert status_of(other) == "delivered"


@pytest.mark.django_db
def test_a_delivery_whose_courier_died_is_made_by_the_next(receiver: Receiver) -> None:
    from runtime.store import callbacks

    task_id = ended(receiver.url)
    (taken,) = callbacks.take(10, 60.0)
    assert courier().run_once() == 0, "somebody may still be at it"

    due_now(task_id)
    courier().run_once()

    assert status_of(task_id) == "delivered"
    callbacks.failed(taken, None, "the first one wakes up late", 5.0)
    assert status_of(task_id) == "delivered"


@pytest.mark.django_db(transaction=True)
def test_two_couriers_never_make_the_same_delivery_at_once(receiver: Receiver) -> None:
    for _ in range(6):
        ended(receiver.url)
    start = threading.Barrier(2)

    def run() -> None:
        start.wait(20)
        courier().run_once()
        connection.close()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    ids = [headers["X-Signalbox-Delivery"] for headers, _, _ in receiver.came]
    assert len(ids) == len(set(ids)) == 6


@pytest.mark.django_db
def test_this_machine_is_not_called_where_that_is_not_allowed(receiver: Receiver) -> None:
    task_id = ended(receiver.url)

    courier(local=False).run_once()

    assert receiver.came == []
    view = api.callback(task_id)
    assert view is not None
    assert "not allowed here" in view.failure


@pytest.mark.django_db
@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "127.1", "localhost.localdomain"])
def test_a_name_that_leads_to_this_machine_is_found_out(receiver: Receiver, host: str) -> None:
    port = receiver.url.rpartition(":")[2]
    task_id = ended(f"https://{host}:{port}/")

    courier(local=False).run_once()

    assert receiver.came == []
    assert status_of(task_id) == "due"


@pytest.mark.django_db
def test_an_address_that_must_not_be_called_refuses_the_task() -> None:
    with pytest.raises(CallbackRefused):
        submit("https://169.254.169.254/latest")

    assert not api.tasks().rows


@pytest.mark.django_db
def test_a_repeated_submit_tells_its_receiver_once(receiver: Receiver) -> None:
    first, again = submit(receiver.url, "k"), submit(receiver.url, "k")
    assert first == again
    Hand(first).start().finish()

    courier().run_once()

    assert len(receiver.came) == 1


@pytest.mark.django_db
def test_a_host_that_breaks_the_resolver_stops_nobody(receiver: Receiver) -> None:
    odd = ended("https://" + "a" * 64 + ".example/")
    other = ended(receiver.url)

    courier().run_once()

    assert (status_of(odd), status_of(other)) == ("due", "delivered")
