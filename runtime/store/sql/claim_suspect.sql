-- Purpose: find one task that has killed two workers, for a process of its own.
-- Locks:   none; the isolated process claims it by name.
-- Index:   task_accused, which needs the literal comparison beside the exact one: a worker asks this
--          whenever it has room, and suspects are few.
-- Caller:  runtime.store.claims.
SELECT t.id
FROM runtime_task t
WHERE t.queue = ANY (%(queues)s::text[])
  AND t.owner IS NULL
  AND NOT t.held
  AND t.due_at <= runtime_now()
  AND t.agent = ANY (%(agents)s::text[])
  AND t.codec <= %(codec)s
  AND t.deaths > 0
  AND t.deaths = %(suspect)s
ORDER BY t.priority, t.due_at
LIMIT 1
