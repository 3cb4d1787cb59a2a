"""What people read about tasks: frozen rows, never model instances.

Reads only, each one statement on a snapshot of its own.  ``runtime.api`` hands these rows out; the
engine does not use them.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from runtime.core import checkpoint as cp
from runtime.core.checkpoint import Checkpoint
from runtime.core.errors import CheckpointUnreadable, UnknownReview, UnknownTask, Unreadable
from runtime.core.ledger_words import word
from runtime.core.payloads import CODEC, decode
from runtime.core.states import State
from runtime.store.session import Row, execute
from runtime.store.views import (
    EffectEvent,
    EffectView,
    EventView,
    Page,
    ReviewView,
    StepView,
    TaskDetail,
    TaskView,
)

LATEST = UUID(int=(1 << 128) - 1)


def _words(text: str) -> list[str]:
    return text.split()


_TASK = """
SELECT t.id, t.namespace, t.agent, t.queue, t.priority, t.state, t.version, t.situation, s.title,
       s.labels, s.key, s.created_by, t.held, t.owner, t.deaths, t.created_at, t.due_at,
       t.finished_at, s.outcome_reason, t.checkpoint, t.checkpoint_sum
"""
_FIELDS = _words("""
    id namespace agent queue priority state version situation title labels key created_by held
    owner deaths created_at due_at finished_at outcome_reason
""")


def task(namespace: str, task_id: UUID) -> TaskDetail:
    """Read one task.

    Raises:
        UnknownTask: There is none in this namespace.
    """
    rows = execute(
        _TASK + ", s.input, s.codec, m.body, m.codec, s.result FROM runtime_task t "
        "JOIN runtime_taskspec s ON s.task_id = t.id JOIN runtime_manifest m "
        "ON m.namespace = s.namespace AND m.digest = s.manifest_digest "
        "WHERE t.id = %s AND t.namespace = %s",
        (task_id, namespace),
    )
    if not rows:
        raise UnknownTask(task_id)
    *head, given, codec, body, body_codec, result = rows[0]
    return TaskDetail(
        **_fields(head),
        input=read_payload(given, codec),
        manifest=read_payload(body, body_codec),
        result=read_payload(result, codec),
    )


def brief(namespace: str, task_id: UUID) -> TaskView:
    """Read one task without its bulky parts.

    Raises:
        UnknownTask: There is none in this namespace.
    """
    rows = execute(
        _TASK + "FROM runtime_task t JOIN runtime_taskspec s ON s.task_id = t.id "
        "WHERE t.id = %s AND t.namespace = %s",
        (task_id, namespace),
    )
    if not rows:
        raise UnknownTask(task_id)
    return TaskView(**_fields(rows[0]))


# A live task stands in the index of parked tasks unless a worker holds it; those in hand are few
# and are found through their owners, so that no index has to follow every step's state.
_WANTED = """
WITH held AS MATERIALIZED (
    SELECT t.id FROM runtime_task t
    WHERE t.owner IS NOT NULL AND t.namespace = %(namespace)s AND t.state = %(state)s
      AND t.id < %(before)s AND (%(agent)s::text IS NULL OR t.agent = %(agent)s)
), parked AS (
    SELECT t.id FROM runtime_task t
    WHERE t.namespace = %(namespace)s AND t.parked_as = %(state)s AND t.id < %(before)s
      AND (%(agent)s::text IS NULL OR t.agent = %(agent)s)
      {search}
    ORDER BY t.id DESC LIMIT %(limit)s
), wanted AS (SELECT id FROM held UNION ALL SELECT id FROM parked)
"""
_SEARCH = """
AND EXISTS (
    SELECT 1 FROM runtime_taskspec q WHERE q.task_id = t.id
      AND (q.key = %(q)s OR q.search_text ILIKE %(like)s))
