-- Purpose: take a task out of the hands of a worker, whether or not its lease lives; the checkpoint is
--          not looked at. What that worker still brings is refused by the fence and kept as evidence.
-- Locks:   the task row; waits for a commit that is under way.
-- Guards:  somebody holds it, at the epoch that was on the screen. Attention stays as it is, so the
--          next holder reads the commands that this one has not.
-- Index:   primary key.
-- Caller:  runtime.store.leases, for an administrator.
WITH held AS MATERIALIZED (
    SELECT t.id, t.owner
    FROM runtime_task t
    WHERE t.id = %(task)s
      AND t.namespace = %(namespace)s
      AND t.owner IS NOT NULL
      AND t.epoch = %(epoch)s
      AND t.finished_at IS NULL
    FOR NO KEY UPDATE OF t
)
UPDATE runtime_task t
SET owner = NULL,
    epoch = t.epoch + 1,
    due_at = runtime_now(),
    hinted_at = NULL
FROM held
WHERE t.id = held.id
RETURNING held.owner, t.queue
