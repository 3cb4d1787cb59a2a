"""The workers' page: who is how, what they hold and held, and what administrators do to them."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import dramatiq
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from dramatiq.brokers.redis import RedisBroker

from console.access import Role
from console.models import AuditEntry
from console.pages import workers
from console.queries import workers as reads
from runtime import api
from runtime.core.effects import Effect
from runtime.core.errors import LeaseLost
from runtime.models import Task, Worker
from runtime.store import leases
from tests.agents_for_tests.clerk import NAME
from tests.agents_for_tests.hand import Hand

type Submit = Callable[..., UUID]
type AsRole = Callable[[Role | None], Client]


@pytest.fixture
def administrator(as_role: AsRole) -> Client:
    return as_role(Role.ADMINISTRATOR)


def _page(client: Client) -> str:
    answer = client.get("/workers/")
    assert answer.status_code == 200
    return answer.content.decode()


def _worker(**facts: object) -> api.WorkerView:
    usual = {
        "id": uuid4(),
        "host": "host",
        "pid": 1,
        "kind": "worker",
        "queues": ("default",),
        "slots": 10,
        "held": 0,
        "memory_mb": 50,
        "version": "1",
        "state": "running",
        "started_at": datetime(2026, 1, 1, tzinfo=UTC),
        "heartbeat_s": 0.5,
        "lease_left_s": 14.5,
        "ended_at": None,
        "death": None,
        "refusals": 0,
        "agents": (),
        "drain_asked_at": None,
        "left_behind": (),
    }
    return api.WorkerView(**{**usual, **facts})  # type: ignore[arg-type]


ASKED = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("facts", "state"),
    [
        ({}, "healthy"),
        ({"heartbeat_s": 4, "lease_left_s": 11}, "late"),
        ({"heartbeat_s": 0.9, "lease_left_s": 0.1}, "late"),
        ({"heartbeat_s": 15.5, "lease_left_s": -0.5}, "lost"),
        ({"state": "draining"}, "draining"),
        ({"drain_asked_at": ASKED}, "draining"),
        ({"heartbeat_s": 4, "lease_left_s": 11, "drain_asked_at": ASKED}, "late"),
        ({"state": "dead"}, "dead"),
        ({"state": "stopped"}, "stopped"),
    ],
)
def test_a_worker_is_as_its_lease_says(facts: dict[str, object], state: str) -> None:
    assert workers.state_of(_worker(**facts)) == state
    assert state in workers.STATES


def test_the_troubled_come_first_and_each_shows_what_it_holds(
    operator: Client, submitted: Submit
) -> None:
    task_id = submitted(title="Refund A1")
    healthy = Hand(task_id).start()
    lost = Hand(submitted())
    dead = Hand(submitted())
    Worker.objects.filter(pk=lost.worker).update(expires_at=ASKED, renewed_at=ASKED)
    leases.bury_one(dead.worker, "signal 9")

    page = _page(operator)

    order = re.findall(r'id="worker-([0-9a-f-]{36})"', page)
    assert order == [str(lost.worker), str(dead.worker), str(healthy.worker)]
    assert "signal 9" in page
    assert "Refund A1" in page
    assert "epoch 1" in page


def test_the_dead_stay_with_what_they_held(operator: Client, submitted: Submit) -> None:
    task_id = submitted()
    leases.bury_one(Hand(task_id).worker, "signal 9")

    page = _page(operator)

    assert "Held when it died" in page
    assert f"/tasks/{task_id}/" in page


def test_first_use_says_how_to_start_a_worker(operator: Client) -> None:
    assert "uv run manage.py worker" in _page(operator)


def test_a_queue_that_nobody_serves_is_an_alert(operator: Client, submitted: Submit) -> None:
    submitted()

    page = _page(operator)

    assert "No worker can run the queue “default”." in page
    assert "One task waits there" in page
    assert "No worker serves" in workers.unserved("default")


def test_whoever_serves_a_queue_must_take_tasks_and_know_the_agent(submitted: Submit) -> None:
    hand = Hand(submitted())
    assert workers.unserved("default") == ""
    assert "knows the agent" in workers.unserved("default", NAME)

    Worker.objects.filter(pk=hand.worker).update(agents=[NAME])
    assert workers.unserved("default", NAME) == ""

    Worker.objects.filter(pk=hand.worker).update(state="draining")
    assert "is draining" in workers.unserved("default")


def test_a_broker_that_is_away_is_not_the_same_as_no_workers(
    operator: Client, submitted: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    Hand(submitted())
    monkeypatch.setattr("django.conf.settings.BROKER_URL", "redis://127.0.0.1:1/0")

    page = _page(operator)

    assert "The broker’s store cannot be reached" in page
    assert "One worker lives; 0 of 10 leases are taken." in page


def test_a_broker_that_answers_tells_its_counts(operator: Client) -> None:
    page = _page(operator)

    assert "Unacknowledged" in page
    assert "Dead letters" in page


def test_messages_that_were_given_up_are_listed_as_text(
    operator: Client, broker: RedisBroker
) -> None:
    assert 'data-keep="letters"' not in _page(operator)
    sent: dramatiq.Message[Any] = dramatiq.Message(
        queue_name="slow", actor_name="<b>take", args=("t-1",), kwargs={}, options={}
    )
    broker.declare_queue("slow")
    broker.enqueue(sent)

    consumer = broker.consume("slow", timeout=100)
    given = next(consumer)
    assert given is not None
    consumer.nack(given)
    consumer.close()

    page = _page(operator)
    assert api.dead().letters[0].id in page
    assert "&lt;b&gt;take" in page
    assert "manage.py dead requeue" in page


def test_no_lease_claims_to_know_its_age_nor_what_it_did_not_look_at(
    operator: Client, submitted: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Hand(submitted()).start(), Hand(submitted()).start()
    Task.objects.filter(owner=second.worker).update(owner=first.worker)
    Worker.objects.filter(pk=first.worker).update(held=2)

    page = _page(operator)

    assert "Unmoved longest</th>" in page
    assert "no lease tells its age" in page
    assert "≥" not in page
    monkeypatch.setattr(reads, "LOOKED_AT", 1)
    assert "and ≥ stands before it" in _page(operator)


def test_a_page_reads_as_much_whatever_the_number_of_workers(
    operator: Client, submitted: Submit
) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as caught:
            _page(operator)
        return len(caught)

    Hand(submitted())
    one = cost()
    for _ in range(4):
        Hand(submitted())

    assert cost() == one


# --- draining -----------------------------------------------------------------------------------


def test_an_administrator_has_a_worker_drain_and_take_tasks_again(
    administrator: Client, submitted: Submit
) -> None:
    worker = Hand(submitted()).worker
    leases.renew(worker, 60, held=1, memory_mb=50, state="running")
    address = f"/workers/{worker}/drain/"

    asked = administrator.get(address, headers={"HX-Request": "true"}).content.decode()
    refused = administrator.post(address, {"reason": " "})
    done = administrator.post(address, {"reason": "deploy"}, headers={"HX-Request": "true"})

    assert "The one task it holds goes on there" in asked
    assert "No other worker serves the queue “default”" in asked
    assert refused.status_code == 422
    assert done.status_code == 204
    assert "takes no more" in json.loads(done.headers["HX-Trigger"])["signalbox:done"]["said"]
    assert Worker.objects.get(pk=worker).drain_asked_at is not None
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.object, entry.reason) == (
        "worker.drain",
        f"worker:{worker}",
        "deploy",
    )
    assert "Take tasks again" in _page(administrator)

    administrator.post(address, {"reason": "deployed", "again": "1"})

    assert Worker.objects.get(pk=worker).drain_asked_at is None


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_others_may_look_and_steer_nothing(role: Role, as_role: AsRole, submitted: Submit) -> None:
    hand = Hand(submitted())
    client = as_role(role)

    page = _page(client)

    assert "Drain" not in page
    assert "Release" not in page
    assert client.post(f"/workers/{hand.worker}/drain/", {"reason": "x"}).status_code == 403
    address = f"/tasks/{hand.desk.claimed.id}/force-release/"
    assert client.post(address, {"reason": "x", "epoch": 1}).status_code == 403


def test_a_worker_that_is_gone_cannot_be_drained(administrator: Client, submitted: Submit) -> None:
    worker = Hand(submitted()).worker
    leases.retire(worker)

    assert administrator.get(f"/workers/{uuid4()}/drain/").status_code == 404
    late = administrator.post(f"/workers/{worker}/drain/", {"reason": "deploy"})
    assert late.status_code == 404
    assert b"no living worker" in late.content


# --- taking a task out of its worker's hands ----------------------------------------------------


def _release(client: Client, task_id: UUID, epoch: int, **typed: str) -> int:
    typed = {"reason": "it hangs", "epoch": str(epoch), **typed}
    return client.post(f"/tasks/{task_id}/force-release/", typed).status_code


def test_a_release_frees_the_task_behind_a_new_fence_and_is_audited(
    administrator: Client, submitted: Submit
) -> None:
    task_id = submitted()
    hand = Hand(task_id).start()

    assert _release(administrator, task_id, 1) == 302

    row = Task.objects.get(pk=task_id)
    assert (row.owner, row.epoch) == (None, 2)
    with pytest.raises(LeaseLost):
        hand.ask()
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.result, entry.reason) == ("task.force_release", "done", "it hangs")


def test_a_release_of_what_has_changed_hands_is_refused_and_keeps_the_reason(
    administrator: Client, submitted: Submit
) -> None:
    task_id = submitted()
    Hand(task_id).start().give_back()
    Hand(task_id)

    answer = administrator.post(
        f"/tasks/{task_id}/force-release/", {"reason": "it hangs", "epoch": "1"}
    )

    assert answer.status_code == 409
    assert b"not held at epoch 1 any more" in answer.content
    assert b"it hangs" in answer.content
    assert b'name="epoch" value="2"' in answer.content
    assert Task.objects.get(pk=task_id).owner is not None


def test_nothing_to_release_says_so(administrator: Client, submitted: Submit) -> None:
    answer = administrator.get(f"/tasks/{submitted()}/force-release/")

    assert b"No worker holds this task" in answer.content


@pytest.mark.parametrize(
    ("effect", "says"),
    [
        (Effect.KEYED, "sent again under its operation id"),
        (Effect.CHECKED, "checked first"),
        (Effect.ONCE, "a person is asked"),
    ],
)
def test_the_dialog_says_what_runs_again(
    effect: Effect, says: str, administrator: Client, submitted: Submit
) -> None:
    task_id = submitted()
    Hand(task_id).start().begin(effect=effect)

    answer = administrator.get(f"/tasks/{task_id}/force-release/")

    assert says in answer.content.decode()
