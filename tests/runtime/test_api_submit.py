"""Submitting: one request makes one task, and a wrong one is refused before anything is written."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from runtime import api
from runtime.core.errors import (
    BadIdentifier,
    InputRefused,
    KeyReused,
    ManifestRefused,
    ManifestWidens,
    UnknownAgent,
    UnknownTask,
    UnknownTool,
)
from runtime.models import Task
from tests.agents_for_tests import clerk

pytestmark = pytest.mark.django_db


class Bell:
    """Counts the doorbell's rings; may be broken."""

    def __init__(self, broken: Exception | None = None) -> None:
        self.rung: list[tuple[str, UUID | None]] = []
        self.broken = broken

    def work(self, queue: str, task_id: UUID | None) -> None:
        if self.broken:
            raise self.broken
        self.rung.append((queue, task_id))

    def moved(self, task_id: UUID, seq: int) -> None:  # noqa: ARG002 (the port's signature)
        if self.broken:
            raise self.broken


@pytest.fixture
def bell() -> Iterator[Bell]:
    rung = Bell()
    api.set_hints(rung)
    yield rung
    api.set_hints(Bell())


def submit(**parts: Any) -> api.TaskView:
    return api.submit(**{"agent": clerk.NAME, "input": {"order_id": "A1"}, **parts})


def test_a_submitted_task_waits_for_a_worker() -> None:
    view = submit(title="First", labels={"team": "blue"}, created_by="human:ann")

    assert (view.state, view.version, view.situation) == ("initialized", 1, 1)
    assert (view.title, view.labels, view.created_by) == ("First", {"team": "blue"}, "human:ann")
    assert view.due_at is not None
    assert view.due_at <= api.task(view.id).created_at


def test_a_task_can_be_read_with_its_input_and_pinned_manifest() -> None:
    view = submit(manifest={"goal": "Look", "tools": ["look"]})

    detail = api.task(str(view.id))

    assert detail.input == {"order_id": "A1", "note": ""}
    assert detail.manifest["manifest"]["goal"] == "Look"
    assert set(detail.manifest["tool_hashes"]) == {"look"}
    assert detail.result is None


def test_its_first_event_names_agent_manifest_and_deadline() -> None:
    view = submit(manifest={"limits": {"deadline_s": 60}})

    (created,) = api.events(view.id)

    assert (created.seq, created.type, created.actor) == (1, "task_created", "system")
    assert created.payload["agent"] == clerk.NAME
    assert datetime.fromisoformat(created.payload["deadline"]) == created.at + timedelta(seconds=60)


def test_the_same_key_and_request_give_the_same_task() -> None:
    first = submit(key="k-1", labels={"a": "b"})

    again = submit(key="k-1", labels={"a": "b"})

    assert again == first
    assert Task.objects.count() == 1


@pytest.mark.parametrize(
    "other",
    [
        {"input": {"order_id": "A2"}},
        {"title": "Another"},
        {"labels": {"a": "b"}},
        {"priority": 1},
        {"manifest": {"goal": "Another"}},
        {"not_before": datetime(2999, 1, 1, tzinfo=UTC)},
    ],
)
def test_the_same_key_with_another_request_is_refused(other: dict[str, Any]) -> None:
    submit(key="k-1")

    with pytest.raises(KeyReused, match="'k-1' was already used"):
        submit(key="k-1", **other)


def test_the_same_key_in_another_namespace_is_another_task() -> None:
    first = submit(key="k-1")

    assert submit(key="k-1", namespace="other").id != first.id


def test_an_unknown_agent_is_refused_with_those_there_are() -> None:
    with pytest.raises(UnknownAgent, match=clerk.NAME):
        submit(agent="nobody")


@pytest.mark.parametrize("wrong", [{}, {"order_id": 5}, [1], None, {"order_id": "A", "x": 1}])
def test_input_that_does_not_fit_is_refused(wrong: object) -> None:
    with pytest.raises(InputRefused, match="does not fit"):
        submit(input=wrong)

    assert Task.objects.count() == 0


