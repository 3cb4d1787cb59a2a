"""Creating tasks and reading what a worker needs to take one further."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from django.db import connection, transaction

from runtime.core import checkpoint as cp
from runtime.core.errors import IllegalTransition, KeyReused, UnknownTask
from runtime.core.events import Event, EventType
from runtime.core.payloads import CODEC, decode, encode
from runtime.core.story import Decision
from runtime.store.session import execute, run


@dataclass(frozen=True, slots=True)
class NewTask:
    """Everything that is written when a task is created."""

    id: UUID
    namespace: str
    agent: str
    queue: str
    priority: int
    title: str
    labels: Mapping[str, str]
    input_text: str
    manifest_digest: str
    manifest_text: str
    key: str | None
    request_digest: str
    created_by: str
    search_text: str
    decision: Decision
    not_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class Spec:
    """What a task was asked."""

    input: Any
    pinned_text: str
    codec: str


@dataclass(frozen=True, slots=True)
class Result:
    """One completed call as it is loaded for a planner."""

    call_id: str
    tool: str
    effect: str
    outcome: str
    result: str | None
    codec: str
    summary: str
    chain: str


_keys: dict[str, bytes] = {}


def digest_key(namespace: str) -> bytes:
    """Give the key of a namespace's digests; the namespace is made on first use."""
    known = _keys.get(namespace)
    if known is not None:
        return known
    key = _stored_key(namespace)
    # A key read inside a transaction may be our own and still be rolled back: others would then
    # make another one, and digests of one thing would differ from process to process.
    if not connection.in_atomic_block:
        _keys[namespace] = key
    return key


def forget_keys() -> None:
    """Forget the keys of all namespaces; for tests that empty the tables between them."""
    _keys.clear()


def _stored_key(namespace: str) -> bytes:
    rows = execute("SELECT digest_key FROM runtime_namespace WHERE name = %s", (namespace,))
    if rows:
        return bytes(rows[0][0])
    # Committed by itself or with the caller's transaction; two makers agree on the first one.
    execute(
        "INSERT INTO runtime_namespace (name, digest_key, created_at) "
        "VALUES (%s, %s, runtime_now()) ON CONFLICT DO NOTHING",
        (namespace, secrets.token_bytes(32)),
    )
    rows = execute("SELECT digest_key FROM runtime_namespace WHERE name = %s", (namespace,))
    return bytes(rows[0][0])


def create(new: NewTask) -> UUID:
    """Write a task with its first event; the same key and request give the task there is.

    Returns:
        The task's id: the new one, or that of the earlier request with this key.

    Raises:
        KeyReused: The key was used with another request.
    """
    try:
        with transaction.atomic():
            run("create", _params(new))
    except psycopg.errors.UniqueViolation as error:
        if error.diag.constraint_name != "task_key_is_used_once":
            raise
        return _earlier(new)
    return new.id


def _earlier(new: NewTask) -> UUID:
    found = by_key(new.namespace, new.key or "")
    assert found is not None  # noqa: S101 (its unique index has just refused us)
    task_id, request_digest = found
    if request_digest != new.request_digest:
        raise KeyReused(new.key or "")
    return task_id


def by_key(namespace: str, key: str) -> tuple[UUID, str] | None:
    """Find the task that was made with a key, and the digest of its request."""
    rows = execute(
        "SELECT task_id, request_digest FROM runtime_taskspec WHERE namespace = %s AND key = %s",
        (namespace, key),
    )
    return rows[0] if rows else None


def database_now() -> datetime:
    """Give the database's clock."""
    now: datetime = execute("SELECT runtime_now()")[0][0]
    return now


def _params(new: NewTask) -> dict[str, object]:
    after, event = new.decision.after, new.decision.events[0]
    text = cp.encode(after)
    return {
        "task": new.id,
        "namespace": new.namespace,
        "agent": new.agent,
        "queue": new.queue,
        "priority": new.priority,
        "title": new.title,
        "labels": _json(new.labels),
        "input": new.input_text,
        "codec": CODEC,
        "manifest_digest": new.manifest_digest,
        "manifest": new.manifest_text,
        "key": new.key,
        "request_digest": new.request_digest,
        "created_by": new.created_by,
        "search_text": new.search_text,
        "not_before": new.not_before,
        "state": after.state.value,
        "checkpoint": text,
        "checkpoint_sum": cp.checksum(text),
        "checkpoint_codec": cp.VERSION,
        "payload": encode(dict(event.payload)).text,
        "actor": event.actor,
        "at": event.at,
    }


