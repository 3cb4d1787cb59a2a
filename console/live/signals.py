"""Sockets close when their person signs out or loses a right, in whatever process they are.

What is remembered of people for a moment (`console.live.known`) is forgotten then as well, and
when they choose other preferences.
"""

import logging
from functools import partial
from typing import Any, Final

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.contrib.auth.models import Group, User
from django.contrib.auth.signals import user_logged_out
from django.db import transaction
from django.db.models.signals import m2m_changed, post_delete, post_save, pre_delete
from django.http import HttpRequest

from console.live.known import memory
from console.live.names import GONE, NOT_ALLOWED, SIGNED_OUT, session_mark
from console.live.reader import GROUP
from console.models import Preferences

_LOG = logging.getLogger("console.live")
#: An account that no socket is of: what is said of it closes none, and all processes forget.
_NOBODY: Final = 0
#: What each sign-in writes into its account.
_OF_SIGN_IN: Final = frozenset({"last_login"})


def connect() -> None:
    """Listen to what ends somebody's rights; called once, when the application is ready.

    Must hold: what else ends a session has been connected, so that it is over when it is told.
    """
    user_logged_out.connect(_signed_out, dispatch_uid="live.signed_out")
    for changed in (User.groups.through, User.user_permissions.through):
        m2m_changed.connect(_rights_changed, sender=changed, dispatch_uid=f"live.{changed}")
    m2m_changed.connect(_role_changed, sender=Group.permissions.through, dispatch_uid="live.role")
    # A group takes its members along without a word: they are asked for before.
    pre_delete.connect(_role_gone, sender=Group, dispatch_uid="live.role_gone")
    post_save.connect(_account_saved, sender=User, dispatch_uid="live.account")
    post_save.connect(_chosen, sender=Preferences, dispatch_uid="live.preferences")
    post_delete.connect(_account_gone, sender=User, dispatch_uid="live.account_gone")


def session_ended(session_key: str) -> None:
    """Close the open pages of a session that somebody ended from elsewhere."""
    _say(user=_NOBODY, session=session_mark(session_key), code=SIGNED_OUT)


def _signed_out(request: HttpRequest | None, **_kwargs: Any) -> None:
    if request is not None and request.session.session_key:
        session_ended(request.session.session_key)


def _rights_changed(instance: Any, action: str, pk_set: set[int] | None, **_kwargs: Any) -> None:
    # Also a right that was gained: the page comes back at once and sees what it may see now.
    if action.startswith("post_"):
        # From the other side, as `group.user_set.add(user)`, the accounts are named by their keys;
        # not so when all are taken out.
        for user_id in [instance.pk] if isinstance(instance, User) else pk_set or {_NOBODY}:
            _say(user=user_id, session="-", code=NOT_ALLOWED)


def _role_changed(instance: Any, action: str, **_kwargs: Any) -> None:
    if action.startswith("post_") and isinstance(instance, Group):
        _role_gone(instance)


def _role_gone(instance: Group, **_kwargs: Any) -> None:
    for user_id in instance.user_set.values_list("pk", flat=True):
        _say(user=user_id, session="-", code=NOT_ALLOWED)


def _account_saved(
    instance: User, *, created: bool, update_fields: frozenset[str] | None, **_kwargs: Any
) -> None:
    # Nobody knows a new one yet, and a sign-in changes no right.
    if created or update_fields == _OF_SIGN_IN:
        return
    # What it was before is not known here: it may have been a superuser, or had another password.
    code = NOT_ALLOWED if instance.is_active else SIGNED_OUT
    _say(user=instance.pk, session="-", code=code)


def _account_gone(instance: User, **_kwargs: Any) -> None:
    if instance.pk:
        _say(user=instance.pk, session="-", code=SIGNED_OUT)


def _chosen(**_kwargs: Any) -> None:
    _say(user=_NOBODY, session="-", code=NOT_ALLOWED)


def _say(*, user: int, session: str, code: int) -> None:
    message = {"type": GONE, "user": user, "session": session, "code": code}
    transaction.on_commit(memory.forget, robust=True)
    transaction.on_commit(partial(_send, message), robust=True)


def _send(message: dict[str, Any]) -> None:
    try:
        async_to_sync(get_channel_layer().group_send)(GROUP, message)
    except Exception as error:  # noqa: BLE001 (any layer; every socket checks for itself as well)
        _LOG.warning("open pages were not told that somebody is gone: %s", error)
