-- Purpose: name the queues in which something is due and free.
-- Locks:   none.
-- Index:   task_due, one probe per queue: a loose index scan, because the table may hold a million
--          waiting tasks and only a handful of queues.
-- Caller:  runtime.store.claims, from the sweep.
WITH RECURSIVE queues AS (
    (SELECT t.queue FROM runtime_task t
     WHERE t.owner IS NULL AND NOT t.held AND t.due_at IS NOT NULL
     ORDER BY t.queue LIMIT 1)
    UNION ALL
    SELECT (SELECT t.queue FROM runtime_task t
            WHERE t.owner IS NULL AND NOT t.held AND t.due_at IS NOT NULL AND t.queue > queues.queue
            ORDER BY t.queue LIMIT 1)
    FROM queues
    WHERE queues.queue IS NOT NULL
)
SELECT queues.queue FROM queues
WHERE queues.queue IS NOT NULL
  AND EXISTS (
      SELECT 1 FROM runtime_task t
      WHERE t.owner IS NULL AND NOT t.held AND t.queue = queues.queue
        AND t.due_at <= runtime_now()
  )