"""


def tasks(  # noqa: PLR0913, PLR0917 (one filter each)
    namespace: str,
    state: State | None,
    agent: str | None,
    q: str | None,
    before: UUID | None,
    limit: int,
) -> Page[TaskView]:
    """List tasks, newest first.

    Args:
        namespace: Where.
        state: Only those in this state.
        agent: Only those of this agent.
        q: Only those whose key or words match.
        before: Only those older than this one.
        limit: Rows of a page.
    """
    escaped = (q or "").replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    search = _SEARCH if q else ""
    params = {
        "namespace": namespace,
        "state": state.value if state else None,
        "agent": agent,
        "q": q,
        "like": f"%{escaped}%",
        "before": before or LATEST,
        "limit": limit + 1,
    }
    narrow = "AND t.id IN (SELECT id FROM wanted) " if state else ""
    if agent:
        narrow += "AND t.agent = %(agent)s "
    rows = execute(
        (_WANTED.format(search=search) if state else "")
        + _TASK
        + "FROM runtime_task t JOIN runtime_taskspec s ON s.task_id = t.id "
        + "WHERE t.namespace = %(namespace)s AND t.id < %(before)s "
        + narrow
        + search
        + " ORDER BY t.id DESC LIMIT %(limit)s",
        params,
    )
    views = tuple(TaskView(**_fields(row)) for row in rows[:limit])
    return Page(views, str(views[-1].id) if len(rows) > limit else None)


def _fields(row: Sequence[Any]) -> dict[str, Any]:
    *columns, text, checksum = row
    fields = dict(zip(_FIELDS, columns, strict=True))
    # Django has psycopg hand jsonb over as text.
    labels = fields["labels"]
    fields["labels"] = json.loads(labels) if isinstance(labels, str) else labels
    at = readable_checkpoint(fields["id"], text, checksum)
    pending, wait = (at.pending, at.wait) if at else (None, None)
    return fields | {
        "deadline": datetime.fromisoformat(at.deadline) if at and at.deadline else None,
        "outcome": at.outcome if at else None,
        "steps": at.step if at else 0,
        "done": at.done if at else 0,
        "writes": at.writes if at else 0,
        "tool": pending.tool if pending else None,
        "attempt": pending.attempt if pending else 0,
        "wait": wait.kind if wait else None,
        "review_id": UUID(wait.review_id) if wait and wait.review_id else None,
        "readable": at is not None,
    }


def readable_checkpoint(task_id: UUID, text: str, checksum: str) -> Checkpoint | None:
    """Read a checkpoint for people; None when it is damaged, which they must still be shown."""
    try:
        return cp.decode(task_id, text, checksum)
    except CheckpointUnreadable:
        return None


def read_payload(text: Any, codec: str | None = CODEC) -> Any:
    """Decode a payload for people: a damaged one is shown as such and hides nothing else."""
    if text is None or codec is None:
        return text
    try:
        return decode(text, codec)
    except Unreadable as error:
        return {"unreadable": str(error)}


# Payloads may be large: a page ends before it grows too heavy, but always has one row.
_EVENTS = """
SELECT seq, type, at, actor, call_id, cause, event_id, payload, codec
FROM (
    SELECT page.*, row_number() OVER (ORDER BY seq) AS n,
           sum(octet_length(payload)) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING) AS upto
    FROM (
        SELECT * FROM runtime_event
        WHERE task_id = %(task)s AND seq > %(after)s ORDER BY seq LIMIT %(limit)s
    ) AS page
) AS weighed
WHERE n = 1 OR upto <= %(bytes)s
ORDER BY seq
"""
_ANY_SIZE = 2**62


def events(task_id: UUID, after: int, limit: int, max_bytes: int | None = None) -> list[EventView]:
    """Read events in order, after a sequence number.

    Args:
        task_id: The task.
        after: Only those with a greater sequence number.
        limit: At most so many.
        max_bytes: At most so many bytes of stored payload, but at least one event.
    """
    size = _ANY_SIZE if max_bytes is None else max_bytes
    rows = execute(_EVENTS, {"task": task_id, "after": after, "limit": limit, "bytes": size})
    return [EventView(*(*row[:7], read_payload(row[7], row[8]))) for row in rows]


def step_results(task_id: UUID, after: int, limit: int) -> list[StepView]:
    """Read completed calls in order, after a position."""
    rows = execute(
        "SELECT position, call_id, tool, effect, outcome, summary, attempts, took_ms, finished_at, "
        "operation_id, artifact, seq, result, codec FROM runtime_stepresult "
        "WHERE task_id = %s AND position > %s ORDER BY position LIMIT %s",
        (task_id, after, limit),
    )
    return [StepView(*(*row[:12], read_payload(row[12], row[13]))) for row in rows]


def effects(view: TaskView, pending: str | None) -> list[EffectView]:
    """Read the effects of a task in the order they were decided.

    Args:
        view: The task.
        pending: Operation id of its pending call.
    """
    rows = execute(
        "SELECT id, call_id, tool, effect, status, dispatches, external_id, reserved_at, "
        "first_dispatched_at, settled_at, note FROM runtime_operation WHERE task_id = %s "
        "ORDER BY reserved_at, id",
        (view.id,),
    )
    lives = _lives(view.id, [row[1] for row in rows])
    return [_effect(view, pending, row, lives) for row in rows]


def _effect(
    view: TaskView,
    pending: str | None,
    row: Row,
    lives: dict[str, list[EffectEvent]],
) -> EffectView:
    operation_id, call_id, tool, effect, status, dispatches, *rest = row
    said = word(status, dispatches, is_pending=operation_id == pending, ended=view.ended)
    head = (operation_id, call_id, tool, effect, said, status, dispatches)
    return EffectView(*(*head, *rest, tuple(lives.get(call_id, ()))))


def _lives(task_id: UUID, call_ids: list[str]) -> dict[str, list[EffectEvent]]:
    found: dict[str, list[EffectEvent]] = {}
    if call_ids:
        rows = execute(
            "SELECT call_id, seq, type, at FROM runtime_event WHERE task_id = %s "
            "AND call_id = ANY (%s::text[]) ORDER BY seq",
            (task_id, call_ids),
        )
        for call_id, *event in rows:
            found.setdefault(call_id, []).append(EffectEvent(*event))
    return found


def pending_operation(task_id: UUID) -> str | None:
    """Give the operation id of a task's pending call, if it has one."""
    text = "SELECT checkpoint, checkpoint_sum FROM runtime_task WHERE id = %s"
    rows = execute(text, (task_id,))
    at = readable_checkpoint(task_id, *rows[0]) if rows else None
    return at.pending.operation_id if at and at.pending else None


