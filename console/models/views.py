"""Views of the task list that people kept: a name for a filter and its columns."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Lower

from console.models.clock import DatabaseNow


class SavedView(models.Model):
    """One view of one account.

    Args:
        owner: Who keeps it; goes with the account.
        name: For people; used once by each owner, however it is written.
        query: What follows the question mark, as `console.pages.task_filters` writes it.
        columns: Names of the optional columns it shows.
        is_shared: Everybody who sees tasks sees it; only its owner changes it.
        is_default: It is what its owner sees first.
    """

    id = models.BigAutoField(primary_key=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="saved_views", db_index=False
    )
    name = models.TextField()
    query = models.TextField(blank=True, default="")
    columns = models.JSONField(default=list, blank=True)
    is_shared = models.BooleanField(default=False)
    is_default = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=DatabaseNow())

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint("owner", Lower("name"), name="saved_view_name_is_used_once"),
            models.UniqueConstraint(
                fields=["owner"],
                condition=models.Q(is_default=True),
                name="saved_view_one_default_each",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["id"], condition=models.Q(is_shared=True), name="saved_view_shared"
            ),
        ]
