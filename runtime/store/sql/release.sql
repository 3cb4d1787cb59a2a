-- Purpose: give a task back with no event: a graceful stop, a slice that is over, nothing to do yet.
-- Locks:   the task row.
-- Guards:  owner and epoch; with a wake-up time also attention: a command that came in between
--          must not be slept over. No attempt is used up.
-- Index:   primary key.
-- Caller:  runtime.store.claims.
UPDATE runtime_task t
SET owner = NULL,
    due_at = CASE WHEN %(due_now)s THEN runtime_now() ELSE %(due_at)s::timestamptz END,
    attended = %(attended)s,
    hinted_at = NULL
WHERE t.id = %(task)s
  AND t.owner = %(owner)s
  AND t.epoch = %(epoch)s
  AND (%(due_now)s OR t.attention = %(attended)s)
RETURNING t.id
