"""Where people are signed in: a list each can read, and end one by one or all at once.

Called by `console.middleware` for every request of somebody signed in, and by the settings page.
A session without its row is over, whatever Django's own table says.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from allauth.account.signals import password_changed, password_set
from django.contrib.auth import logout
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from console.live.signals import session_ended
from console.models import SignedIn
from console.models.clock import DatabaseNow

_KEY: Final = "signed_in"
_SEEN_EVERY: Final = timedelta(minutes=5)
_LONGEST_AGENT: Final = 400


def connect() -> None:
    """Keep the list; called once, when the application is ready."""
    user_logged_in.connect(_begin, dispatch_uid="sessions.begin")
    user_logged_out.connect(_over, dispatch_uid="sessions.over")
    for changed in (password_changed, password_set):
        changed.connect(_end_others, dispatch_uid=f"sessions.{id(changed)}")


def look(request: HttpRequest) -> SignedIn | None:
    """Give the row of a request's session, and sign it out when that was ended elsewhere.

    Must hold: the session and its account are known by now.
    """
    user: Any = request.user
    if not user.is_authenticated or not hasattr(request, "session"):
        return None
    if _KEY not in request.session:  # it is older than the list
        return _begin(request=request, user=user)
    rows = SignedIn.objects.select_related("user__preferences")
    row = rows.filter(pk=UUID(request.session[_KEY]), user=user).first()
    if row is None:
        logout(request)
        return None
    _note(row, request.session.session_key or "")
    return row


def of(user: User) -> list[SignedIn]:
    """List where an account is signed in, the latest seen first."""
    return list(_alive(user).order_by("-seen_at", "pk")[:100])


def end(user: User, which: UUID) -> bool:
    """Sign an account out in one browser; false when it was over already."""
    return _end(SignedIn.objects.filter(user=user, pk=which)) > 0


def end_all(user: User) -> int:
    """Sign an account out everywhere; gives in how many browsers."""
    return _end(SignedIn.objects.filter(user=user))


def _begin(request: HttpRequest, user: User, **_signal: Any) -> SignedIn:
    SignedIn.objects.filter(user=user).exclude(pk__in=_alive(user).values("pk")).delete()
    if request.session.session_key is None:
        request.session.create()
    row = SignedIn(
        user=user,
        session_key=request.session.session_key or "",
        agent=request.META.get("HTTP_USER_AGENT", "")[:_LONGEST_AGENT].replace("\x00", ""),
    )
    row.save(force_insert=True)
    request.session[_KEY] = str(row.pk)
    return row


def _over(request: HttpRequest | None, **_signal: Any) -> None:
    mine = request.session.get(_KEY) if request is not None else None
    if mine is not None:
        SignedIn.objects.filter(pk=UUID(mine)).delete()


def _end_others(request: HttpRequest, user: User, **_signal: Any) -> None:
    """A new password ends every session but the one that set it."""
    _end(SignedIn.objects.filter(user=user).exclude(pk=UUID(request.session[_KEY])))


def _end(rows: QuerySet[SignedIn]) -> int:
    ended = list(rows.values_list("pk", "session_key"))
    SignedIn.objects.filter(pk__in=[pk for pk, _key in ended]).delete()
    _close(key for _pk, key in ended)
    return len(ended)


def _close(keys: Iterable[str]) -> None:
    for key in keys:
        SessionStore(key).delete()
        session_ended(key)


def _alive(user: User) -> QuerySet[SignedIn]:
    now: datetime = timezone.now()
    held = Session.objects.filter(session_key=OuterRef("session_key"), expire_date__gt=now)
    return SignedIn.objects.filter(Exists(held), user=user)


def _note(row: SignedIn, key: str) -> None:
    """Keep when it was seen, and its key, which changes with the password."""
    if row.session_key == key and timezone.now() - row.seen_at < _SEEN_EVERY:
        return
    SignedIn.objects.filter(pk=row.pk).update(session_key=key, seen_at=DatabaseNow())
