-- Purpose: take ended tasks whose receiver must be told, and push them ahead for as long as one
--          delivery may last: whoever dies meanwhile is followed by the next.
-- Locks:   the rows it takes; what another has locked is skipped.
-- Guards:  due.
-- Index:   callback_due.
-- Caller:  runtime.store.callbacks.
WITH due AS MATERIALIZED (
    SELECT c.task_id
    FROM runtime_callback c
    WHERE c.due_at IS NOT NULL AND c.due_at <= runtime_now()
    ORDER BY c.due_at
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE runtime_callback c
    SET due_at = runtime_now() + make_interval(secs => %(busy_s)s),
        attempts = c.attempts + 1
    FROM due
    WHERE c.task_id = due.task_id
    RETURNING c.task_id, c.namespace, c.url, c.attempts
)
SELECT taken.task_id, taken.namespace, taken.url, taken.attempts, t.agent, t.state, t.finished_at,
       s.key, s.outcome_reason
FROM taken
JOIN runtime_task t ON t.id = taken.task_id
JOIN runtime_taskspec s ON s.task_id = taken.task_id
