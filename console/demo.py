"""The demo that the first page offers; which one it is stands in the setting `SIGNALBOX_DEMO`."""

from importlib import import_module
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import ngettext

from console import audit
from console.access import Permission, allowed
from console.actions import Outcome, account
from console.audit import Act
from console.middleware import request_id
from runtime.api import SignalboxError

ACTION: Final = "task.demo"


def is_offered(request: HttpRequest) -> bool:
    """Tell whether a demo can be started here, by this account."""
    return allowed(request.user, Permission.SUBMIT_TASKS) and bool(_demo().is_open())


def start(request: HttpRequest) -> Outcome:
    """Submit the demo's tasks."""
    demo = _demo()
    act = Act(
        actor=account(request.user),
        action=ACTION,
        object="agent:demo",
        request_id=request_id(request),
    )
    try:
        prepared = demo.prepare()
        with transaction.atomic():
            number = demo.submit(prepared, act.actor)
            audit.record(act, "done")
    except SignalboxError as error:
        audit.record(act, "failed", str(error))
        return Outcome(error.http_status, str(error), error)
    said = ngettext("%(n)s demo task is submitted.", "%(n)s demo tasks are submitted.", number)
    return Outcome(200, said % {"n": number})


def _demo() -> Any:
    return import_module(settings.SIGNALBOX_DEMO)