def _json(labels: Mapping[str, str]) -> str:
    return encode(dict(labels)).text


def find(namespace: str, task_id: UUID) -> UUID:
    """Make sure that a task exists in a namespace.

    Raises:
        UnknownTask: It does not.
    """
    text = "SELECT id FROM runtime_task WHERE id = %s AND namespace = %s"
    if not execute(text, (task_id, namespace)):
        raise UnknownTask(task_id)
    return task_id


def standing(task_id: UUID) -> tuple[UUID | None, int, int, int]:
    """Give owner, epoch, attention and version of a task as they are now."""
    text = "SELECT owner, epoch, attention, version FROM runtime_task WHERE id = %s"
    return execute(text, (task_id,))[0]


def load_spec(task_id: UUID) -> Spec:
    """Read input and pinned manifest."""
    rows = execute(
        "SELECT s.input, s.codec, m.body, m.codec FROM runtime_taskspec s "
        "JOIN runtime_manifest m ON m.namespace = s.namespace AND m.digest = s.manifest_digest "
        "WHERE s.task_id = %s",
        (task_id,),
    )
    return spec_of(rows[0])


def spec_of(row: Sequence[str]) -> Spec:
    """Read input, its codec, pinned manifest and its codec, as a claim brings them along."""
    given, codec, body, body_codec = row
    return Spec(decode(given, codec), body, body_codec)


def load_results(task_id: UUID) -> list[Result]:
    """Read the completed calls in their order."""
    rows = execute(
        "SELECT call_id, tool, effect, outcome, result, codec, summary, chain "
        "FROM runtime_stepresult WHERE task_id = %s ORDER BY position",
        (task_id,),
    )
    return [Result(*row) for row in rows]


def load_event(task_id: UUID, seq: int) -> dict[str, Any]:
    """Read the payload of one event."""
    text = "SELECT payload, codec FROM runtime_event WHERE task_id = %s AND seq = %s"
    rows = execute(text, (task_id, seq))
    payload: dict[str, Any] = decode(rows[0][0], rows[0][1])
    return payload


def load_answers(task_id: UUID) -> list[dict[str, Any]]:
    """Read what people answered to this task's questions, oldest first."""
    rows = execute(
        "SELECT e.payload, e.codec, r.question FROM runtime_event e "
        "JOIN runtime_review r ON r.task_id = e.task_id AND r.id = "
        "((e.payload::json)->>'review_id')::uuid "
        "WHERE e.task_id = %s AND e.type = %s ORDER BY e.seq",
        (task_id, EventType.HUMAN_ANSWERED.value),
    )
    answers: list[dict[str, Any]] = []
    for payload, codec, question in rows:
        body = decode(payload, codec)
        answers.append({"question": question, "answer": body["answer"], "by": body["by"]})
    return answers


def load_journal(task_id: UUID, after: int = 0, limit: int | None = None) -> list[Event]:
    """Read events in order.

    Args:
        task_id: The task.
        after: Only events after this sequence number.
        limit: At most so many; None for all.

    Raises:
        IllegalTransition: An event is of a type that this version does not know.
        PayloadUnreadable: A payload is damaged.
    """
    rows = execute(
        "SELECT seq, type, payload, codec, at, actor, call_id, cause, event_id, v "
        "FROM runtime_event WHERE task_id = %s AND seq > %s ORDER BY seq LIMIT %s",
        (task_id, after, limit),
    )
    return [
        Event(seq, _known(kind), decode(payload, codec), at, actor, call_id, cause, event_id, v)
        for seq, kind, payload, codec, at, actor, call_id, cause, event_id, v in rows
    ]


def _known(kind: str) -> EventType:
    try:
        return EventType(kind)
    except ValueError as error:
        # Written by a later version: nothing may be decided on half a journal.
        raise IllegalTransition("unknown", kind) from error
