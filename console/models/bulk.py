"""What somebody does to many tasks at once: the list as it was chosen, and what came of each."""

from typing import ClassVar

from django.conf import settings
from django.db import models

from console.models.clock import DatabaseNow

#: Nothing yet; done; left alone because it had moved or needed nothing; not allowed.
RESULTS = ["", "done", "skipped", "refused"]


class BulkRun(models.Model):
    """One command for many tasks; its items are frozen when it is given.

    Args:
        id: Made with the form, so that a form sent twice is one run.
        owner: Who gave it; nobody else can send it again.
        lever: Name of the command.
        reason: Why, once for all.
    """

    id = models.UUIDField(primary_key=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="bulk_runs", db_index=False
    )
    lever = models.TextField()
    reason = models.TextField()
    created_at = models.DateTimeField(db_default=DatabaseNow())

    class Meta:
        indexes: ClassVar = [models.Index(fields=["owner", "-created_at"], name="bulk_run_of")]


class BulkItem(models.Model):
    """One task of a run, as it was when it was chosen.

    Args:
        version: Its last event then.
        situation: What people relied on then.
        result: One of `RESULTS`; written in the transaction of the deed itself.
        said: Why it was left alone or refused.
    """

    id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(BulkRun, models.CASCADE, related_name="items", db_index=False)
    task_id = models.UUIDField()
    version = models.BigIntegerField()
    situation = models.IntegerField()
    result = models.TextField(default="", blank=True)
    said = models.TextField(default="", blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "task_id"], name="bulk_item_once_in_its_run"),
            models.CheckConstraint(
                condition=models.Q(result__in=RESULTS), name="bulk_item_result_is_known"
            ),
        ]
