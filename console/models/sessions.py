"""Where somebody is signed in: a row beside each of Django's sessions, which do not name theirs."""

import uuid

from django.conf import settings
from django.db import models

from console.models.clock import DatabaseNow


class SignedIn(models.Model):
    """One browser in which an account is signed in; deleting it signs that browser out.

    Args:
        id: Kept in the session, so that the row is found when the session's key changes.
        session_key: Of Django's session.
        agent: What the browser calls itself.
        seen_at: When it last asked for something, to five minutes.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="signed_in")
    session_key = models.TextField()
    agent = models.TextField(default="")
    began_at = models.DateTimeField(db_default=DatabaseNow())
    seen_at = models.DateTimeField(db_default=DatabaseNow())
