-- Purpose: take one named task: for the levers of the console, and for a suspect run in isolation.
-- Locks:   the task row; waits for a commit that is under way.
-- Guards:  nobody holds it. Unlike a claim by rank it takes paused and waiting tasks too, because
--          what it is taken for is a command of a person.
-- Index:   primary key.
-- Caller:  runtime.store.claims, inside a transaction that also commits and releases (levers).
UPDATE runtime_task t
SET owner = %(owner)s,
    epoch = t.epoch + 1
WHERE t.id = %(task)s
  AND t.owner IS NULL
  AND t.finished_at IS NULL
  AND t.codec <= %(codec)s
RETURNING t.id, t.namespace, t.agent, t.queue, t.version, t.situation, t.checkpoint,
          t.checkpoint_sum, t.epoch, t.attention, t.attended, t.held, t.deaths, t.owner
