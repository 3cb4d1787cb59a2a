"""Submitting tasks; see ``runtime.api``."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from runtime import telemetry
from runtime.api.process import ports, ring, tell
from runtime.core.callbacks import target
from runtime.core.errors import KeyReused
from runtime.core.manifest import Manifest
from runtime.engine.submit import Request, check_form, prepare, request_digest
from runtime.store import callbacks, queries
from runtime.store import tasks as stored
from runtime.store.views import TaskView


def submit(  # noqa: PLR0913 (the parts of one request)
    agent: str,
    input: object,  # noqa: A002 (the contract's name)
    *,
    manifest: Mapping[str, Any] | Manifest | None = None,
    key: str | None = None,
    namespace: str = "default",
    title: str = "",
    labels: Mapping[str, str] | None = None,
    priority: int = 0,
    not_before: datetime | None = None,
    created_by: str = "system",
    callback_url: str | None = None,
) -> TaskView:
    """Create a task; the same key with the same request gives the task there is.

    Args:
        agent: Name of the agent.
        input: What it is asked: a JSON object that fits the agent.
        manifest: Narrows the agent's manifest for this task.
        key: The sender's own name for the request, so that sending it twice makes one task.
        namespace: The space it lives in.
        title: For people.
        labels: For people and searches.
        priority: Lower numbers go first, from -1000 to 1000.
        not_before: The earliest start; its deadline counts from then.
        created_by: Who asks, like ``human:ann``.
        callback_url: Whom to tell, by a signed POST, that the task has ended.

    Raises:
        UnknownAgent: Nobody has this name.
        InputRefused: The input does not fit the agent.
        ManifestRefused: The manifest is wrong, or leaves out a tool that another one needs.
        ManifestWidens: It asks for more than the agent allows.
        UnknownTool: It names a tool the agent does not have.
        ApprovalNotPossible: A tool would have to ask a person.
        KeyReused: The key was used with another request.
        BadIdentifier: Key, namespace, labels, priority or instant are not usable.
        CallbackRefused: The callback address is not one that may be called.
    """
    request = Request(
        agent=agent,
        input=input,
        manifest=manifest,
        key=key,
        namespace=namespace,
        title=title,
        labels=labels or {},
        priority=priority,
        not_before=not_before,
        created_by=created_by,
        callback_url=callback_url,
    )
    check_form(request)
    if callback_url is not None:
        target(callback_url, local=settings.SIGNALBOX_CALLBACKS_LOCAL)
    with transaction.atomic():
        mark = request_digest(request)
        # Looked up first: a repetition is answered even if the agent has changed since.
        task_id = _earlier(request, mark) or _create(request, mark)
        return queries.brief(namespace, task_id)


def _earlier(request: Request, mark: str) -> UUID | None:
    if request.key is None:
        return None
    found = stored.by_key(request.namespace, request.key)
    if found is None:
        return None
    task_id, earlier_mark = found
    if earlier_mark != mark:
        raise KeyReused(request.key)
    return task_id


def _create(request: Request, mark: str) -> UUID:
    ports.clock.hear(stored.database_now())
    new = prepare(request, ports, mark)
    task_id = stored.create(new)
    if request.callback_url is not None and task_id == new.id:
        callbacks.register(task_id, new.namespace, request.callback_url)
    tell(task_id, 1)
    telemetry.link(task_id)
    if new.not_before is None:
        ring(new.queue, task_id)
    return task_id
