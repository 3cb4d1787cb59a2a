-- Purpose: put a command or an event into a task's inbox and raise its attention.
-- Locks:   the task row, so that a parking commit and this one come one after the other.
-- Guards:  the task lives. The same (source, event id) is stored once; a second delivery changes
--          nothing.
-- Index:   primary key; inbox_event_is_stored_once.
-- Caller:  runtime.store.inbox.
WITH target AS MATERIALIZED (
    SELECT t.id, t.namespace
    FROM runtime_task t
    WHERE t.id = %(task)s AND t.finished_at IS NULL
    FOR NO KEY UPDATE
), stored AS (
    INSERT INTO runtime_inbox
        (namespace, task_id, source, event_id, kind, payload, codec, actor, created_at)
    SELECT target.namespace, target.id, %(source)s, %(event_id)s, %(kind)s, %(payload)s, %(codec)s,
           %(actor)s, runtime_now()
    FROM target
    ON CONFLICT (namespace, task_id, source, event_id) DO NOTHING
    RETURNING id, task_id
), raised AS (
    UPDATE runtime_task t
    SET attention = t.attention + 1,
        held = coalesce(%(held)s::boolean, t.held),
        due_at = CASE
            WHEN t.owner IS NULL THEN least(t.due_at, runtime_now())
            ELSE t.due_at
        END
    FROM stored
    WHERE t.id = stored.task_id
    RETURNING t.id
)
SELECT (SELECT count(*) FROM target) AS living, (SELECT count(*) FROM raised) AS stored
