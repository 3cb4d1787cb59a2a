"""Who works: incarnations of workers, what the fence refused them, breakers, progress."""

import uuid
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from runtime.core.payloads import CODEC
from runtime.models.base import DEFAULT_NAMESPACE, DatabaseNow, choices
from runtime.models.tasks import Task

_GONE = ["stopped", "dead"]
WORKER_STATES = ["running", "draining", *_GONE]


class Worker(models.Model):
    """One incarnation of a worker process, and its lease."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    host = models.TextField()
    pid = models.IntegerField()
    kind = models.TextField(default="worker")
    queues = ArrayField(models.TextField())
    slots = models.IntegerField()
    held = models.IntegerField(default=0)
    memory_mb = models.IntegerField(default=0)
    version = models.TextField(default="")
    state = models.TextField(default="running")
    started_at = models.DateTimeField(db_default=DatabaseNow())
    renewed_at = models.DateTimeField(db_default=DatabaseNow())
    expires_at = models.DateTimeField()
    # The server start during which a sweep saw its advisory lock held; see bury.sql.
    lock_seen_since = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    death = models.TextField(null=True)
    counted = models.BooleanField(db_default=False)
    # The agents it knows: it takes no other tasks.
    agents = ArrayField(models.TextField(), db_default=[])
    # Somebody wants it to take nothing more; read with each renewal.
    drain_asked_at = models.DateTimeField(null=True)
    # What it held when it was declared dead, as far as people look.
    left_behind = ArrayField(models.UUIDField(), db_default=[])

    class Meta:
        constraints: ClassVar = [
            choices("state", WORKER_STATES, "worker_state_is_known"),
            models.CheckConstraint(
                name="worker_ended_iff_gone",
                condition=Q(state__in=_GONE, ended_at__isnull=False)
                | (~Q(state__in=_GONE) & Q(ended_at__isnull=True)),
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["id"],
                name="worker_living",
                condition=Q(state__in=["running", "draining"]),
            ),
            models.Index(
                fields=["id"],
                name="worker_uncounted",
                condition=Q(state__in=_GONE, counted=False),
            ),
        ]


class Refusal(models.Model):
    """A write that the fence refused: kept as evidence, it moved nothing."""

    id = models.BigAutoField(primary_key=True)
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    task_id = models.UUIDField()
    worker_id = models.UUIDField()
    epoch = models.BigIntegerField()
    epoch_now = models.BigIntegerField()
    what = models.TextField()
    operation_id = models.TextField(null=True)
    evidence = models.TextField(null=True)
    at = models.DateTimeField(db_default=DatabaseNow())
    counted = models.BooleanField(db_default=False)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["task_id", "id"], name="refusal_of_task"),
            models.Index(fields=["worker_id", "id"], name="refusal_of_worker"),
            models.Index(fields=["id"], name="refusal_uncounted", condition=Q(counted=False)),
        ]


class Breaker(models.Model):
    """The circuit breaker of one tool, shared by all workers."""

    pk = models.CompositePrimaryKey("namespace", "tool")
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    tool = models.TextField()
    body = models.JSONField()
    updated_at = models.DateTimeField(db_default=DatabaseNow())


class Progress(models.Model):
    """The last progress a running call reported; its next attempt sees it."""

    task = models.OneToOneField(Task, models.DO_NOTHING, primary_key=True, related_name="progress")
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    call_id = models.TextField()
    body = models.TextField()
    codec = models.TextField(default=CODEC)
    at = models.DateTimeField(db_default=DatabaseNow())


class Pulse(models.Model):
    """When a process of the installation last gave a sign of life: one row each, overwritten."""

    name = models.TextField(primary_key=True)
    at = models.DateTimeField()
