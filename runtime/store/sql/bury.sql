-- Purpose: declare workers dead, and free what the dead and the unknown hold.
-- Locks:   the worker rows, then the task rows in the order of their ids, SKIP LOCKED: a task in
--          the middle of a commit is freed by the next sweep.
-- Guards:  a missing advisory lock means dead only if a sweep saw it held since this server
--          started: after a restart of PostgreSQL every lock is gone and the living look dead.
--          An expired lease counts only when the sweep itself has been watching for a whole lease:
--          after an outage the living need the time to renew.
--          A task is freed at the epoch at which it was found: between the look and the lock another
--          sweep may have freed it and a living worker taken it. The lock alone would not notice:
--          it compares the new owner with the old worker, finds none, and takes that for death.
-- Index:   worker_living, task_owned.
-- Caller:  runtime.store.leases, from the sweep.
WITH locks AS MATERIALIZED (
    SELECT (l.classid::bigint << 32 | l.objid::bigint) AS key
    FROM pg_locks l
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
      AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
), living AS MATERIALIZED (
    SELECT w.id, w.expires_at, w.lock_seen_since,
           EXISTS (SELECT 1 FROM locks WHERE locks.key = runtime_lock_key(w.id)) AS locked
    FROM runtime_worker w
    WHERE w.state IN ('running', 'draining')
    FOR NO KEY UPDATE OF w SKIP LOCKED
), seen AS (
    UPDATE runtime_worker w
    SET lock_seen_since = pg_postmaster_start_time()
    FROM living
    WHERE w.id = living.id AND living.locked
      AND w.lock_seen_since IS DISTINCT FROM pg_postmaster_start_time()
), dead AS (
    UPDATE runtime_worker w
    SET state = 'dead',
        ended_at = runtime_now(),
        left_behind = ARRAY(
            SELECT t.id FROM runtime_task t WHERE t.owner = w.id ORDER BY t.id LIMIT 200),
        death = CASE
            WHEN living.lock_seen_since = pg_postmaster_start_time() THEN 'its process is gone'
            ELSE 'its lease ran out'
        END
    FROM living
    WHERE w.id = living.id AND NOT living.locked
      AND (living.lock_seen_since = pg_postmaster_start_time()
           OR (%(watching)s AND living.expires_at < runtime_now()))
    RETURNING w.id
), expired AS (
    UPDATE runtime_worker w
    SET state = 'dead',
        ended_at = runtime_now(),
        left_behind = ARRAY(
            SELECT t.id FROM runtime_task t WHERE t.owner = w.id ORDER BY t.id LIMIT 200),
        death = 'its lease ran out while its process stood still'
    FROM living
    WHERE w.id = living.id AND living.locked
      AND %(watching)s AND living.expires_at < runtime_now()
    RETURNING w.id
), found AS MATERIALIZED (
    SELECT t.id, t.epoch
    FROM runtime_task t
    LEFT JOIN runtime_worker w ON w.id = t.owner AND w.state IN ('running', 'draining')
    WHERE t.owner IS NOT NULL
      AND (w.id IS NULL
           OR w.id IN (SELECT dead.id FROM dead UNION ALL SELECT expired.id FROM expired))
    ORDER BY t.id
    LIMIT %(limit)s
), orphans AS MATERIALIZED (
    SELECT t.id
    FROM runtime_task t
    JOIN found ON found.id = t.id AND found.epoch = t.epoch
    WHERE t.owner IS NOT NULL
    ORDER BY t.id
    FOR NO KEY UPDATE OF t SKIP LOCKED
), freed AS (
    UPDATE runtime_task t
    SET owner = NULL,
        epoch = t.epoch + 1,
        due_at = runtime_now(),
        hinted_at = NULL
    FROM orphans
    WHERE t.id = orphans.id
    RETURNING t.id
)
SELECT (SELECT count(*) FROM dead) + (SELECT count(*) FROM expired) AS dead,
       (SELECT count(*) FROM freed) AS freed
