"""What people did, in the order they did it; rows are added and never changed."""

from typing import ClassVar

from django.db import models

from console.models.clock import DatabaseNow

RESULTS = ["done", "denied", "conflict", "refused", "failed"]


class AuditEntry(models.Model):
    """One thing that somebody did or was kept from doing.

    A trigger of the database refuses UPDATE and DELETE.

    Args:
        actor: Who, like ``human:ann`` or ``token:ci``.
        action: What, like ``task.pause``.
        object: To what, like ``task:0197…``.
        result: ``done``, ``denied``, ``conflict``, ``refused`` or ``failed``.
        reason: In the words of the person; never a payload.
        detail: What the system said, for instance why it refused.
        request_id: Joins the entry to the logs.
    """

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=DatabaseNow())
    actor = models.TextField()
    action = models.TextField()
    object = models.TextField()
    result = models.TextField()
    reason = models.TextField(default="")
    detail = models.TextField(default="")
    request_id = models.TextField(default="")

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(result__in=RESULTS), name="audit_result_is_known"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["object", "-id"], name="audit_of_object"),
            models.Index(fields=["actor", "-id"], name="audit_of_actor"),
        ]
