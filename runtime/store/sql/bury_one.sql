-- Purpose: a worker's own flight recorder reports that its process is gone.
-- Locks:   the worker row, then its task rows in the order of their ids.
-- Guards:  it did not stop of its own will. If a sweep came first, its word on when and how stays, and
--          only what that sweep had to skip is freed.
-- Index:   primary key, task_owned.
-- Caller:  runtime.store.leases.
WITH dead AS (
    UPDATE runtime_worker w
    SET state = 'dead',
        ended_at = coalesce(w.ended_at, runtime_now()),
        left_behind = CASE WHEN w.state = 'dead' THEN w.left_behind ELSE ARRAY(
            SELECT t.id FROM runtime_task t WHERE t.owner = w.id ORDER BY t.id LIMIT 200) END,
        death = coalesce(w.death, %(death)s)
    WHERE w.id = %(worker)s AND w.state <> 'stopped'
    RETURNING w.id
), held AS MATERIALIZED (
    SELECT t.id FROM runtime_task t, dead
    WHERE t.owner = dead.id
    ORDER BY t.id
    FOR NO KEY UPDATE OF t
)
UPDATE runtime_task t
SET owner = NULL,
    epoch = t.epoch + 1,
    due_at = runtime_now(),
    hinted_at = NULL
FROM held
WHERE t.id = held.id
RETURNING t.id, t.queue
