"""The facade of the runtime: what other packages import, and nothing else of it.

Every function is one transaction, takes keywords, and gives frozen rows.  Errors are those of
``runtime.core.errors``; each says in one sentence what happened and what to do.
"""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from runtime.core.errors import (
    Ambiguous,
    BadIdentifier,
    KeyReused,
    Permanent,
    Retryable,
    SignalboxError,
    WrongUsage,
)
from runtime.core.manifest import Manifest
from runtime.core.plans import Plan
from runtime.core.states import State
from runtime.engine.context import PlanContext
from runtime.engine.ports import Hints, NoHints, Ports
from runtime.engine.submit import Request, as_uuid, check_form, prepare, request_digest
from runtime.store import queries
from runtime.store import tasks as stored
from runtime.store.views import (
    EffectView,
    EventView,
    Page,
    ReviewView,
    StepView,
    TaskDetail,
    TaskView,
)
from runtime.tools.agents import Agent, discover, get_agent
from runtime.tools.registry import tool

__all__ = [
    "Agent",
    "Ambiguous",
    "EffectView",
    "EventView",
    "Manifest",
    "Page",
    "Permanent",
    "Plan",
    "PlanContext",
    "Retryable",
    "ReviewView",
    "SignalboxError",
    "StepView",
    "TaskDetail",
    "TaskView",
    "WrongUsage",
    "discover",
    "effects",
    "events",
    "get_agent",
    "review",
    "reviews",
    "set_hints",
    "step_results",
    "submit",
    "task",
    "tasks",
    "tool",
]

_LOG = logging.getLogger("runtime.api")
MOST_ROWS = 1000


class _Doorbell:
    """The hints of this process: one bell that can be exchanged, and never fails a caller."""

    def __init__(self) -> None:
        self.bell: Hints = NoHints()

    def work(self, queue: str, task_id: UUID | None) -> None:
        try:
            self.bell.work(queue, task_id)
        except Exception:  # noqa: BLE001 (any broker, any failure)
            # The sweep finds the work; a submit or a lever that is committed has succeeded.
            _LOG.warning("no hint for queue %s: the broker does not answer", queue, exc_info=True)


_doorbell = _Doorbell()
_ports = Ports(hints=_doorbell)


def set_hints(hints: Hints) -> None:
    """Have this process tell its workers of new work in this way; until then nobody is told."""
    _doorbell.bell = hints


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

    Raises:
        UnknownAgent: Nobody has this name.
        InputRefused: The input does not fit the agent.
        ManifestRefused: The manifest is wrong, or leaves out a tool that another one needs.
        ManifestWidens: It asks for more than the agent allows.
        UnknownTool: It names a tool the agent does not have.
        ApprovalNotPossible: A tool would have to ask a person.
        KeyReused: The key was used with another request.
        BadIdentifier: Key, namespace, labels, priority or instant are not usable.
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
    )
    check_form(request)
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
    _ports.clock.hear(stored.database_now())
    new = prepare(request, _ports, mark)
    task_id = stored.create(new)
    if new.not_before is None:
        _ring(new.queue, task_id)
    return task_id


def _ring(queue: str, task_id: UUID) -> None:
    transaction.on_commit(lambda: _doorbell.work(queue, task_id), robust=True)


def task(id: str | UUID, *, namespace: str = "default") -> TaskDetail:  # noqa: A002
    """Give one task with its input, manifest and result.

    Raises:
        BadIdentifier: The id is none.
        UnknownTask: There is none in this namespace.
    """
    return queries.task(namespace, as_uuid(id))


def tasks(  # noqa: PLR0913 (one filter each)
    *,
    namespace: str = "default",
    state: str | None = None,
    agent: str | None = None,
    q: str | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[TaskView]:
    """List tasks, newest first.

    Args:
        namespace: Where.
        state: Only those in this state.
        agent: Only those of this agent.
        q: Only those whose id, key or words match.
        cursor: Where the page before ended.
        limit: Rows, from 1 to 1000.

    Raises:
        BadIdentifier: State, cursor or limit are not usable.
    """
    before = as_uuid(cursor, "cursor") if cursor else None
    _check_limit(limit)
    return queries.tasks(namespace, _state(state), agent, q, before, limit)


def _state(name: str | None) -> State | None:
    if name is None:
        return None
    try:
        return State(name)
    except ValueError:
        raise BadIdentifier(name, f"state (one of {', '.join(State)})") from None


def _check_limit(limit: int) -> None:
    if type(limit) is not int or not 1 <= limit <= MOST_ROWS:
        raise BadIdentifier(limit, f"limit (1 to {MOST_ROWS})")


def events(
    id: str | UUID,  # noqa: A002
    *,
    after: int = 0,
    limit: int = 200,
    namespace: str = "default",
) -> list[EventView]:
    """Give events of a task in order.

    Args:
        id: The task.
        after: Only those with a greater sequence number.
        limit: At most so many, up to 1000.
        namespace: Where it lives.

    Raises:
        BadIdentifier: The id is none, or the limit is not usable.
        UnknownTask: There is none in this namespace.
    """
    _check_limit(limit)
    return queries.events(stored.find(namespace, as_uuid(id)), after, limit)


def step_results(
    id: str | UUID,  # noqa: A002
    *,
    after: int = 0,
    limit: int = 200,
    namespace: str = "default",
) -> list[StepView]:
    """Give the completed calls of a task in order.

    Args:
        id: The task.
        after: Only those with a greater position.
        limit: At most so many, up to 1000.
        namespace: Where it lives.

    Raises:
        BadIdentifier: The id is none, or the limit is not usable.
        UnknownTask: There is none in this namespace.
    """
    _check_limit(limit)
    return queries.step_results(stored.find(namespace, as_uuid(id)), after, limit)


def effects(id: str | UUID, *, namespace: str = "default") -> list[EffectView]:  # noqa: A002
    """Tell of each effect of a task what happened, what is tried again and what is in doubt.

    Raises:
        BadIdentifier: The id is none.
        UnknownTask: There is none in this namespace.
    """
    view = queries.brief(namespace, as_uuid(id))
    return queries.effects(view, queries.pending_operation(view.id))


def reviews(
    *,
    namespace: str = "default",
    status: str | None = "open",
    limit: int = 200,
) -> list[ReviewView]:
    """List requests for a person's decision, the longest waiting first; status None for all.

    Raises:
        BadIdentifier: The limit is not usable.
    """
    _check_limit(limit)
    return queries.reviews(namespace, status, None, limit)


def review(id: str | UUID, *, namespace: str = "default") -> ReviewView:  # noqa: A002
    """Give one request for a decision, with everything its decider is shown.

    Raises:
        BadIdentifier: The id is none.
        UnknownReview: There is none in this namespace.
    """
    return queries.review(namespace, as_uuid(id))
