-- Purpose: enter into buckets and totals what has ended and is not in them yet, each row once: the
--          row itself is marked in the same statement, so neither a second sweep nor a restart in
--          the middle counts it twice, and no row that commits late is missed, as it would be
--          behind a watermark.
-- Locks:   one advisory lock for the transaction, so that two sweeps do not meet in the totals; then
--          the marked rows, SKIP LOCKED.
-- Index:   task_uncounted, worker_uncounted, refusal_uncounted; the results of a task by its key.
-- Caller:  runtime.store.counting, from the sweep; a head and the tail make a statement.

--: task
WITH ended AS MATERIALIZED (
    SELECT t.id, t.namespace, t.agent, t.state, t.finished_at AS at,
           greatest(extract(epoch FROM t.finished_at - t.created_at), 0)::float8 AS took_s
    FROM runtime_task t
    WHERE t.finished_at IS NOT NULL AND NOT t.counted
      AND (SELECT pg_try_advisory_xact_lock(%(lock)s, 0))
    ORDER BY t.finished_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF t SKIP LOCKED
), marked AS (
    UPDATE runtime_task t SET counted = true FROM ended WHERE t.id = ended.id
), found (namespace, at, kind, label, count, sum) AS (
    SELECT e.namespace, e.at, 'task_ended', jsonb_build_array(e.agent, e.state), 1, e.took_s
    FROM ended e
    UNION ALL
    -- Into the first class of the histogram whose bound it does not exceed; -1 is beyond all.
    SELECT e.namespace, e.at, 'task_duration',
           jsonb_build_array(e.agent, coalesce(
               (SELECT min(b) FROM unnest(%(bounds)s::float8[]) AS b WHERE e.took_s <= b), -1)),
           1, e.took_s
    FROM ended e
    UNION ALL
    SELECT e.namespace, e.at, 'tool_call', jsonb_build_array(r.tool, r.outcome), 1,
           r.took_ms / 1000.0
    FROM ended e JOIN runtime_stepresult r ON r.task_id = e.id
    UNION ALL
    SELECT e.namespace, e.at, 'tool_retry', jsonb_build_array(r.tool), r.attempts - 1, 0
    FROM ended e JOIN runtime_stepresult r ON r.task_id = e.id
    WHERE r.attempts > 1

--: worker
WITH ended AS MATERIALIZED (
    SELECT w.id, w.namespace, w.ended_at AS at, coalesce(w.death, 'stopped') AS cause
    FROM runtime_worker w
    WHERE w.state IN ('stopped', 'dead') AND NOT w.counted
      AND (SELECT pg_try_advisory_xact_lock(%(lock)s, 0))
    ORDER BY w.id
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF w SKIP LOCKED
), marked AS (
    UPDATE runtime_worker w SET counted = true FROM ended WHERE w.id = ended.id
), found (namespace, at, kind, label, count, sum) AS (
    SELECT e.namespace, e.at, 'worker_ended', jsonb_build_array(e.cause), 1, 0::float8 FROM ended e

--: refusal
WITH ended AS MATERIALIZED (
    SELECT r.id, r.namespace, r.at
    FROM runtime_refusal r
    WHERE NOT r.counted
      AND (SELECT pg_try_advisory_xact_lock(%(lock)s, 0))
    ORDER BY r.id
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF r SKIP LOCKED
), marked AS (
    UPDATE runtime_refusal r SET counted = true FROM ended WHERE r.id = ended.id
), found (namespace, at, kind, label, count, sum) AS (
    SELECT e.namespace, e.at, 'refusal', '[]'::jsonb, 1, 0::float8 FROM ended e

--: tail
), bucketed AS (
    INSERT INTO runtime_bucket AS b (minute, namespace, kind, label, count, sum)
    SELECT date_trunc('minute', f.at), f.namespace, f.kind, f.label::text, sum(f.count), sum(f.sum)
    FROM found f
    GROUP BY 1, 2, 3, 4
    ON CONFLICT (minute, namespace, kind, label) DO UPDATE
    SET count = b.count + EXCLUDED.count,
        sum = b.sum + EXCLUDED.sum
), totalled AS (
    INSERT INTO runtime_total AS t (namespace, kind, label, count, sum, last_at)
    SELECT f.namespace, f.kind, f.label::text, sum(f.count), sum(f.sum), max(f.at)
    FROM found f
    GROUP BY 1, 2, 3
    ON CONFLICT (namespace, kind, label) DO UPDATE
    SET count = t.count + EXCLUDED.count,
        sum = t.sum + EXCLUDED.sum,
        last_at = greatest(t.last_at, EXCLUDED.last_at)
)
SELECT count(*) FROM ended
