"""The tables refuse impossible states: each constraint by its name, against the database."""

from collections.abc import Callable
from io import StringIO
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import IntegrityError, connection, models, transaction
from django.utils import timezone

from runtime.models import (
    Artifact,
    ArtifactRef,
    Breaker,
    Callback,
    Event,
    Inbox,
    Manifest,
    Operation,
    Review,
    StepResult,
    Task,
    TaskSpec,
    Worker,
)

pytestmark = pytest.mark.django_db

type Make = Callable[..., models.Model]


def task(**other: Any) -> Task:
    facts = {"id": uuid4(), "agent": "a", "version": 1, "checkpoint": "{}", "checkpoint_sum": ""}
    return Task.objects.create(**facts | other)


def spec(**other: Any) -> TaskSpec:
    facts = {"input": "{}", "manifest_digest": "m", "request_digest": "r"}
    if "task" not in other and "task_id" not in other:
        other["task"] = task()
    return TaskSpec.objects.create(**facts | other)


def event(**other: Any) -> Event:
    facts = {
        "task_id": uuid4(),
        "seq": 1,
        "type": "task_created",
        "payload": "{}",
        "actor": "system",
        "at": timezone.now(),
    }
    return Event.objects.create(**facts | other)


def result(**other: Any) -> StepResult:
    facts = {
        "task_id": uuid4(),
        "call_id": "0.1.0",
        "position": 1,
        "tool": "t",
        "effect": "read",
        "outcome": "succeeded",
        "digest": "d",
        "arguments": "{}",
        "chain": "c",
        "seq": 1,
        "finished_at": timezone.now(),
    }
    return StepResult.objects.create(**facts | other)


def operation(**other: Any) -> Operation:
    facts = {
        "id": str(uuid4()),
        "task_id": uuid4(),
        "call_id": "0.1.0",
        "tool": "t",
        "effect": "keyed",
        "status": "reserved",
        "digest": "d",
        "same_digest": "s",
        "epoch": 1,
    }
    return Operation.objects.create(**facts | other)


def review(**other: Any) -> Review:
    facts = {
        "id": uuid4(),
        "kind": "question",
        "why": "w",
        "allowed": [],
        "situation": 1,
        "seq": 1,
        "snapshot": "{}",
    }
    if "task" not in other:
        other["task"] = task()
    return Review.objects.create(**facts | other)


def letter(**other: Any) -> Inbox:
    facts = {"source": "s", "event_id": "1", "kind": "hold", "payload": "{}", "actor": "system"}
    if "task" not in other:
        other["task"] = task()
    return Inbox.objects.create(**facts | other)


def callback(**other: Any) -> Callback:
    facts = {"url": "https://example.org"}
    if "task" not in other:
        other["task"] = task()
    return Callback.objects.create(**facts | other)


def worker(**other: Any) -> Worker:
    facts = {"host": "h", "pid": 1, "queues": [], "slots": 1, "expires_at": timezone.now()}
    return Worker.objects.create(**facts | other)


def artifact(**other: Any) -> Artifact:
    facts = {"id": uuid4(), "digest": "d", "size": 1, "data": b"x"}
    return Artifact.objects.create(**facts | other)


def twice(make: Make, **same: Any) -> Callable[[], None]:
    """Make a row, and another one that shares some of its facts."""

    def run() -> None:
        make(**same)
        make(**same)

    return run


def two_of_one_task(make: Make, **same: Any) -> Callable[[], None]:
    def run() -> None:
        twice(make, task=task(), **same)()

    return run


