-- Purpose: a worker died while this task's own code was running with nothing committed since.
-- Locks:   the task row.
-- Guards:  the version is the one its code was running on; a task that moved on is innocent.
-- Index:   primary key.
-- Caller:  runtime.store.leases, from the flight recorder of the worker.
UPDATE runtime_task t
SET deaths = t.deaths + 1
WHERE t.id = %(task)s
  AND t.version = %(version)s
  AND t.finished_at IS NULL
RETURNING t.deaths
