-- Purpose: find the tasks that should be moving by themselves and are not; see runtime.core.stuck.
-- Locks:   none.
-- Index:   task_due, skipped from one queue and priority to the next, so that a million tasks that
--          wait for their time are not read; task_owned for what workers hold.
-- Caller:  runtime.store.stuck.
WITH RECURSIVE ranks AS (
    (SELECT t.queue, t.priority FROM runtime_task t
     WHERE t.owner IS NULL AND NOT t.held AND t.due_at IS NOT NULL
     ORDER BY t.queue, t.priority LIMIT 1)
    UNION ALL
    SELECT n.queue, n.priority
    FROM ranks r CROSS JOIN LATERAL (
        SELECT t.queue, t.priority FROM runtime_task t
        WHERE t.owner IS NULL AND NOT t.held AND t.due_at IS NOT NULL
          AND (t.queue, t.priority) > (r.queue, r.priority)
        ORDER BY t.queue, t.priority LIMIT 1
    ) n
), served AS MATERIALIZED (
    SELECT DISTINCT q.queue
    FROM runtime_worker w, unnest(w.queues) AS q (queue)
    WHERE w.state = 'running' AND w.kind = 'worker' AND w.expires_at > runtime_now()
), waiting AS (
    SELECT o.id, o.agent, r.queue, o.due_at AS since, r.queue IN (SELECT s.queue FROM served s)
           AS is_served
    FROM ranks r CROSS JOIN LATERAL (
        SELECT t.id, t.agent, t.due_at FROM runtime_task t
        WHERE t.queue = r.queue AND t.priority = r.priority
          AND t.owner IS NULL AND NOT t.held
          AND t.due_at < runtime_now() - make_interval(secs => %(no_worker_s)s)
          AND t.namespace = %(namespace)s
        ORDER BY t.due_at LIMIT %(limit)s
    ) o
), lost AS (
    SELECT t.id, t.agent, t.queue, w.expires_at AS since
    FROM runtime_task t JOIN runtime_worker w ON w.id = t.owner
    WHERE t.owner IS NOT NULL AND t.namespace = %(namespace)s
      AND w.expires_at < runtime_now() - make_interval(secs => %(lost_s)s)
    LIMIT %(limit)s
)
SELECT w.id, w.agent, w.queue, CASE WHEN w.is_served THEN 'overdue' ELSE 'no_worker' END, w.since
FROM waiting w
WHERE NOT w.is_served OR w.since < runtime_now() - make_interval(secs => %(overdue_s)s)
UNION ALL
SELECT l.id, l.agent, l.queue, 'lost', l.since FROM lost l
ORDER BY 5, 1
LIMIT %(limit)s
