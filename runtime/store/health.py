"""Breakers and the progress of running calls: small facts that all workers share."""

import json
from datetime import datetime
from uuid import UUID

from runtime.core.payloads import CODEC, decode, encode
from runtime.store.commits import Holder
from runtime.store.session import execute


def store_breaker(namespace: str, tool: str, body: dict[str, object]) -> datetime:
    """Write a tool's breaker and give the time of it; the last writer wins."""
    rows = execute(
        "INSERT INTO runtime_breaker (namespace, tool, body, updated_at) "
        "VALUES (%s, %s, %s::jsonb, runtime_now()) ON CONFLICT (namespace, tool) "
        "DO UPDATE SET body = EXCLUDED.body, updated_at = runtime_now() RETURNING updated_at",
        (namespace, tool, json.dumps(body)),
    )
    at: datetime = rows[0][0]
    return at


def breakers() -> list[tuple[str, str, dict[str, object], datetime]]:
    """List all breakers that were ever stored."""
    # As text: Django's connections do not read jsonb, the one of the lease does.
    rows = execute(
        "SELECT namespace, tool, body::text, updated_at FROM runtime_breaker ORDER BY 1, 2"
    )
    return [(namespace, tool, json.loads(body), at) for namespace, tool, body, at in rows]


def keep_progress(holder: Holder, namespace: str, call_id: str, progress: object) -> bool:
    """Keep what a running call reported; False when the lease is lost."""
    rows = execute(
        "INSERT INTO runtime_progress (task_id, namespace, call_id, body, codec, at) "
        "SELECT t.id, %s, %s, %s, %s, runtime_now() FROM runtime_task t "
        "WHERE t.id = %s AND t.owner = %s AND t.epoch = %s "
        "ON CONFLICT (task_id) DO UPDATE SET call_id = EXCLUDED.call_id, body = EXCLUDED.body, "
        "codec = EXCLUDED.codec, at = EXCLUDED.at RETURNING task_id",
        (
            namespace,
            call_id,
            encode(progress).text,
            CODEC,
            holder.task_id,
            holder.owner,
            holder.epoch,
        ),
    )
    return bool(rows)


def load_progress(task_id: UUID, call_id: str) -> object:
    """Read the last progress of a call; None if it never reported any."""
    text = "SELECT body, codec FROM runtime_progress WHERE task_id = %s AND call_id = %s"
    rows = execute(text, (task_id, call_id))
    return decode(rows[0][0], rows[0][1]) if rows else None
