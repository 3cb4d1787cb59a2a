"""Signing in: the accounts' rules, and the one-time link of the first administrator.

Looking at a link changes nothing, so a mail scanner cannot use it up; the button on its page does.
"""

import hashlib
import secrets
from datetime import timedelta
from typing import Any, Final

from allauth.account.adapter import DefaultAccountAdapter
from django.contrib.auth.models import User
from django.core import signing
from django.db import transaction
from django.http import HttpRequest
from django.urls import reverse

from console.access import Role, grant
from console.models import SigninLink
from console.models.clock import DatabaseNow

FIRST_ADMIN: Final = "admin"
LIFE: Final = timedelta(hours=24)
_SALT: Final = "console.signin.link"


class Accounts(DefaultAccountAdapter):  # type: ignore[misc] # it carries no types
    """Accounts are made by administrators, never by who comes along."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002 (the base's signature)
        """Keep it shut."""
        return False

    def add_message(self, *_args: Any, **_kwargs: Any) -> None:
        """Say nothing: the page itself shows who is signed in."""


def first_admin_link(base_url: str = "http://127.0.0.1:8000") -> str | None:
    """Make a link that signs the first administrator in, as long as none ever did.

    The account is made with it; links made before die.

    Args:
        base_url: Where the console answers.

    Returns:
        The address, or None when an administrator has signed in already.
    """
    administrators = User.objects.filter(groups__name=Role.ADMINISTRATOR, is_active=True)
    with transaction.atomic():
        if administrators.filter(last_login__isnull=False).exists():
            return None
        user = administrators.order_by("pk").first() or _first_admin()
        SigninLink.objects.filter(user=user, used_at__isnull=True).delete()
        return base_url.rstrip("/") + reverse("signin_link", args=[_make(user)])


def holder_of(token: str) -> User | None:
    """Give the account that a link would sign in now, or None; changes nothing."""
    link = _usable(token)
    return None if link is None else link.user


def redeem(token: str) -> User | None:
    """Use a link up and give its account; None if it is used, expired or none of ours."""
    link = _usable(token)
    if link is None:
        return None
    # The guard decides, not the look before it: of two at once, one is signed in.
    used = SigninLink.objects.filter(pk=link.pk, used_at=None, expires_at__gt=DatabaseNow())
    return link.user if used.update(used_at=DatabaseNow()) else None


def _first_admin() -> User:
    user, is_new = User.objects.get_or_create(username=FIRST_ADMIN, defaults={"is_staff": True})
    if is_new:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    grant(user, Role.ADMINISTRATOR)
    return user


def _make(user: User) -> str:
    secret = secrets.token_urlsafe(32)
    link = SigninLink(digest=_digest(secret), user=user, expires_at=DatabaseNow() + LIFE)
    link.save(force_insert=True)
    return signing.Signer(salt=_SALT).sign(secret)


def _usable(token: str) -> SigninLink | None:
    try:
        secret = signing.Signer(salt=_SALT).unsign(token)
    except signing.BadSignature:
        return None
    links = SigninLink.objects.select_related("user").filter(
        digest=_digest(secret), used_at=None, expires_at__gt=DatabaseNow(), user__is_active=True
    )
    return links.first()


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
