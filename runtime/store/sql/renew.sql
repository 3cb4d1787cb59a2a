-- Purpose: renew a worker's lease, and learn which of its tasks somebody wants something of and
--          whether it is to take no more.
-- Locks:   the worker's own row.
-- Guards:  it is still counted among the living: a worker declared dead must start anew.
-- Index:   primary key; task_owned for the tasks.
-- Caller:  runtime.store.leases, from the side thread of the worker.
WITH renewed AS (
    UPDATE runtime_worker w
    SET renewed_at = runtime_now(),
        expires_at = runtime_now() + make_interval(secs => %(lease_s)s),
        held = %(held)s,
        memory_mb = %(memory_mb)s,
        state = %(state)s
    WHERE w.id = %(worker)s AND w.state IN ('running', 'draining')
    RETURNING w.id, w.drain_asked_at
)
SELECT runtime_now() AS now,
       ARRAY(
           SELECT t.id FROM runtime_task t
           WHERE t.owner = renewed.id AND t.attention <> t.attended
       ) AS wanted,
       renewed.drain_asked_at IS NOT NULL AS drain
FROM renewed
