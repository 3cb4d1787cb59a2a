"""Reading tasks and review items; see ``runtime.api``."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from runtime.core.errors import BadIdentifier, UnknownTask
from runtime.core.states import State
from runtime.core.why import Facts, sentence
from runtime.engine.submit import as_uuid
from runtime.store import callbacks, facts, queries
from runtime.store import tasks as stored
from runtime.store.callbacks import CallbackView
from runtime.store.views import (
    EffectView,
    EventView,
    Page,
    ReviewView,
    StepView,
    TaskDetail,
    TaskView,
)
from runtime.tools.agents import registry

MOST_ROWS = 1000


@dataclass(frozen=True, slots=True)
class Why:
    """Why a task is not moving: one sentence, and the facts it was made of."""

    sentence: str
    state: str
    facts: Facts


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
    wanted = _state(state)
    found = _by_id(namespace, q) if q else None
    if found is None:
        return queries.tasks(namespace, wanted, agent, q, before, limit)
    fits = found.state == (wanted or found.state) and found.agent == (agent or found.agent)
    return Page((found,) if fits else (), None)


def _by_id(namespace: str, q: str) -> TaskView | None:
    """Find the task whose whole id was asked for: a lookup instead of a search."""
    try:
        return queries.brief(namespace, as_uuid(q))
    except (BadIdentifier, UnknownTask):
        return None


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
    max_bytes: int | None = None,
    namespace: str = "default",
) -> list[EventView]:
    """Give events of a task in order.

    Args:
        id: The task.
        after: Only those with a greater sequence number.
        limit: At most so many, up to 1000.
        max_bytes: At most so many bytes of stored payload, but always one event if there is one.
        namespace: Where it lives.

    Raises:
        BadIdentifier: The id is none, or the limit is not usable.
        UnknownTask: There is none in this namespace.
    """
    _check_limit(limit)
    return queries.events(stored.find(namespace, as_uuid(id)), after, limit, max_bytes)


def versions(ids: Sequence[UUID]) -> dict[UUID, tuple[int, bool]]:
    """Tell of each task its version and whether it has ended; for those who wait for a change.

    Tasks that do not exist are left out.  Namespaces are the caller's business.
    """
    return queries.versions(ids)


def callback(id: str | UUID, *, namespace: str = "default") -> CallbackView | None:  # noqa: A002
    """Tell whom a task tells of its end, and how that went; None if nobody.

    Raises:
        BadIdentifier: The id is none.
        UnknownTask: There is none in this namespace.
    """
    return callbacks.of_task(stored.find(namespace, as_uuid(id)))


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
    beyond: str | UUID | None = None,
) -> list[ReviewView]:
    """List requests for a person's decision.

    Open ones come the longest waiting first, others the newest first.

    Args:
        namespace: Where.
        status: Only those of this status; None for all.
        limit: At most so many, up to 1000.
        beyond: Only those that follow this item, the last of the page before.

    Raises:
        BadIdentifier: The limit or the item's id is not usable.
    """
    _check_limit(limit)
    after = None if beyond is None else as_uuid(beyond, "cursor")
    return queries.reviews(namespace, status, None, limit, after)


def review(id: str | UUID, *, namespace: str = "default") -> ReviewView:  # noqa: A002
    """Give one request for a decision, with everything its decider is shown.

    Raises:
        BadIdentifier: The id is none.
        UnknownReview: There is none in this namespace.
    """
    return queries.review(namespace, as_uuid(id))


def why(id: str | UUID, *, namespace: str = "default") -> Why:  # noqa: A002
    """Say in one sentence where a task stands and what it waits for.

    Raises:
        BadIdentifier: The id is none.
        UnknownTask: There is none in this namespace.
    """
    found = facts.read(namespace, as_uuid(id), tuple(registry.agents))
    return Why(sentence(found), found.state, found)
