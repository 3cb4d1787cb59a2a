"""The facts behind "why is it not moving?", read as of one moment.

Reads only; what the facts mean is said by ``runtime.core.why``.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from runtime.core.breaker import Breaker, BreakerState
from runtime.core.checkpoint import Checkpoint
from runtime.core.errors import UnknownTask
from runtime.core.events import EventType
from runtime.core.states import State
from runtime.core.why import Asked, Facts, Hold, Holder, Resting
from runtime.store.queries import read_payload, readable_checkpoint
from runtime.store.session import execute

MOST_AHEAD = 1000

_TASK = """
SELECT runtime_now(), t.state, t.agent, t.queue, t.namespace, t.priority, t.due_at, t.finished_at,
       t.held, t.owner, t.deaths, t.attention - t.attended, t.checkpoint, t.checkpoint_sum,
       t.created_at, s.outcome_reason,
       w.host, w.pid, w.state, w.renewed_at, w.expires_at, w.death,
       (SELECT e.at FROM runtime_event e WHERE e.task_id = t.id ORDER BY e.seq DESC LIMIT 1)
FROM runtime_task t
JOIN runtime_taskspec s ON s.task_id = t.id
LEFT JOIN runtime_worker w ON w.id = t.owner
WHERE t.id = %s AND t.namespace = %s
"""


def read(namespace: str, task_id: UUID, known_agents: Sequence[str]) -> Facts:
    """Read everything that can keep a task from moving.

    Args:
        namespace: Where it lives.
        task_id: The task.
        known_agents: The agents that this installation has.

    Raises:
        UnknownTask: There is none in this namespace.
    """
    rows = execute(_TASK, (task_id, namespace))
    if not rows:
        raise UnknownTask(task_id)
    now, state, agent, queue, space, priority, due_at, finished_at = rows[0][:8]
    held, owner, deaths, attention, text, checksum, created_at, reason = rows[0][8:16]
    host, pid, worker_state, renewed_at, expires_at, death, moved_at = rows[0][16:]
    at = readable_checkpoint(task_id, text, checksum)
    pending = at.pending if at else None
    serving, free = _serving(queue)
    return Facts(
        state=State(state),
        now=now,
        moved_at=moved_at or created_at,
        agent=agent,
        queue=queue,
        due_at=due_at,
        finished_at=finished_at,
        deadline=_instant(at.deadline) if at else None,
        reason=reason,
        outcome=at.outcome if at else None,
        hold=_hold(task_id, namespace, created_at) if held else None,
        holder=None
        if owner is None
        else Holder(
            host=host or "",
            pid=pid or 0,
            state=worker_state,
            renewed_at=renewed_at,
            expires_at=expires_at,
            death=death,
        ),
        asked=_asked(task_id),
        resting=_resting(space, pending.tool, now) if pending else None,
        tool=pending.tool if pending else None,
        attempt=pending.attempt if pending else 0,
        dispatched=pending.dispatched if pending else False,
        last_failure=_last_failure(task_id, at),
        wait_until=_instant(at.wait.until) if at and at.wait else None,
        deaths=deaths,
        attention=attention,
        agent_known=agent in known_agents,
        serving=serving,
        free=free,
        ahead=_ahead(queue, priority, due_at) if owner is None and due_at else 0,
        readable=at is not None,
    )


def _instant(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _hold(task_id: UUID, namespace: str, created_at: datetime) -> Hold:
    """Find who paused it: the command stands in the inbox before any event tells of it."""
    rows = execute(
        "SELECT actor, payload, codec, created_at FROM runtime_inbox WHERE namespace = %s "
        "AND task_id = %s AND kind = 'hold' ORDER BY id DESC LIMIT 1",
        (namespace, task_id),
    )
    if not rows:
        return Hold(by="", reason="", at=created_at)
    by, payload, codec, at = rows[0]
    facts: Any = read_payload(payload, codec)
    return Hold(by=by, reason=str(facts.get("reason", "")), at=at)


def _asked(task_id: UUID) -> Asked | None:
    rows = execute(
        "SELECT id, kind, why, question, status, opened_at, decision, decided_by, decided_at "
        "FROM runtime_review WHERE task_id = %s AND status IN ('open', 'decided')",
        (task_id,),
    )
    if not rows:
        return None
    review_id, kind, why, question, status, at, decision, by, decided_at = rows[0]
    return Asked(
        id=str(review_id),
        kind=kind,
        why=why,
        question=question,
        status=status,
        at=at,
        decision=decision,
        decided_by=by,
        decided_at=decided_at,
    )


def _resting(namespace: str, tool: str, now: datetime) -> Resting | None:
    rows = execute(
        "SELECT body::text FROM runtime_breaker WHERE namespace = %s AND tool = %s",
        (namespace, tool),
    )
    if not rows:
        return None
    breaker = Breaker.from_dict(read_payload(rows[0][0]))
    if breaker.state is BreakerState.CLOSED or (breaker.until and breaker.until <= now):
        return None
    return Resting(until=breaker.until)


def _last_failure(task_id: UUID, at: Checkpoint | None) -> str | None:
    if at is None or at.state is not State.RETRYING:
        return None
    rows = execute(
        "SELECT payload, codec FROM runtime_event WHERE task_id = %s AND seq > %s AND type = %s "
        "ORDER BY seq DESC LIMIT 1",
        (task_id, at.seq - _LOOKED_AT, EventType.TOOL_CALL_FAILED.value),
    )
    payload: Any = read_payload(*rows[0]) if rows else {}
    message = payload.get("message")
    return str(message) if message else None


_LOOKED_AT = 10
"""The failure stands right before its back-off; further back it is another call's."""


def _serving(queue: str) -> tuple[int, int]:
    """Count the running workers of a queue and their free slots."""
    rows = execute(
        "SELECT count(*)::int, coalesce(sum(greatest(slots - held, 0)), 0)::int "
        "FROM runtime_worker WHERE state = 'running' AND kind = 'worker' "
        "AND expires_at > runtime_now() AND queues @> ARRAY[%s::text]",
        (queue,),
    )
    serving, free = rows[0]
    return serving, free


def _ahead(queue: str, priority: int, due_at: datetime) -> int:
    """Count the due tasks that a claim takes before this one; no further than people care."""
    rows = execute(
        "SELECT count(*) FROM (SELECT 1 FROM runtime_task WHERE owner IS NULL AND NOT held "
        "AND due_at <= runtime_now() AND queue = %s AND (priority, due_at) < (%s::smallint, %s) "
        "LIMIT %s) AS before",
        (queue, priority, due_at, MOST_AHEAD),
    )
    return int(rows[0][0])
