-- Purpose: enter a new worker incarnation with its first lease.
-- Locks:   none but its own new row.
-- Index:   primary key.
-- Caller:  runtime.store.leases.
INSERT INTO runtime_worker
    (id, namespace, host, pid, kind, queues, slots, held, memory_mb, version, state, started_at,
     renewed_at, expires_at)
VALUES
    (%(worker)s, 'default', %(host)s, %(pid)s, %(kind)s, %(queues)s::text[], %(slots)s, 0, 0,
     %(version)s, 'running', runtime_now(), runtime_now(),
     runtime_now() + make_interval(secs => %(lease_s)s))
RETURNING renewed_at