NOW = timezone.now()
ID = uuid4()
# Each row breaks one rule and no other.
BROKEN: list[tuple[str, Callable[[], object]]] = [
    ("task_state_is_known", lambda: task(state="resting")),
    ("task_finished_iff_terminal", lambda: task(state="terminated_failed")),
    ("task_finished_iff_terminal", lambda: task(finished_at=NOW)),
    (
        "task_terminal_has_no_owner",
        lambda: task(state="terminated_failed", finished_at=NOW, owner=ID, epoch=1),
    ),
    (
        "task_terminal_has_no_owner",
        lambda: task(state="terminated_failed", finished_at=NOW, due_at=NOW),
    ),
    ("task_owner_has_epoch", lambda: task(owner=ID)),
    ("task_attended_follows_attention", lambda: task(attended=1)),
    ("task_numbers_are_positive", lambda: task(version=0)),
    ("task_numbers_are_positive", lambda: task(situation=0)),
    ("task_numbers_are_positive", lambda: task(epoch=-1)),
    ("task_numbers_are_positive", lambda: task(deaths=-1)),
    ("runtime_task_pkey", twice(task, id=ID)),
    ("task_key_is_used_once", twice(spec, key="k")),
    ("runtime_taskspec_pkey", two_of_one_task(spec)),
    ("event_seq_is_positive", lambda: event(seq=0)),
    ("runtime_event_pkey", twice(event, task_id=ID, seq=2)),
    (
        "event_id_is_unique_in_its_task",
        lambda: [event(task_id=ID, seq=n, event_id="e") for n in (1, 2)],
    ),
    ("step_result_outcome_is_known", lambda: result(outcome="perhaps")),
    ("step_result_effect_is_known", lambda: result(effect="loud")),
    ("step_result_knows_its_arguments", lambda: result(arguments=None)),
    ("step_result_position_is_used_once", lambda: [result(task_id=ID, call_id=n) for n in "ab"]),
    ("runtime_stepresult_pkey", lambda: [result(task_id=ID, position=n) for n in (1, 2)]),
    ("operation_status_is_known", lambda: operation(status="done")),
    ("operation_is_never_a_read", lambda: operation(effect="read")),
    ("operation_one_live_call_per_ordinal", twice(operation, task_id=ID)),
    ("runtime_operation_pkey", twice(operation, id="op")),
    ("operation_dispatched_has_its_time", lambda: operation(dispatches=1)),
    ("operation_dispatched_has_its_time", lambda: operation(first_dispatched_at=NOW)),
    ("review_status_is_known", lambda: review(status="lost")),
    ("review_kind_is_known", lambda: review(kind="chat")),
    ("review_one_open_per_task", two_of_one_task(review)),
    ("review_decided_names_its_decider", lambda: review(status="decided", decision="abort")),
    ("inbox_event_is_stored_once", two_of_one_task(letter)),
    ("callback_is_settled_once", lambda: callback(delivered_at=NOW, given_up_at=NOW)),
    ("callback_settled_is_not_due", lambda: callback(due_at=NOW, delivered_at=NOW)),
    ("callback_settled_is_not_due", lambda: callback(due_at=NOW, given_up_at=NOW)),
    ("runtime_callback_pkey", two_of_one_task(callback)),
    ("worker_state_is_known", lambda: worker(state="asleep")),
    ("worker_ended_iff_gone", lambda: worker(state="dead")),
    ("worker_ended_iff_gone", lambda: worker(ended_at=NOW)),
    ("runtime_worker_pkey", twice(worker, id=ID)),
    ("artifact_is_stored_once", twice(artifact)),
    ("artifact_has_one_place", lambda: artifact(data=None)),
    ("artifact_has_one_place", lambda: artifact(location="somewhere")),
    (
        "runtime_artifactref_pkey",
        lambda: ArtifactRef.objects.bulk_create([reference(), reference()]),
    ),
    ("runtime_manifest_pkey", lambda: Manifest.objects.bulk_create([pinned(), pinned()])),
    ("runtime_breaker_pkey", lambda: Breaker.objects.bulk_create([breaker(), breaker()])),
]


def reference() -> ArtifactRef:
    return ArtifactRef(artifact_id=ID, task_id=ID)


def pinned() -> Manifest:
    return Manifest(digest="d", body="{}")


def breaker() -> Breaker:
    return Breaker(tool="t", body={})


@pytest.mark.parametrize(("name", "break_it"), BROKEN)
def test_the_database_refuses_what_must_not_be(name: str, break_it: Callable[[], object]) -> None:
    with pytest.raises(IntegrityError) as caught, transaction.atomic():
        break_it()

    cause = caught.value.__cause__
    assert isinstance(cause, psycopg.Error)
    assert cause.diag.constraint_name == name


def test_every_constraint_has_a_row_that_it_refuses() -> None:
    declared = {
        constraint.name
        for model in apps.get_app_config("runtime").get_models()
        for constraint in model._meta.constraints
    }

    assert declared - {name for name, _ in BROKEN} == set()


