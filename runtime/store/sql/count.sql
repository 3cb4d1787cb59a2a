-- Purpose: enter into buckets and totals what happened and is not in them yet, each row once: the
--          row itself is marked, or taken out, in the same statement, so neither a second sweep nor
--          a restart in the middle counts it twice, and no row that commits late is missed, as it
--          would be behind a watermark.
-- Locks:   one advisory lock for the transaction, so that two sweeps do not meet in the totals; then
--          the marked rows, SKIP LOCKED.
-- Index:   task_uncounted, worker_uncounted, refusal_uncounted, review_opening_uncounted,
--          review_closing_uncounted, the key of the tally; results and events of a task by its key.
-- Caller:  runtime.store.counting, from the sweep; a head and the tail make a statement.

--: task
WITH ended AS MATERIALIZED (
    SELECT t.id, t.namespace, t.agent, t.state, t.finished_at AS at, t.created_at,
           greatest(extract(epoch FROM t.finished_at - t.created_at), 0)::float8 AS took_s
    FROM runtime_task t
    WHERE t.finished_at IS NOT NULL AND NOT t.counted
      AND (SELECT pg_try_advisory_xact_lock(%(lock)s, 0))
    ORDER BY t.finished_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF t SKIP LOCKED
), marked AS (
    UPDATE runtime_task t SET counted = true FROM ended WHERE t.id = ended.id
), calls AS MATERIALIZED (
    SELECT e.namespace, e.at, r.tool, r.outcome, r.attempts, r.took_ms / 1000.0::float8 AS took_s
    FROM ended e JOIN runtime_stepresult r ON r.task_id = e.id
), found (namespace, at, kind, name, word, bound, count, sum) AS (
    SELECT e.namespace, e.at, 'task_ended', e.agent, e.state, NULL::float8, 1, e.took_s
    FROM ended e
    UNION ALL
    -- Into the first class of the histogram whose bound it does not exceed; -1 is beyond all.
    SELECT e.namespace, e.at, 'task_duration', e.agent, NULL, coalesce(
               (SELECT min(b) FROM unnest(%(bounds)s::float8[]) AS b WHERE e.took_s <= b), -1),
           1, e.took_s
    FROM ended e
    UNION ALL
    SELECT e.namespace, e.at, 'queue_wait', e.agent, NULL, coalesce(
               (SELECT min(b) FROM unnest(%(bounds)s::float8[]) AS b WHERE w.wait_s <= b), -1),
           1, w.wait_s
    FROM ended e
    JOIN runtime_event v
        ON v.task_id = e.id AND v.seq BETWEEN 2 AND 4 AND v.type = 'task_started'
    CROSS JOIN LATERAL (
        SELECT greatest(extract(epoch FROM v.at - e.created_at), 0)::float8 AS wait_s
    ) w
    UNION ALL
    SELECT c.namespace, c.at, 'tool_call', c.tool, c.outcome, NULL, 1, c.took_s
    FROM calls c
    UNION ALL
    SELECT c.namespace, c.at, 'tool_duration', c.tool, NULL, coalesce(
               (SELECT min(b) FROM unnest(%(call_bounds)s::float8[]) AS b WHERE c.took_s <= b), -1),
           1, c.took_s
    FROM calls c
    UNION ALL
    SELECT c.namespace, c.at, 'tool_retry', c.tool, NULL, NULL, c.attempts - 1, 0
    FROM calls c
    WHERE c.attempts > 1

--: tally
WITH ended AS MATERIALIZED (
    SELECT y.id, y.namespace, y.at, y.kind, y.name
    FROM runtime_tally y
    WHERE (SELECT pg_try_advisory_xact_lock(%(lock)s, 0))
    ORDER BY y.id
    LIMIT %(limit)s
    FOR UPDATE OF y SKIP LOCKED
), taken_out AS (
    DELETE FROM runtime_tally y USING ended WHERE y.id = ended.id
), found (namespace, at, kind, name, word, bound, count, sum) AS (
    SELECT e.namespace, e.at, e.kind, e.name, NULL, NULL::float8, 1, 0::float8 FROM ended e

--: opening
WITH ended AS MATERIALIZED (
    SELECT r.id, r.namespace, r.opened_at AS at, r.kind, t.agent
    FROM runtime_review r JOIN runtime_task t ON t.id = r.task_id
    WHERE NOT r.opening_counted
      AND (SELECT pg_try_advisory_xact_lock(%(lock)s, 0))
    ORDER BY r.id
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF r SKIP LOCKED
), marked AS (
    UPDATE runtime_review r SET opening_counted = true FROM ended WHERE r.id = ended.id
), found (namespace, at, kind, name, word, bound, count, sum) AS (
    SELECT e.namespace, e.at, 'review_opened', e.agent, e.kind, NULL::float8, 1, 0::float8
    FROM ended e

--: closing
WITH ended AS MATERIALIZED (
    SELECT r.id, r.namespace, coalesce(r.decided_at, r.closed_at) AS at, t.agent, r.decision,
           greatest(extract(epoch FROM coalesce(r.decided_at, r.closed_at) - r.opened_at), 0)
               ::float8 AS waited_s
    FROM runtime_review r JOIN runtime_task t ON t.id = r.task_id
    WHERE r.closed_at IS NOT NULL AND NOT r.closing_counted
      AND (SELECT pg_try_advisory_xact_lock(%(lock)s, 0))
    ORDER BY r.id
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF r SKIP LOCKED
), marked AS (
    UPDATE runtime_review r SET closing_counted = true FROM ended WHERE r.id = ended.id
), found (namespace, at, kind, name, word, bound, count, sum) AS (
    SELECT e.namespace, e.at, 'review_closed', e.agent, coalesce(e.decision, 'withdrawn'),
           NULL::float8, 1, e.waited_s
    FROM ended e
    UNION ALL
    SELECT e.namespace, e.at, 'review_wait', e.agent, NULL, coalesce(
               (SELECT min(b) FROM unnest(%(bounds)s::float8[]) AS b WHERE e.waited_s <= b), -1),
           1, e.waited_s
    FROM ended e
    WHERE e.decision IS NOT NULL

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
), found (namespace, at, kind, name, word, bound, count, sum) AS (
    SELECT e.namespace, e.at, 'worker_ended', e.cause, NULL, NULL::float8, 1, 0::float8 FROM ended e

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
), found (namespace, at, kind, name, word, bound, count, sum) AS (
    SELECT e.namespace, e.at, 'refusal', NULL, NULL, NULL::float8, 1, 0::float8 FROM ended e

--: tail
), bucketed AS (
    INSERT INTO runtime_bucket AS b (namespace, width_s, kind, began_at, name, word, count, sum)
    SELECT f.namespace, w.width_s, f.kind,
           date_bin(make_interval(secs => w.width_s), f.at, timestamptz '2000-01-01 00:00:00+00'),
           coalesce(f.name, ''), coalesce(f.word, f.bound::text, ''), sum(f.count), sum(f.sum)
    FROM found f CROSS JOIN unnest(%(widths)s::int[]) AS w (width_s)
    GROUP BY 1, 2, 3, 4, 5, 6
    ON CONFLICT (namespace, width_s, kind, began_at, name, word) DO UPDATE
    SET count = b.count + EXCLUDED.count,
        sum = b.sum + EXCLUDED.sum
), totalled AS (
    INSERT INTO runtime_total AS t (namespace, kind, label, count, sum, last_at)
    SELECT f.namespace, f.kind, label.text, sum(f.count), sum(f.sum), max(f.at)
    FROM found f
    CROSS JOIN LATERAL (
        SELECT coalesce(jsonb_agg(p.part ORDER BY p.at), '[]')::text AS text
        FROM (VALUES (1, to_jsonb(f.name)), (2, to_jsonb(f.word)), (3, to_jsonb(f.bound)))
             AS p (at, part)
        WHERE p.part IS NOT NULL
    ) label
    GROUP BY 1, 2, 3
    ON CONFLICT (namespace, kind, label) DO UPDATE
    SET count = t.count + EXCLUDED.count,
        sum = t.sum + EXCLUDED.sum,
        last_at = greatest(t.last_at, EXCLUDED.last_at)
)
SELECT count(*) FROM ended
