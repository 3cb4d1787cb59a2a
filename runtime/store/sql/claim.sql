-- Purpose: take the tasks that the database ranks first.
-- Locks:   the picked task rows, SKIP LOCKED, so that two workers never wait for each other.
-- Guards:  free, due, not paused; a suspect that killed two workers is left to the isolated lane.
--          The CTE is materialized because a plain sub-select may be run more than once and then
--          updates more rows than its LIMIT.
-- Index:   task_due.
-- Caller:  runtime.store.claims.
WITH picked AS MATERIALIZED (
    SELECT t.id
    FROM runtime_task t
    WHERE t.queue = ANY (%(queues)s::text[])
      AND t.owner IS NULL
      AND NOT t.held
      AND t.due_at <= runtime_now()
      AND t.agent = ANY (%(agents)s::text[])
      AND t.codec <= %(codec)s
      AND t.deaths <> %(suspect)s
    ORDER BY t.priority, t.due_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE runtime_task t
SET owner = %(owner)s,
    epoch = t.epoch + 1
FROM picked
WHERE t.id = picked.id
RETURNING t.id, t.namespace, t.agent, t.queue, t.version, t.situation, t.checkpoint,
          t.checkpoint_sum, t.epoch, t.attention, t.attended, t.held, t.deaths
