"""API tokens: of each only its digest is stored."""

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from console.models.clock import DatabaseNow


class ApiToken(models.Model):
    """A token with which a program acts as an account, within scopes.

    Args:
        name: For people; a revoked token's name may be used again.
        user: The account; the token can never do more than it.
        digest: SHA-256 of the token, in hex.
        scopes: What it is good for; see `console.tokens.Scope`.
        namespaces: The spaces it reaches; empty for all its account reaches.
        last_used_at: To the minute; kept so that unused tokens can be found.
    """

    id = models.BigAutoField(primary_key=True)
    name = models.TextField()
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    digest = models.TextField(unique=True)
    scopes = ArrayField(models.TextField())
    namespaces = ArrayField(models.TextField(), default=list)
    created_at = models.DateTimeField(db_default=DatabaseNow())
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["name"],
                condition=models.Q(revoked_at__isnull=True),
                name="api_token_name_is_used_once",
            ),
        ]
