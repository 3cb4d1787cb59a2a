"""Doing something to many: exactly what was selected, once, with a report of each."""

import re
from collections.abc import Callable
from uuid import UUID, uuid4

import pytest
from django.test import Client, RequestFactory

from console import bulk
from console.access import Role
from console.bulk import Chosen
from console.models import AuditEntry, BulkItem, BulkRun
from runtime import api
from tests.agents_for_tests.hand import Hand

NOBODY = "01980000-0000-7000-8000-00000000beef"

type Submit = Callable[..., UUID]
type AsRole = Callable[[Role | None], Client]


def _chosen(*ids: UUID) -> list[str]:
    """What the boxes of these tasks carry now."""
    views = [api.task(task_id) for task_id in ids]
    return [f"{view.id}:{view.version}:{view.situation}" for view in views]


def _run(client: Client, lever: str, chosen: list[str], **parts: str) -> dict[UUID, str]:
    given = {"reason": "the shop is away", "key": str(uuid4()), **parts}
    answer = client.post("/tasks/bulk/run/", {"lever": lever, "task": chosen, **given})
    assert answer.status_code == 302, answer.content
    run = BulkRun.objects.get(pk=answer.headers["Location"].rstrip("/").rsplit("/", 1)[1])
    return dict(run.items.values_list("task_id", "result"))


def _entries() -> list[tuple[str, str, str]]:
    rows = AuditEntry.objects.order_by("id").values_list("action", "object", "result")
    return [(action, what.partition(":")[2], result) for action, what, result in rows]


def test_what_was_selected_is_named_before_anything_is_done(
    operator: Client, submitted: Submit
) -> None:
    blue, red = submitted(title="The blue one"), submitted(title="The red one")
    chosen = _chosen(blue, red)
    api.pause(red, reason="first", by="human:ann")

    asked = operator.post("/tasks/bulk/", {"lever": "pause", "task": [*chosen, chosen[0], "x"]})

    text = asked.content.decode()
    assert "Pause 2 tasks?" in text
    assert "The blue one" in text
    assert text.count("moved on since you selected it") == 1
    assert re.findall(r'name="task" value="([^"]+)"', text) == chosen
    assert not api.task(blue).held
    assert not BulkRun.objects.exists()


def test_each_is_done_skipped_or_refused_with_an_entry_of_its_own(
    operator: Client, submitted: Submit
) -> None:
    free, paused, ended = (submitted() for _ in range(3))
    api.pause(paused, reason="first", by="human:ann")
    chosen = _chosen(free, paused, ended)
    Hand(ended).start().finish()
    unknown = uuid4()

    results = _run(operator, "pause", [*chosen, f"{unknown}:1:1"])

    assert results == {free: "done", paused: "skipped", ended: "skipped", unknown: "refused"}
    assert api.task(free).held
    assert _entries() == [
        ("task.pause", str(free), "done"),
        ("task.pause", str(ended), "conflict"),
        ("task.pause", str(unknown), "refused"),
    ]
    said = dict(BulkItem.objects.values_list("task_id", "said"))
    assert "paused already" in said[paused]
    assert said[ended] == "Not possible while it is “success”."
    assert said[unknown] == "There is no such task."


@pytest.mark.parametrize("lever", ["resume", "retry"])
def test_a_task_that_moved_on_since_it_was_selected_is_left_alone(
    lever: str, operator: Client, submitted: Submit
) -> None:
    task_id = submitted()
    hand = Hand(task_id).start().begin().fail()
    assert hand is not None
    api.pause(task_id, reason="first", by="human:ann")
    chosen = _chosen(task_id)
    api.resume(task_id, reason="go", by="human:ann")
    api.pause(task_id, reason="again", by="human:ann")

    assert _run(operator, lever, chosen) == {task_id: "skipped"}
    assert api.task(task_id).held


def test_many_are_resumed_retried_and_cancelled(operator: Client, submitted: Submit) -> None:
    paused, retrying, lives = (submitted() for _ in range(3))
    api.pause(paused, reason="first", by="human:ann")
    Hand(retrying).start().begin().fail()

    assert _run(operator, "resume", _chosen(paused)) == {paused: "done"}
    assert _run(operator, "retry", _chosen(retrying)) == {retrying: "done"}
    assert _run(operator, "cancel", _chosen(lives)) == {lives: "done"}
    assert not api.task(paused).held
    assert api.task(lives).state == "terminated_aborted"


def test_a_form_that_is_sent_twice_is_one_run(operator: Client, submitted: Submit) -> None:
    task_id, other = submitted(), submitted()
    key = str(uuid4())

    first = _run(operator, "pause", _chosen(task_id), key=key)
    api.resume(task_id, reason="go", by="human:ann")
    again = _run(operator, "cancel", _chosen(task_id, other), key=key)

    assert first == again == {task_id: "done"}
    assert not api.task(task_id).held
    assert not api.task(other).held
    assert len(_entries()) == 1


