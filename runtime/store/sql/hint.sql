-- Purpose: find due tasks that nobody came for, and remember that they were called out.
-- Locks:   the picked task rows, SKIP LOCKED; two sweeps never hint the same task at once.
-- Guards:  free, due, not paused, not called out within the last seconds.
-- Index:   task_due.
-- Caller:  runtime.store.claims, from the sweep.
WITH due AS MATERIALIZED (
    SELECT t.id
    FROM runtime_task t
    WHERE t.owner IS NULL
      AND NOT t.held
      AND t.queue = %(queue)s
      AND t.due_at <= runtime_now()
      AND (t.hinted_at IS NULL OR t.hinted_at < runtime_now() - make_interval(secs => %(again_s)s))
    ORDER BY t.priority, t.due_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE runtime_task t
SET hinted_at = runtime_now()
FROM due
WHERE t.id = due.id
RETURNING t.id
