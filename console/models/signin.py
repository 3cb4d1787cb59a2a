"""One-time sign-in links: only their digest is stored."""

from django.conf import settings
from django.db import models

from console.models.clock import DatabaseNow


class SigninLink(models.Model):
    """A link that signs one account in once, until it expires.

    Args:
        digest: SHA-256 of the secret part of the link, in hex.
    """

    digest = models.TextField(primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="signin_links")
    created_at = models.DateTimeField(db_default=DatabaseNow())
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
