"""Where people and programs come in: review items, the inbox, callbacks."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from runtime.core.payloads import CODEC
from runtime.core.reviews import Kind
from runtime.models.base import DEFAULT_NAMESPACE, DatabaseNow, choices
from runtime.models.tasks import Task

REVIEW_STATUSES = ["open", "decided", "closed", "cancelled", "superseded", "expired"]


class Review(models.Model):
    """A request for a person's decision."""

    id = models.UUIDField(primary_key=True)
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    task = models.ForeignKey(Task, models.DO_NOTHING, related_name="reviews", db_index=False)
    kind = models.TextField()
    status = models.TextField(default="open")
    why = models.TextField()
    question = models.TextField(default="")
    allowed = ArrayField(models.TextField())
    call_id = models.TextField(null=True)
    operation_id = models.TextField(null=True)
    tool = models.TextField(null=True)
    situation = models.IntegerField()
    seq = models.BigIntegerField()
    snapshot = models.TextField()
    codec = models.TextField(default=CODEC)
    opened_at = models.DateTimeField(db_default=DatabaseNow())
    decision = models.TextField(null=True)
    reason = models.TextField(null=True)
    arguments = models.TextField(null=True)
    decided_by = models.TextField(null=True)
    channel = models.TextField(null=True)
    decided_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    opening_counted = models.BooleanField(db_default=False)
    closing_counted = models.BooleanField(db_default=False)

    class Meta:
        constraints: ClassVar = [
            choices("status", REVIEW_STATUSES, "review_status_is_known"),
            choices("kind", sorted(Kind), "review_kind_is_known"),
            models.UniqueConstraint(
                fields=["task"],
                name="review_one_open_per_task",
                condition=Q(status__in=["open", "decided"]),
            ),
            models.CheckConstraint(
                name="review_decided_names_its_decider",
                condition=~Q(status="decided")
                | Q(decision__isnull=False, decided_by__isnull=False, decided_at__isnull=False),
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["task", "opened_at"], name="review_of_task"),
            models.Index(
                fields=["namespace", "opened_at"],
                name="review_open",
                condition=Q(status="open"),
            ),
            # What is not in the buckets yet; both are empty but for a moment.
            models.Index(
                fields=["id"],
                name="review_opening_uncounted",
                condition=Q(opening_counted=False),
            ),
            models.Index(
                fields=["id"],
                name="review_closing_uncounted",
                condition=Q(closing_counted=False, closed_at__isnull=False),
            ),
        ]


class Inbox(models.Model):
    """Commands and events for a task, stored before they are acknowledged."""

    id = models.BigAutoField(primary_key=True)
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    task = models.ForeignKey(Task, models.DO_NOTHING, related_name="inbox", db_index=False)
    source = models.TextField()
    event_id = models.TextField()
    kind = models.TextField()
    payload = models.TextField()
    codec = models.TextField(default=CODEC)
    actor = models.TextField()
    created_at = models.DateTimeField(db_default=DatabaseNow())
    consumed_at = models.DateTimeField(null=True)
    refused = models.TextField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["namespace", "task", "source", "event_id"],
                name="inbox_event_is_stored_once",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["task", "id"],
                name="inbox_waiting",
                condition=Q(consumed_at__isnull=True),
            ),
        ]


class Callback(models.Model):
    """Whom to tell when a task has ended.

    ``due_at`` is set by the commit that ends the task, pushed ahead while somebody delivers, and
    removed when the receiver has taken the news or was given up.
    """

    task = models.OneToOneField(Task, models.DO_NOTHING, primary_key=True, related_name="callback")
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    url = models.TextField()
    due_at = models.DateTimeField(null=True)
    attempts = models.SmallIntegerField(default=0)
    answer = models.SmallIntegerField(null=True)
    failure = models.TextField(default="")
    delivered_at = models.DateTimeField(null=True)
    given_up_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=DatabaseNow())

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                name="callback_is_settled_once",
                condition=Q(delivered_at__isnull=True) | Q(given_up_at__isnull=True),
            ),
            models.CheckConstraint(
                name="callback_settled_is_not_due",
                condition=Q(due_at__isnull=True)
                | Q(delivered_at__isnull=True, given_up_at__isnull=True),
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["due_at"],
                name="callback_due",
                condition=Q(due_at__isnull=False),
            ),
        ]
