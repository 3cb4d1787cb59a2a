-- Purpose: enter a new worker incarnation with its first lease.
-- Locks:   none but its own new row.
-- Index:   primary key.
-- Caller:  runtime.store.leases.
INSERT INTO runtime_worker
    (id, namespace, host, pid, kind, queues, slots, held, memory_mb, version, state, started_at,
     renewed_at, expires_at, agents, drain_asked_at)
VALUES
    (%(worker)s, 'default', %(host)s, %(pid)s, %(kind)s, %(queues)s::text[], %(slots)s, 0, 0,
     %(version)s, 'running', runtime_now(), runtime_now(),
     runtime_now() + make_interval(secs => %(lease_s)s), %(agents)s::text[],
     -- A process that goes on as another incarnation was asked to drain all the same.
     (SELECT before.drain_asked_at FROM runtime_worker before WHERE before.id = %(before)s))
RETURNING renewed_at
