-- Purpose: create a task: its row, its specification, its pinned manifest, its first event,
--          and a word for the sweep that counts submissions.
-- Locks:   its own new rows; a shared manifest is inserted once.
-- Guards:  task_key_is_used_once: a key that was used before makes the whole statement fail.
-- Index:   primary keys.
-- Caller:  runtime.store.tasks.
WITH manifest AS (
    INSERT INTO runtime_manifest (namespace, digest, body, codec, created_at)
    VALUES (%(namespace)s, %(manifest_digest)s, %(manifest)s, %(codec)s, runtime_now())
    ON CONFLICT (namespace, digest) DO NOTHING
), task AS (
    INSERT INTO runtime_task
        (id, namespace, agent, queue, priority, state, version, situation, checkpoint,
         checkpoint_sum, codec, epoch, attention, attended, held, deaths, due_at, created_at)
    VALUES
        (%(task)s, %(namespace)s, %(agent)s, %(queue)s, %(priority)s, %(state)s, 1, 1,
         %(checkpoint)s, %(checkpoint_sum)s, %(checkpoint_codec)s, 0, 0, 0, false, 0,
         coalesce(%(not_before)s::timestamptz, runtime_now()), runtime_now())
    RETURNING id
), spec AS (
    INSERT INTO runtime_taskspec
        (task_id, namespace, title, labels, input, codec, manifest_digest, key, request_digest,
         created_by, search_text)
    SELECT task.id, %(namespace)s, %(title)s, %(labels)s::jsonb, %(input)s, %(codec)s,
           %(manifest_digest)s, %(key)s, %(request_digest)s, %(created_by)s, %(search_text)s
    FROM task
), tally AS (
    -- The task's own row is not marked: workers take it at once, and would meet the sweep there.
    INSERT INTO runtime_tally (namespace, kind, name, at)
    SELECT %(namespace)s, 'task_submitted', %(agent)s, runtime_now()
    FROM task
)
INSERT INTO runtime_event (task_id, seq, namespace, type, v, payload, codec, actor, at)
SELECT task.id, 1, %(namespace)s, 'task_created', 1, %(payload)s, %(codec)s, %(actor)s, %(at)s
FROM task