@pytest.mark.parametrize("status", ["reserved", "dispatched", "in_doubt"])
def test_a_settled_operation_leaves_room_for_the_next_try_of_its_call(status: str) -> None:
    first = operation(task_id=ID, status="failed")

    second = operation(task_id=ID, status=status, **dispatched(status))

    assert first.id != second.id


def dispatched(status: str) -> dict[str, Any]:
    return {} if status == "reserved" else {"dispatches": 1, "first_dispatched_at": NOW}


def test_closed_reviews_leave_room_for_the_next_one() -> None:
    one = task()

    for status in ("closed", "cancelled", "superseded", "expired", "open"):
        review(task=one, status=status)

    assert Review.objects.filter(task=one).count() == 5


def test_one_event_id_may_come_from_two_sources_and_to_two_tasks() -> None:
    one = task()

    letter(task=one)
    letter(task=one, source="other")
    letter()

    assert Inbox.objects.count() == 3


def test_a_key_belongs_to_its_namespace() -> None:
    spec(key="k")

    assert spec(key="k", namespace="other").key == "k"


def test_an_event_id_is_the_outsides_name_and_may_be_missing() -> None:
    event(task_id=ID, seq=1)
    event(task_id=ID, seq=2)

    assert Event.objects.filter(task_id=ID).count() == 2


def test_the_state_of_a_held_task_stands_in_no_index() -> None:
    """Else no step could be a HOT update."""
    parked, held = task(), task(owner=ID, epoch=1)
    parked.refresh_from_db()
    held.refresh_from_db()

    assert (parked.parked_as, held.parked_as) == ("initialized", None)


def test_times_of_new_rows_come_from_the_databases_one_clock() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name || '.' || column_name, column_default "
            "FROM information_schema.columns WHERE table_name LIKE 'runtime\\_%%' "
            "AND data_type LIKE 'timestamp%%' AND column_default IS NOT NULL",
        )
        defaults = dict(cursor.fetchall())

    assert set(defaults.values()) == {"runtime_now()"}
    assert len(defaults) >= 10


def test_every_row_has_a_namespace_but_those_about_the_installation() -> None:
    without = {
        model.__name__
        for model in apps.get_app_config("runtime").get_models()
        if "namespace" not in {field.name for field in model._meta.get_fields()}
    }

    assert without == {"Namespace", "Pulse"}


def test_every_stored_payload_names_its_codec() -> None:
    """Hazard CR-13: a reader that does not know it refuses instead of guessing."""
    payloads = {"payload", "input", "body", "checkpoint", "snapshot", "arguments", "result", "data"}
    for model in apps.get_app_config("runtime").get_models():
        fields = {field.name: field for field in model._meta.get_fields()}
        stored = [
            name
            for name in payloads & set(fields)
            if not isinstance(fields[name], models.JSONField)
        ]
        assert not stored or "codec" in fields, (model, stored)


def test_the_models_and_the_migrations_say_the_same() -> None:
    said = StringIO()

    call_command("makemigrations", "runtime", check_changes=True, dry_run=True, stdout=said)

    assert "No changes" in said.getvalue()


def test_the_migrations_go_back_and_forth_again() -> None:
    before = schema()

    call_command("migrate", "runtime", "zero", verbosity=0)
    none = schema()
    call_command("migrate", "runtime", verbosity=0)

    assert none == []
    assert schema() == before


def schema() -> list[tuple[Any, ...]]:
    """Give the runtime's columns, indexes, constraints, functions and storage."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 'column', table_name::text, column_name::text, data_type::text "
            "FROM information_schema.columns WHERE table_name LIKE 'runtime\\_%%' "
            "UNION ALL SELECT 'index', tablename::text, indexname::text, indexdef "
            "FROM pg_indexes WHERE tablename LIKE 'runtime\\_%%' "
            "UNION ALL SELECT 'rule', conrelid::regclass::text, conname::text, "
            "pg_get_constraintdef(oid) FROM pg_constraint "
            "WHERE conrelid::regclass::text LIKE 'runtime\\_%%' "
            "UNION ALL SELECT 'function', proname::text, prosrc, provolatile::text "
            "FROM pg_proc WHERE proname LIKE 'runtime\\_%%' "
            "UNION ALL SELECT 'storage', relname::text, reloptions::text, '' FROM pg_class "
            "WHERE relname LIKE 'runtime\\_%%' AND reloptions IS NOT NULL ORDER BY 1, 2, 3, 4",
        )
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
