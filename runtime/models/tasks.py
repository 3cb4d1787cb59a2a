"""What a task is and what it was asked."""

from typing import ClassVar

from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q

from runtime.core.payloads import CODEC
from runtime.core.states import TERMINAL, State
from runtime.models.base import DEFAULT_NAMESPACE, DatabaseNow, choices

_TERMINAL = sorted(TERMINAL)


class Manifest(models.Model):
    """A pinned manifest, stored once however many tasks share it."""

    pk = models.CompositePrimaryKey("namespace", "digest")
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    digest = models.TextField()
    body = models.TextField()
    codec = models.TextField(default=CODEC)
    created_at = models.DateTimeField(db_default=DatabaseNow())


class Task(models.Model):
    """Where a task stands.  Narrow, because every step rewrites it.

    ``owner`` and ``epoch`` are the lease: the epoch is the fence and only grows.  ``parked_as``
    repeats the state while nobody holds the task, so that live states can be counted from an index
    that steps never touch.  ``counted`` says that the ended task is in the buckets and totals.
    """

    id = models.UUIDField(primary_key=True)
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    agent = models.TextField()
    queue = models.TextField(default="default")
    priority = models.SmallIntegerField(default=0)
    state = models.TextField(default=State.INITIALIZED)
    version = models.BigIntegerField()
    situation = models.IntegerField(default=1)
    checkpoint = models.TextField()
    checkpoint_sum = models.TextField()
    codec = models.SmallIntegerField(default=1)
    owner = models.UUIDField(null=True)
    epoch = models.BigIntegerField(default=0)
    attention = models.IntegerField(default=0)
    attended = models.IntegerField(default=0)
    held = models.BooleanField(default=False)
    deaths = models.SmallIntegerField(default=0)
    due_at = models.DateTimeField(null=True)
    hinted_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=DatabaseNow())
    finished_at = models.DateTimeField(null=True)
    counted = models.BooleanField(db_default=False)
    parked_as = models.GeneratedField(
        expression=models.Case(models.When(owner__isnull=True, then="state")),
        output_field=models.TextField(null=True),
        db_persist=True,
    )

    class Meta:
        constraints: ClassVar = [
            choices("state", sorted(State), "task_state_is_known"),
            models.CheckConstraint(
                name="task_finished_iff_terminal",
                condition=Q(state__in=_TERMINAL, finished_at__isnull=False)
                | (~Q(state__in=_TERMINAL) & Q(finished_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="task_terminal_has_no_owner",
                condition=~Q(state__in=_TERMINAL) | Q(owner__isnull=True, due_at__isnull=True),
            ),
            models.CheckConstraint(
                name="task_owner_has_epoch",
                condition=Q(owner__isnull=True) | Q(epoch__gt=0),
            ),
            models.CheckConstraint(
                name="task_attended_follows_attention",
                condition=Q(attended__lte=models.F("attention")),
            ),
            models.CheckConstraint(
                name="task_numbers_are_positive",
                condition=Q(version__gte=1, situation__gte=1, epoch__gte=0, deaths__gte=0),
            ),
        ]
        indexes: ClassVar = [
            # Claims and the sweep: what is due and free, best first.
            models.Index(
                fields=["queue", "priority", "due_at"],
                name="task_due",
                condition=Q(owner__isnull=True, held=False, due_at__isnull=False),
            ),
            # Suspects, for the isolated lane.
            models.Index(
                fields=["queue"],
                name="task_accused",
                condition=Q(owner__isnull=True, held=False, due_at__isnull=False, deaths__gt=0),
            ),
            # The dead: what a worker holds.
            models.Index(fields=["owner"], name="task_owned", condition=Q(owner__isnull=False)),
            # Commands that nobody has heard yet; attention moves with commands, not with steps.
            models.Index(
                fields=["id"],
                name="task_unheard",
                condition=Q(owner__isnull=True, attention__gt=models.F("attended")),
            ),
            # Counts and lists of live states; steps do not touch it (see parked_as).
            models.Index(
                fields=["namespace", "parked_as", "id"],
                name="task_parked",
                condition=Q(parked_as__isnull=False),
            ),
            models.Index(fields=["namespace", "agent", "id"], name="task_agent"),
            # Lists of what ended within some time, the last first; written once a task.
            models.Index(
                fields=["namespace", "parked_as", "-finished_at", "-id"],
                name="task_ended",
                condition=Q(finished_at__isnull=False),
            ),
            # Lists of what people paused; touched by a pause and its end.
            models.Index(fields=["namespace", "id"], name="task_held", condition=Q(held=True)),
            # What has ended and is not in the totals yet; empty but for a moment.
            models.Index(
                fields=["finished_at"],
                name="task_uncounted",
                condition=Q(finished_at__isnull=False, counted=False),
            ),
        ]


class TaskSpec(models.Model):
    """What a task was asked, and what came of it: written at submit and at the end."""

    task = models.OneToOneField(Task, models.DO_NOTHING, primary_key=True, related_name="spec")
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    title = models.TextField(default="")
    labels = models.JSONField(default=dict)
    input = models.TextField()
    codec = models.TextField(default=CODEC)
    manifest_digest = models.TextField()
    key = models.TextField(null=True)
    request_digest = models.TextField()
    created_by = models.TextField(default="system")
    search_text = models.TextField(default="")
    result = models.TextField(null=True)
    outcome_reason = models.TextField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["namespace", "key"],
                name="task_key_is_used_once",
                condition=Q(key__isnull=False),
            ),
        ]
        indexes: ClassVar = [
            # Searches for parts of words; written at submit and at the end, never by a step.
            GinIndex(fields=["search_text"], name="task_words", opclasses=["gin_trgm_ops"]),
        ]