def test_nobody_else_sees_or_sends_a_run_again(
    operator: Client, as_role: AsRole, submitted: Submit
) -> None:
    key = str(uuid4())
    _run(operator, "pause", _chosen(submitted()), key=key)
    other = as_role(Role.ADMINISTRATOR)

    given = {"lever": "pause", "task": _chosen(submitted()), "reason": "x", "key": key}
    assert other.post("/tasks/bulk/run/", given).status_code == 404
    assert other.get(f"/tasks/bulk/{key}/").status_code == 404
    assert operator.get(f"/tasks/bulk/{key}/").status_code == 200


def test_who_may_only_look_selects_nothing_and_does_nothing(
    as_role: AsRole, submitted: Submit
) -> None:
    task_id = submitted()
    viewer = as_role(Role.VIEWER)

    page = viewer.get("/tasks/").content
    given = {"lever": "pause", "task": _chosen(task_id), "reason": "x", "key": str(uuid4())}

    assert b"data-select" not in page
    assert b"data-bulk-bar" not in page
    assert viewer.post("/tasks/bulk/", given).status_code == 403
    assert viewer.post("/tasks/bulk/run/", given).status_code == 403
    assert not api.task(task_id).held


def test_a_reason_is_asked_and_what_was_typed_stays(operator: Client, submitted: Submit) -> None:
    task_id, key = submitted(), str(uuid4())
    given = {"lever": "cancel", "task": _chosen(task_id), "key": key, "reason": "  "}

    answer = operator.post("/tasks/bulk/run/", given, headers={"HX-Request": "true"})

    assert answer.status_code == 422
    assert b"bulk-reason-error" in answer.content
    assert key.encode() in answer.content
    assert not api.task(task_id).ended


@pytest.mark.parametrize(("typed", "does"), [("", 0), ("2", 0), ("3", 3), (" 3 ", 3)])
def test_to_cancel_more_than_a_few_their_number_is_typed(
    typed: str,
    does: int,
    operator: Client,
    submitted: Submit,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert bulk.TYPED_ABOVE == 20
    monkeypatch.setattr(bulk, "TYPED_ABOVE", 2)
    chosen = _chosen(*(submitted() for _ in range(3)))
    given = {"lever": "cancel", "task": chosen, "reason": "no", "key": str(uuid4())}

    asked = operator.post("/tasks/bulk/", {"lever": "cancel", "task": chosen})
    answer = operator.post("/tasks/bulk/run/", {**given, "typed": typed})

    assert b"Type 3 to go on" in asked.content
    assert answer.status_code == (302 if does else 422)
    assert BulkItem.objects.filter(result="done").count() == does


def test_nothing_and_too_much_are_said_before_anything_is_done(
    operator: Client, submitted: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "MOST", 1)
    chosen = _chosen(submitted(), submitted())

    nothing = operator.post("/tasks/bulk/", {"lever": "pause"})
    much = operator.post("/tasks/bulk/", {"lever": "pause", "task": chosen})

    assert (nothing.status_code, much.status_code) == (422, 422)
    assert b"Select tasks first" in nothing.content
    assert b"at most 1 task" in much.content
    assert operator.get("/tasks/bulk/").headers["Location"] == "/tasks/"
    assert operator.get("/tasks/bulk/run/").headers["Location"] == "/tasks/"
    assert operator.post("/tasks/bulk/", {"lever": "explode", "task": chosen}).status_code == 404


def test_a_run_that_was_interrupted_goes_on_with_what_is_left(
    operator: Client, submitted: Submit, person: Callable[[Role | None], object]
) -> None:
    """One request works for a bounded time; the next one carries on."""
    ids = [submitted() for _ in range(3)]
    request = RequestFactory().post("/")
    request.user = person(Role.OPERATOR)  # type: ignore[assignment]
    chosen = [Chosen(task_id, 1, 1) for task_id in ids]
    run = bulk.begin(request, key=uuid4(), lever="pause", reason="wait", chosen=chosen)
    assert run is not None
    bulk.carry_on(request, run, budget_s=0.0)

    told = operator.get(f"/tasks/bulk/{run.pk}/").content.decode()
    rest = operator.post(f"/tasks/bulk/{run.pk}/", headers={"HX-Request": "true"})

    assert "1 of 3 done" in told
    assert "2 are not reached yet" in told
    assert "3 of 3 done" in rest.content.decode()
    assert rest.headers["HX-Trigger"] == "signalbox:acted"
    assert all(api.task(task_id).held for task_id in ids)
    assert len(_entries()) == 3


@pytest.mark.parametrize(
    "text", ["", "x", "x:1:1", f"{NOBODY}:0:1", f"{NOBODY}:1:{1 << 40}", f"{NOBODY}:1:1:1"]
)
def test_what_is_no_selection_is_left_out(text: str) -> None:
    assert bulk.read([text]) == []
