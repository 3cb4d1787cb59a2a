-- Purpose: abort a task whose checkpoint and journal are unreadable.
-- Locks:   the task row.
-- Guards:  owner and epoch.
-- Index:   primary keys, review_one_open_per_task.
-- Caller:  runtime.store.broken, inside the transaction that claimed the task.
WITH guard AS MATERIALIZED (
    SELECT t.id, t.namespace, t.version
    FROM runtime_task t
    WHERE t.id = %(task)s AND t.owner = %(owner)s AND t.epoch = %(epoch)s
    FOR NO KEY UPDATE
), events AS (
    INSERT INTO runtime_event (task_id, seq, namespace, type, v, payload, codec, actor, at)
    SELECT guard.id, guard.version + 1, guard.namespace, 'task_aborted', 1,
           json_build_object('outcome', 'aborted', 'reason', %(reason)s::text, 'by', %(by)s::text)
               ::text,
           %(codec)s, %(by)s, runtime_now()
    FROM guard
), review AS (
    UPDATE runtime_review r
    SET status = 'closed', closed_at = runtime_now()
    FROM guard
    WHERE r.task_id = guard.id AND r.status IN ('open', 'decided')
), inbox AS (
    UPDATE runtime_inbox i
    SET consumed_at = runtime_now()
    FROM guard
    WHERE i.id = %(letter)s AND i.task_id = guard.id
), spec AS (
    UPDATE runtime_taskspec s
    SET outcome_reason = %(reason)s
    FROM guard
    WHERE s.task_id = guard.id
), callback AS (
    UPDATE runtime_callback c
    SET due_at = runtime_now()
    FROM guard
    WHERE c.task_id = guard.id
)
UPDATE runtime_task t
SET version = t.version + 1,
    situation = t.situation + 1,
    state = 'terminated_aborted',
    owner = NULL,
    due_at = NULL,
    attended = t.attention,
    finished_at = runtime_now()
FROM guard
WHERE t.id = guard.id
RETURNING t.id
