-- Purpose: take the tasks that the database ranks first.
-- Locks:   the first tasks of each queue, SKIP LOCKED, so that two workers never wait for each other;
--          with several queues some are locked for this statement and left.
-- Guards:  free, due, not paused; a suspect that killed two workers is left to the isolated lane.
--          The CTE is materialized because a plain sub-select may be run more than once and then
--          updates more rows than its LIMIT.
-- Index:   task_due, one ordered look per queue: `queue = ANY (...)` would read and sort all that is
--          due, which with a backlog of 100,000 tasks takes longer than most steps. Priorities that
--          have nothing due are skipped inside the index.
-- Caller:  runtime.store.claims.
WITH picked AS MATERIALIZED (
    SELECT first.id
    FROM (SELECT DISTINCT unnest(%(queues)s::text[])) AS q (queue)
    CROSS JOIN LATERAL (
        SELECT t.id, t.priority, t.due_at
        FROM runtime_task t
        WHERE t.queue = q.queue
          AND t.owner IS NULL
          AND NOT t.held
          AND t.due_at <= runtime_now()
          AND t.agent = ANY (%(agents)s::text[])
          AND t.codec <= %(codec)s
          AND t.deaths <> %(suspect)s
        ORDER BY t.priority, t.due_at
        LIMIT %(limit)s
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS first
    ORDER BY first.priority, first.due_at
    LIMIT %(limit)s
)
UPDATE runtime_task t
SET owner = %(owner)s,
    epoch = t.epoch + 1
FROM picked
WHERE t.id = picked.id
RETURNING t.id, t.namespace, t.agent, t.queue, t.version, t.situation, t.checkpoint,
          t.checkpoint_sum, t.epoch, t.attention, t.attended, t.held, t.deaths, t.owner,
          -- A subquery and no join: it is a look by primary key for each task, whatever the planner
          -- thinks of the limit.
          (SELECT ARRAY[s.input, s.codec, m.body, m.codec]
           FROM runtime_taskspec s
           JOIN runtime_manifest m ON m.namespace = s.namespace AND m.digest = s.manifest_digest
           WHERE s.task_id = t.id)
