"""What people do to tasks: the levers and the decisions; see ``runtime.api``.

A command is stored in the task's inbox and thereby accepted; then it is obeyed at once if no
worker holds the task, else by the worker at its next commit.
"""

import logging
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID, uuid4

from django.db import transaction

from runtime.api.process import ports, ring
from runtime.core.errors import (
    DecisionRefused,
    NotAllowedNow,
    SituationMoved,
    clean_text,
)
from runtime.core.reviews import Decision
from runtime.core.states import TERMINAL, State
from runtime.engine import levers
from runtime.engine.submit import as_uuid
from runtime.store import inbox, queries
from runtime.store import reviews as ballots
from runtime.store.inbox import Standing
from runtime.store.views import ReviewView, TaskView

_LOG = logging.getLogger("runtime.api")
LONGEST_REASON: Final = 4000
LONGEST_EXTERNAL_ID: Final = 500
_TAKES: Final[dict[str, tuple[str, ...]]] = {
    Decision.ANSWER: ("answer",),
    Decision.RESULT: ("result", "external_id"),
}


def pause(
    id: str | UUID,  # noqa: A002 (the contract's name)
    *,
    reason: str,
    by: str,
    namespace: str = "default",
) -> TaskView:
    """Hold a task where it stands; a step under way reaches its commit first.

    Args:
        id: The task.
        reason: Why, for people.
        by: Who, like ``human:ann``.
        namespace: Where it lives.

    Raises:
        BadIdentifier: The id is none.
        UnknownTask: There is none in this namespace.
        NotAllowedNow: It has ended.
    """
    with transaction.atomic():
        found = _living(namespace, as_uuid(id), "be paused")
        _deliver(found, "hold", reason, by, held=True)
    return _obeyed(found)


def resume(
    id: str | UUID,  # noqa: A002
    *,
    reason: str,
    by: str,
    situation: int | None = None,
    namespace: str = "default",
) -> TaskView:
    """Let a paused task go on exactly where it stands.

    Args:
        id: The task.
        reason: Why, for people.
        by: Who.
        situation: What was on the screen; another one now is refused.
        namespace: Where it lives.

    Raises:
        BadIdentifier: The id is none.
        UnknownTask: There is none in this namespace.
        NotAllowedNow: It has ended, or is not paused.
        SituationMoved: It has moved on since it was read.
    """
    with transaction.atomic():
        found = _living(namespace, as_uuid(id), "be resumed", situation)
        if not found.held:
            raise NotAllowedNow(found.id, "be resumed", f"{found.state} and not paused")
        _deliver(found, "release_hold", reason, by, held=False)
    return _obeyed(found)


def cancel(
    id: str | UUID,  # noqa: A002
    *,
    reason: str,
    by: str,
    namespace: str = "default",
) -> TaskView:
    """Have a task end without reaching its goal; a worker that holds it does so at its next commit.

    Args:
        id: The task.
        reason: Why, for people.
        by: Who.
        namespace: Where it lives.

    Raises:
        BadIdentifier: The id is none.
        UnknownTask: There is none in this namespace.
        NotAllowedNow: It has ended.
    """
    with transaction.atomic():
        found = _living(namespace, as_uuid(id), "be cancelled")
        _deliver(found, "cancel", reason, by)
    return _obeyed(found)


def retry(  # noqa: PLR0913 (the parts of one command)
    id: str | UUID,  # noqa: A002
    *,
    reason: str,
    by: str,
    situation: int | None = None,
    channel: str = "api",
    namespace: str = "default",
) -> TaskView:
    """Do not wait any longer: end a back-off, or decide ``retry`` on the item the task waits for.

    Args:
        id: The task.
        reason: Why, for people.
        by: Who.
        situation: What was on the screen; another one now is refused.
        channel: Where the decision came in, if it becomes one.
        namespace: Where it lives.

    Raises:
        BadIdentifier: The id is none.
        UnknownTask: There is none in this namespace.
        NotAllowedNow: It waits neither for a back-off nor at an item that offers a retry.
        SituationMoved: It has moved on since it was read.
    """
    with transaction.atomic():
        found = _living(namespace, as_uuid(id), "be retried", situation)
        item = queries.open_review(found.id) if found.state == State.WAITING_HUMAN else None
        if item is not None and Decision.RETRY in item.allowed:
            ballot = ballots.Vote(Decision.RETRY, _clean(reason), {}, _clean(by), channel)
            _vote(namespace, item.id, ballot, situation)
        elif found.state == State.RETRYING:
            _deliver(found, "retry", reason, by)
        else:
            raise NotAllowedNow(found.id, "be retried", found.state)
    return _obeyed(found)