def test_a_manifest_that_names_an_unknown_tool_is_refused_by_that_name() -> None:
    with pytest.raises(UnknownTool, match="'lok'"):
        submit(manifest={"tools": ["lok"]})


def test_a_manifest_that_widens_a_limit_is_refused() -> None:
    with pytest.raises(ManifestWidens, match="steps"):
        submit(manifest={"limits": {"steps": 51}})


@pytest.mark.parametrize("wrong", [{"goal": 5}, {"unknown": 1}, [], "x", {"limits": {"steps": 0}}])
def test_a_manifest_that_does_not_validate_is_refused(wrong: Any) -> None:
    with pytest.raises(ManifestRefused):
        submit(manifest=wrong)


def test_a_manifest_without_a_tool_that_another_one_requires_is_refused() -> None:
    """Such a task could only ever get stuck at its precondition."""
    with pytest.raises(ManifestRefused, match="leaves out 'look', which 'pay' requires"):
        submit(manifest={"tools": ["pay"]})


def test_a_manifest_without_a_fallback_is_refused() -> None:
    with pytest.raises(ManifestRefused, match="leaves out 'look', which 'peek' falls back to"):
        submit(manifest={"tools": ["peek"]})


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("key", ""),
        ("key", "k\x00"),
        ("key", "k" * 201),
        ("namespace", "two words"),
        ("namespace", ""),
        ("priority", 1001),
        ("priority", True),
        ("labels", {"": "x"}),
        ("labels", {"x": "\ud800"}),
        ("labels", {str(n): "x" for n in range(51)}),
        ("not_before", datetime(2999, 1, 1)),  # noqa: DTZ001 (the wrong value itself)
    ],
)
def test_what_no_table_could_hold_is_refused_in_one_sentence(part: str, value: object) -> None:
    with pytest.raises(BadIdentifier, match="is not a valid"):
        submit(**{part: value})


def test_odd_characters_in_a_title_do_not_stop_a_submit() -> None:
    view = submit(title="a\x00b\ud800", created_by="human:\x00")

    assert view.title == "a\ufffdb\ufffd"


def test_a_later_start_moves_its_deadline_with_it() -> None:
    start = datetime.now(UTC) + timedelta(days=3)

    view = submit(not_before=start, manifest={"limits": {"deadline_s": 60}})

    assert view.due_at == start
    assert view.deadline is not None
    assert abs(view.deadline - start - timedelta(seconds=60)) < timedelta(seconds=1)


def test_an_id_that_is_none_and_an_unknown_one_are_told_apart() -> None:
    view = submit()

    with pytest.raises(BadIdentifier, match="'x1' is not a valid id"):
        api.task("x1")
    with pytest.raises(UnknownTask):
        api.task(UUID(int=1))
    with pytest.raises(UnknownTask):
        api.task(view.id, namespace="other")


@pytest.mark.django_db(transaction=True)
def test_workers_hear_of_a_task_once_it_is_committed(bell: Bell) -> None:
    with transaction.atomic():
        view = submit()
        assert bell.rung == []

    assert bell.rung == [("default", view.id)]


@pytest.mark.django_db(transaction=True)
def test_a_dead_broker_never_fails_a_submit(bell: Bell) -> None:
    bell.broken = ConnectionError("the broker is gone")

    assert submit().state == "initialized"


@pytest.mark.django_db(transaction=True)
def test_a_rolled_back_submit_leaves_no_trace_in_later_digests() -> None:
    """The namespace's key was made in that transaction and is gone with it."""
    with transaction.atomic():
        submit(namespace="fresh", key="k")
        transaction.set_rollback(True)

    first = submit(namespace="fresh", key="k")

    assert submit(namespace="fresh", key="k").id == first.id
