"""Sockets close when their person signs out or loses a right, in whatever process they are.

What is remembered of people for a moment (`console.live.known`) is forgotten then as well.
"""

import logging
from functools import partial
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.contrib.auth.models import Group, User
from django.contrib.auth.signals import user_logged_out
from django.db import transaction
from django.db.models.signals import m2m_changed, post_delete, post_save
from django.http import HttpRequest

from console.live.known import memory
from console.live.names import GONE, NOT_ALLOWED, SIGNED_OUT, session_mark
from console.live.reader import GROUP
from console.models import Preferences

_LOG = logging.getLogger("console.live")


def connect() -> None:
    """Listen to what ends somebody's rights; called once, when the application is ready."""
    user_logged_out.connect(_signed_out, dispatch_uid="live.signed_out")
    for changed in (User.groups.through, User.user_permissions.through):
        m2m_changed.connect(_rights_changed, sender=changed, dispatch_uid=f"live.{changed}")
    m2m_changed.connect(_role_changed, sender=Group.permissions.through, dispatch_uid="live.role")
    post_save.connect(_account_changed, sender=User, dispatch_uid="live.account")
    post_save.connect(_chosen, sender=Preferences, dispatch_uid="live.preferences")
    post_delete.connect(_account_changed, sender=User, dispatch_uid="live.account_gone")


def session_ended(session_key: str) -> None:
    """Close the open pages of a session that somebody ended from elsewhere."""
    _say(user=0, session=session_mark(session_key), code=SIGNED_OUT)


def _signed_out(request: HttpRequest | None, **_kwargs: Any) -> None:
    if request is not None and request.session.session_key:
        session_ended(request.session.session_key)


def _rights_changed(instance: Any, action: str, pk_set: set[int] | None, **_kwargs: Any) -> None:
    # Also a right that was gained: the page comes back at once and sees what it may see now.
    if action.startswith("post_"):
        _forget()
        # From the other side, as `group.user_set.add(user)`, the accounts are named by their keys.
        for user_id in [instance.pk] if isinstance(instance, User) else pk_set or ():
            _say(user=user_id, session="-", code=NOT_ALLOWED)


def _role_changed(instance: Any, action: str, **_kwargs: Any) -> None:
    if action.startswith("post_") and isinstance(instance, Group):
        _forget()
        for user_id in instance.user_set.values_list("pk", flat=True):
            _say(user=user_id, session="-", code=NOT_ALLOWED)


def _account_changed(instance: User, **kwargs: Any) -> None:
    _forget()
    is_gone = "created" not in kwargs or not instance.is_active
    if is_gone and instance.pk:
        _say(user=instance.pk, session="-", code=SIGNED_OUT)


def _chosen(**_kwargs: Any) -> None:
    _forget()


def _forget() -> None:
    transaction.on_commit(memory.forget, robust=True)


def _say(*, user: int, session: str, code: int) -> None:
    message = {"type": GONE, "user": user, "session": session, "code": code}
    _forget()
    transaction.on_commit(partial(_send, message), robust=True)


def _send(message: dict[str, Any]) -> None:
    try:
        async_to_sync(get_channel_layer().group_send)(GROUP, message)
    except Exception as error:  # noqa: BLE001 (any layer; every socket checks for itself as well)
        _LOG.warning("open pages were not told that somebody is gone: %s", error)
