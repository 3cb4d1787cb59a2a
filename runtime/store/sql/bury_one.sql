-- Purpose: a worker's own flight recorder reports that its process is gone.
-- Locks:   the worker row, then its task rows in the order of their ids.
-- Guards:  it is still counted among the living; a sweep may have come first.
-- Index:   primary key, task_owned.
-- Caller:  runtime.store.leases.
WITH dead AS (
    UPDATE runtime_worker w
    SET state = 'dead',
        ended_at = runtime_now(),
        death = %(death)s
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
