"""API tokens: made, shown once, recognised, revoked.

A token stands for an account and can do what both the account and its scopes allow.  Its form, a
prefix and a checksum, lets scanners and log filters find one that leaked.
"""

import hashlib
import re
import secrets
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q

from console.access import APP, Permission
from console.models import ApiToken
from console.models.clock import DatabaseNow
from runtime.core.errors import WrongUsage

PREFIX: Final = "sbx_"
FORM: Final = re.compile(r"sbx_[0-9A-Za-z]{43}[0-9A-Za-z]{6}")
NAME: Final = re.compile(r"[A-Za-z0-9_.@:-]{1,100}")
_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_BODY, _SUM = 43, 6
_DAYS: Final = range(1, 3651)
_USED_EVERY: Final = timedelta(minutes=1)


class Scope(StrEnum):
    """What a token can be good for."""

    TASKS_READ = "tasks:read"
    TASKS_WRITE = "tasks:write"
    REVIEWS_READ = "reviews:read"
    REVIEWS_DECIDE = "reviews:decide"
    WORKERS_READ = "workers:read"
    METRICS_READ = "metrics:read"


OPENS: Final[dict[Scope, frozenset[Permission]]] = {
    Scope.TASKS_READ: frozenset({Permission.VIEW_TASKS}),
    Scope.TASKS_WRITE: frozenset({Permission.SUBMIT_TASKS, Permission.ACT_ON_TASKS}),
    Scope.REVIEWS_READ: frozenset({Permission.VIEW_REVIEWS}),
    Scope.REVIEWS_DECIDE: frozenset({Permission.DECIDE_REVIEWS}),
    Scope.WORKERS_READ: frozenset({Permission.VIEW_WORKERS}),
    Scope.METRICS_READ: frozenset({Permission.VIEW_METRICS}),
}


class TokenRefused(WrongUsage):
    """The token is none of ours, or revoked, expired, or of an account that is switched off."""

    http_status = 401
    exit_code = 2
    code = "token_refused"
    sentence = (
        "The API token is not valid: it is unknown, revoked or expired, or its account is switched "
        "off; make a new one with `manage.py token create`."
    )


@dataclass(eq=False)
class TokenNotMade(WrongUsage):
    """No such token can be made."""

    name: str
    why: str

    code = "token_not_made"
    sentence = "The token '{name}' cannot be made: {why}."


@dataclass(eq=False)
class UnknownToken(WrongUsage):
    """No valid token has this name."""

    name: str

    http_status = 404
    code = "unknown_token"
    sentence = "No valid token is named '{name}'."


@dataclass(frozen=True, slots=True)
class Bearer:
    """Who a token stands for, as `console.access.allowed` asks: never more than its account.

    Args:
        user: The account.
        name: The token's.
        scopes: What it is good for.
        namespaces: The spaces it reaches; None for all its account reaches.
    """

    user: User
    name: str
    scopes: frozenset[Scope]
    namespaces: frozenset[str] | None

    @property
    def is_authenticated(self) -> bool:
        """It was recognised."""
        return True

    @property
    def is_active(self) -> bool:
        """As its account."""
        return self.user.is_active

    def has_perm(self, perm: str) -> bool:
        """Tell whether both the account and a scope of the token allow something."""
        opened = {f"{APP}.{permission}" for scope in self.scopes for permission in OPENS[scope]}
        return perm in opened and self.user.has_perm(perm)


def create(
    name: str,
    username: str,
    scopes: Iterable[str],
    *,
    namespaces: Iterable[str] = (),
    days: int | None = None,
) -> str:
    """Make a token and give it; it cannot be shown again.

    Args:
        name: For people; unique among the valid ones.
        username: The account it stands for.
        scopes: What it is good for; at least one.
        namespaces: The spaces it reaches; all when empty.
        days: Days it is valid; None for as long as nobody revokes it.

    Raises:
        TokenNotMade: The name is taken or none, or account or scopes are unknown.
    """
    if not NAME.fullmatch(name):
        raise TokenNotMade(name, "a name has 1 to 100 letters, digits, '_', '.', '@', ':' and '-'")
    if days is not None and days not in _DAYS:
        raise TokenNotMade(name, f"it can be valid for 1 to {_DAYS[-1]} days")
    wanted = _scopes(name, scopes)
    user = User.objects.filter(username=username, is_active=True).first()
    if user is None:
        raise TokenNotMade(name, f"no active account is named '{username}'")
    token = _new()
    row = ApiToken(
        name=name,
        user=user,
        digest=_digest(token),
        scopes=wanted,
        namespaces=sorted(set(namespaces)),
        expires_at=None if days is None else DatabaseNow() + timedelta(days=days),
    )
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise TokenNotMade(name, "another valid token has this name; revoke that first") from None
    return token


def _scopes(name: str, scopes: Iterable[str]) -> list[str]:
    given = set(scopes)
    unknown = sorted(given - set(Scope))
    if unknown or not given:
        known = ", ".join(Scope)
        raise TokenNotMade(name, f"its scopes must be some of {known}")
    return sorted(given)


def revoke(name: str) -> None:
    """Make a token invalid from the next request on.

    Raises:
        UnknownToken: No valid token has this name.
    """
    found = ApiToken.objects.filter(name=name, revoked_at=None)
    if not found.update(revoked_at=DatabaseNow()):
        raise UnknownToken(name)


def bearer_of(token: str) -> Bearer:
    """Recognise a token.

    Raises:
        TokenRefused: It is not valid; the reason is nobody's business who does not own it.
    """
    row = _find(token) if is_form(token) else None
    if row is None:
        raise TokenRefused
    if row.is_stale:
        # Bookkeeping, once a minute: the one thing that reading with a token writes.
        ApiToken.objects.filter(_stale(), pk=row.pk).update(last_used_at=DatabaseNow())
    known = frozenset(Scope(scope) for scope in row.scopes if scope in set(Scope))
    return Bearer(row.user, row.name, known, frozenset(row.namespaces) or None)


def bearer_in(header: str) -> Bearer:
    """Recognise the token in an `Authorization` header.

    Raises:
        TokenRefused: It holds none, or one that is not valid.
    """
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer":
        raise TokenRefused
    return bearer_of(token.strip())


def is_form(token: str) -> bool:
    """Tell whether a text could be a token of ours, without asking the database."""
    if FORM.fullmatch(token) is None:
        return False
    body, checksum = token[: len(PREFIX) + _BODY], token[len(PREFIX) + _BODY :]
    return _checksum(body) == checksum


def _find(token: str) -> Any:
    # Looked up by digest: comparing the text itself byte by byte would tell where it differs.
    valid = Q(expires_at=None) | Q(expires_at__gt=DatabaseNow())
    found = ApiToken.objects.select_related("user").filter(
        valid, digest=_digest(token), revoked_at=None, user__is_active=True
    )
    return found.annotate(is_stale=_stale()).first()


def _stale() -> Q:
    return Q(last_used_at=None) | Q(last_used_at__lt=DatabaseNow() - _USED_EVERY)


def _new() -> str:
    body = PREFIX + _base62(int.from_bytes(secrets.token_bytes(32)), _BODY)
    return body + _checksum(body)


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), _SUM)


def _base62(number: int, width: int) -> str:
    digits = ""
    for _ in range(width):
        number, rest = divmod(number, 62)
        digits = _ALPHABET[rest] + digits
    return digits


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