def versions(task_ids: Sequence[UUID]) -> dict[UUID, tuple[int, bool]]:
    """Read of each task how often it has moved, and whether it has ended; one cheap statement."""
    rows = execute(
        "SELECT id, version, finished_at IS NOT NULL FROM runtime_task WHERE id = ANY (%s)",
        (list(task_ids),),
    )
    return {task_id: (version, ended) for task_id, version, ended in rows}


_REVIEW = """
SELECT r.id, r.namespace, r.task_id, t.agent, r.kind, r.status, r.why, r.question, r.allowed,
       r.call_id, r.operation_id, r.tool, t.situation, r.seq, r.opened_at,
       extract(epoch FROM coalesce(r.closed_at, runtime_now()) - r.opened_at)::float8,
       r.decision, r.reason, r.arguments, r.decided_by, r.channel, r.decided_at, r.closed_at,
       r.snapshot, r.codec
FROM runtime_review r JOIN runtime_task t ON t.id = r.task_id
"""
_REVIEW_FIELDS = _words("""
    id namespace task_id agent kind status why question allowed call_id operation_id tool situation
    seq opened_at waits_s decision reason arguments decided_by channel decided_at closed_at snapshot
""")


def review(namespace: str, review_id: UUID) -> ReviewView:
    """Read one review item; its ``situation`` is the task's at this moment.

    Raises:
        UnknownReview: There is none in this namespace.
    """
    rows = execute(
        _REVIEW + "WHERE r.id = %s AND r.namespace = %s",
        (review_id, namespace),
    )
    if not rows:
        raise UnknownReview(review_id)
    return _review(rows[0])


def reviews(
    namespace: str,
    status: str | None,
    kinds: Sequence[str] | None,
    limit: int,
    beyond: UUID | None = None,
) -> list[ReviewView]:
    """List review items: open ones the longest waiting first, others the newest first.

    Args:
        namespace: Where.
        status: Only those; None for all.
        kinds: Only those; None for all.
        limit: At most so many.
        beyond: Only those that follow this item, which may have been decided meanwhile.
    """
    is_open = status == "open"
    order = "opened_at, id" if is_open else "id DESC"
    place = "(SELECT opened_at, id FROM runtime_review WHERE id = %(beyond)s)"
    follows = f"(opened_at, id) > {place} " if is_open else "id < %(beyond)s "
    # The items are chosen before their tasks are joined, so that only those on the page are read.
    chosen = (
        "SELECT * FROM runtime_review WHERE namespace = %(namespace)s "  # noqa: S608 (our own words)
        + ("AND status = 'open' " if is_open else "")
        + ("AND status = %(status)s " if status and not is_open else "")
        + ("AND kind = ANY (%(kinds)s::text[]) " if kinds is not None else "")
        + (f"AND {follows}" if beyond is not None else "")
        + f"ORDER BY {order} LIMIT %(limit)s"
    )
    ordered = ", ".join(f"r.{column}" for column in order.split(", "))
    rows = execute(
        f"WITH chosen AS MATERIALIZED ({chosen}) "
        + _REVIEW.replace("runtime_review r", "chosen r")
        + f"ORDER BY {ordered}",
        {
            "namespace": namespace,
            "status": status,
            "kinds": list(kinds or ()),
            "limit": limit,
            "beyond": beyond,
        },
    )
    return [_review(row) for row in rows]


def open_review(id: UUID, namespace: str | None = None) -> ReviewView | None:  # noqa: A002
    """Read an open review item by its own id or by that of the task that waits for it."""
    rows = execute(
        _REVIEW + "WHERE (r.task_id = %(id)s OR r.id = %(id)s) AND r.status = 'open' "
        "AND (%(namespace)s::text IS NULL OR r.namespace = %(namespace)s)",
        {"id": id, "namespace": namespace},
    )
    return _review(rows[0]) if rows else None


def _review(row: Row) -> ReviewView:
    *columns, codec = row
    fields = dict(zip(_REVIEW_FIELDS, columns, strict=True))
    fields["allowed"] = tuple(fields["allowed"])
    fields["arguments"] = read_payload(fields["arguments"], codec)
    fields["snapshot"] = read_payload(fields["snapshot"], codec)
    return ReviewView(**fields)
