"""What happened to a task: events, results of calls, the ledger, artifacts."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from runtime.core.effects import Effect
from runtime.core.payloads import CODEC
from runtime.models.base import DEFAULT_NAMESPACE, DatabaseNow, choices

CALL_OUTCOMES = ["succeeded", "failed", "skipped"]
OPERATION_STATUSES = [
    "reserved",
    "dispatched",
    "confirmed",
    "failed",
    "in_doubt",
    "reconciled",
    "compensated",
]
OPEN_OPERATION = ["reserved", "dispatched", "in_doubt"]


class Event(models.Model):
    """The journal: append-only, without gaps, partitionable by ranges of the task's UUIDv7."""

    pk = models.CompositePrimaryKey("task_id", "seq")
    task_id = models.UUIDField()
    seq = models.BigIntegerField()
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    type = models.TextField()
    v = models.SmallIntegerField(default=1)
    payload = models.TextField()
    codec = models.TextField(default=CODEC)
    call_id = models.TextField(null=True)
    cause = models.BigIntegerField(null=True)
    event_id = models.TextField(null=True)
    actor = models.TextField()
    at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(name="event_seq_is_positive", condition=Q(seq__gte=1)),
            models.UniqueConstraint(
                fields=["task_id", "event_id"],
                name="event_id_is_unique_in_its_task",
                condition=Q(event_id__isnull=False),
            ),
        ]


class StepResult(models.Model):
    """One completed call of a task."""

    pk = models.CompositePrimaryKey("task_id", "call_id")
    task_id = models.UUIDField()
    call_id = models.TextField()
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    position = models.IntegerField()
    tool = models.TextField()
    effect = models.TextField()
    outcome = models.TextField()
    operation_id = models.TextField(null=True)
    digest = models.TextField()
    arguments = models.TextField(null=True)
    args_seq = models.BigIntegerField(null=True)
    args_index = models.IntegerField(null=True)
    result_digest = models.TextField(null=True)
    result = models.TextField(null=True)
    codec = models.TextField(default=CODEC)
    artifact = models.TextField(null=True)
    summary = models.TextField(default="")
    attempts = models.SmallIntegerField(default=1)
    chain = models.TextField()
    seq = models.BigIntegerField()
    took_ms = models.IntegerField(default=0)
    finished_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            choices("outcome", CALL_OUTCOMES, "step_result_outcome_is_known"),
            choices("effect", sorted(Effect), "step_result_effect_is_known"),
            models.CheckConstraint(
                name="step_result_knows_its_arguments",
                condition=Q(arguments__isnull=False) | Q(args_seq__isnull=False),
            ),
            models.UniqueConstraint(
                fields=["task_id", "position"],
                name="step_result_position_is_used_once",
            ),
        ]


class Operation(models.Model):
    """The ledger: one effect on the outside, from its intent to its outcome."""

    id = models.TextField(primary_key=True)
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    task_id = models.UUIDField()
    call_id = models.TextField()
    tool = models.TextField()
    effect = models.TextField()
    status = models.TextField()
    digest = models.TextField()
    same_digest = models.TextField()
    external_id = models.TextField(null=True)
    dispatches = models.IntegerField(default=0)
    epoch = models.BigIntegerField()
    reserved_at = models.DateTimeField(db_default=DatabaseNow())
    first_dispatched_at = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)
    note = models.TextField(default="")

    class Meta:
        constraints: ClassVar = [
            choices("status", OPERATION_STATUSES, "operation_status_is_known"),
            choices(
                "effect",
                [e for e in sorted(Effect) if e != Effect.READ],
                "operation_is_never_a_read",
            ),
            models.UniqueConstraint(
                fields=["task_id", "call_id"],
                name="operation_one_live_call_per_ordinal",
                condition=Q(status__in=OPEN_OPERATION),
            ),
            models.CheckConstraint(
                name="operation_dispatched_has_its_time",
                condition=Q(dispatches=0, first_dispatched_at__isnull=True)
                | Q(dispatches__gt=0, first_dispatched_at__isnull=False),
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["task_id", "same_digest"], name="operation_of_task"),
            models.Index(
                fields=["external_id"],
                name="operation_external",
                condition=Q(external_id__isnull=False),
            ),
        ]


class Artifact(models.Model):
    """A payload too large for a row: in PostgreSQL up to 1 MB, else in the artifact storage."""

    id = models.UUIDField(primary_key=True)
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    digest = models.TextField()
    size = models.BigIntegerField()
    codec = models.TextField(default=CODEC)
    data = models.BinaryField(null=True)
    location = models.TextField(null=True)
    created_at = models.DateTimeField(db_default=DatabaseNow())

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["namespace", "digest"],
                name="artifact_is_stored_once",
            ),
            models.CheckConstraint(
                name="artifact_has_one_place",
                condition=Q(data__isnull=False, location__isnull=True)
                | Q(data__isnull=True, location__isnull=False),
            ),
        ]


class ArtifactRef(models.Model):
    """Which task refers to which artifact; the unreferenced are collected."""

    pk = models.CompositePrimaryKey("artifact_id", "task_id")
    artifact_id = models.UUIDField()
    task_id = models.UUIDField()
    namespace = models.TextField(default=DEFAULT_NAMESPACE)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["task_id"], name="artifactref_of_task")]
