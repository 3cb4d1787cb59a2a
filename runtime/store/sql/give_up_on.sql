-- Purpose: hand a task to a person that cannot be decided upon: its journal or its driver failed.
-- Locks:   the task row.
-- Guards:  owner and epoch. The checkpoint is left as it is for whoever looks into it.
-- Index:   primary keys.
-- Caller:  runtime.store.claims.
WITH guard AS MATERIALIZED (
    SELECT t.id, t.namespace, t.version, t.state
    FROM runtime_task t
    WHERE t.id = %(task)s AND t.owner = %(owner)s AND t.epoch = %(epoch)s
      AND t.state <> 'waiting_human'
    FOR NO KEY UPDATE
), moved AS (
    UPDATE runtime_task t
    SET version = t.version + 2,
        situation = t.situation + 1,
        state = 'waiting_human',
        owner = NULL,
        due_at = NULL,
        hinted_at = NULL,
        deaths = 0
    FROM guard
    WHERE t.id = guard.id
    RETURNING t.id, t.situation
), events AS (
    INSERT INTO runtime_event
        (task_id, seq, namespace, type, v, payload, codec, actor, at)
    SELECT guard.id, guard.version + e.n, guard.namespace, e.type, 1, e.payload, %(codec)s,
           'system', runtime_now()
    FROM guard, LATERAL (VALUES
        (1, 'checkpoint_unreadable', json_build_object('why', %(why)s::text)::text),
        (2, 'review_requested', json_build_object(
            'review_id', %(review)s::text, 'kind', %(kind)s::text, 'why', %(why)s::text,
            'allowed', %(allowed)s::text[], 'since', runtime_now(), 'back_to', guard.state)::text)
    ) AS e (n, type, payload)
)
INSERT INTO runtime_review
    (id, namespace, task_id, kind, status, why, question, allowed, situation, seq, snapshot, codec,
     opened_at)
SELECT %(review)s::uuid, guard.namespace, guard.id, %(kind)s, 'open', %(why)s, '',
       %(allowed)s::text[], moved.situation, guard.version + 2,
       json_build_object('state', guard.state, 'why', %(why)s::text)::text, %(codec)s, runtime_now()
FROM guard, moved
RETURNING task_id