def decide(  # noqa: PLR0913 (the parts of one decision)
    id: str | UUID,  # noqa: A002
    decision: str,
    *,
    reason: str,
    by: str,
    channel: str = "api",
    arguments: Mapping[str, Any] | None = None,
    situation: int | None = None,
    namespace: str = "default",
) -> ReviewView:
    """Decide an open review item; exactly one decision wins.

    Args:
        id: The item.
        decision: One of those it offers.
        reason: Why; ``abort`` needs one.
        by: Who, like ``human:ann``.
        channel: Where the decision came in: ``cli``, ``api``, ``console``.
        arguments: ``{"answer": …}`` for an answer; ``{"result": …}`` and perhaps ``external_id``
            for a result given by hand.
        situation: What was on the screen; another one now is refused.
        namespace: Where it lives.

    Raises:
        BadIdentifier: The id is none.
        UnknownReview: There is no such item in this namespace.
        ReviewClosed: Somebody decided first, or the item was closed.
        DecisionRefused: The item does not offer this, or reason or arguments are missing.
        SituationMoved: The task has moved on since the item was read.
    """
    review_id = as_uuid(id)
    given = dict(arguments or {})
    ballot = ballots.Vote(decision, _clean(reason), given, _clean(by), channel)
    with transaction.atomic():
        # The vote itself is guarded first: a late decision is told so, whatever else it lacks.
        task_id = _vote(namespace, review_id, ballot, situation)
        _check_ballot(review_id, ballot, given)
    _obey(task_id, inbox.queue_of(task_id))
    return queries.review(namespace, review_id)


def _vote(
    namespace: str,
    review_id: UUID,
    ballot: ballots.Vote,
    situation: int | None,
) -> UUID:
    """Record a decision and tell the task of it, both or neither."""
    task_id = ballots.vote(namespace, review_id, ballot, situation)
    payload = {
        "review_id": str(review_id),
        "decision": ballot.decision,
        "reason": ballot.reason,
        "arguments": ballot.arguments,
    }
    # A decision that could not be carried out is taken anew: the item alone does not name it.
    event_id = f"{review_id}:{uuid4()}"
    inbox.deliver(task_id, "settle", payload, actor=ballot.by, source="review", event_id=event_id)
    return task_id


def _check_ballot(review_id: UUID, ballot: ballots.Vote, given: dict[str, Any]) -> None:
    takes = _TAKES.get(ballot.decision, ())
    why = None
    if ballot.decision == Decision.ABORT and not ballot.reason.strip():
        why = "it needs a reason"
    elif takes and takes[0] not in given:
        why = f'it needs the argument {{"{takes[0]}": …}}'
    elif set(given) - set(takes):
        unknown = ", ".join(sorted(set(given) - set(takes)))
        why = f"it does not take the argument {unknown}"
    elif not _is_external_id(given.get("external_id")):
        why = f"external_id is a text of at most {LONGEST_EXTERNAL_ID} characters"
    if why is not None:
        raise DecisionRefused(review_id, ballot.decision, why)


def _is_external_id(value: object) -> bool:
    if value is None:
        return True
    return (
        isinstance(value, str) and len(value) <= LONGEST_EXTERNAL_ID and clean_text(value) == value
    )


def _living(
    namespace: str,
    task_id: UUID,
    command: str,
    situation: int | None = None,
) -> Standing:
    """Lock a task for the rest of the transaction and make sure that it lives where it was seen."""
    found = inbox.lock(namespace, task_id)
    if found.state in TERMINAL:
        raise NotAllowedNow(task_id, command, found.state)
    if situation is not None and situation != found.situation:
        raise SituationMoved(situation, found.situation)
    return found


def _deliver(found: Standing, kind: str, reason: str, by: str, *, held: bool | None = None) -> None:
    inbox.deliver(
        found.id,
        kind,
        {"reason": _clean(reason)},
        actor=_clean(by),
        source="lever",
        event_id=str(uuid4()),
        held=held,
    )


def _clean(text: str) -> str:
    return clean_text(text)[:LONGEST_REASON]


def _obeyed(found: Standing) -> TaskView:
    _obey(found.id, found.queue)
    return queries.brief(found.namespace, found.id)


def _obey(task_id: UUID, queue: str) -> None:
    """Have the command obeyed now; it is accepted already, so nothing may fail its sender."""
    try:
        levers.hear(ports)
        levers.apply_now(ports, task_id)
    except Exception:  # noqa: BLE001 (whatever it is, the command is safe)
        _LOG.exception("task %s: the command is stored, a worker or the sweep will obey", task_id)
    # Only now: a worker that looked while the task was locked would have found nothing.
    ring(queue, task_id)
