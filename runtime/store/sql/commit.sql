-- Purpose: one step commit. New checkpoint, events, results, ledger, review, inbox, all or nothing.
-- Locks:   the task row (FOR NO KEY UPDATE), in the guard, before anything is written.
-- Guards:  owner, epoch, version, and what the commit relies on besides; all of them stand in the
--          one locking CTE. The rows of a task change only under its row lock with a new version,
--          so what the guard reads beside the task row is as fresh as the version it compares.
-- Index:   primary keys only. The update of the task row is HOT: a step moves no indexed column.
-- Caller:  runtime.store.journal, which joins the blocks that a commit needs; each joined text is
--          prepared once per connection.

--: guard
WITH guard AS MATERIALIZED (
    SELECT t.id, t.namespace
    FROM runtime_task t
    WHERE t.id = %(task)s::uuid
      AND t.owner = %(owner)s::uuid
      AND t.epoch = %(epoch)s
      AND t.version = %(version)s

--: guard_parks
      AND t.attention = %(attended)s

--: guard_lease
      AND EXISTS (
          SELECT 1 FROM runtime_worker w
          WHERE w.id = t.owner AND w.expires_at > runtime_now()
            AND w.state IN ('running', 'draining')
      )

--: guard_operation
      AND NOT EXISTS (
          SELECT 1 FROM runtime_operation o
          WHERE o.id = %(op_id)s AND o.status <> ALL (%(op_from)s::text[])
      )

--: moved
    FOR NO KEY UPDATE OF t
), moved AS (
    UPDATE runtime_task t
    SET version = %(new_version)s,
        situation = %(situation)s,
        state = %(state)s,
        checkpoint = %(checkpoint)s,
        checkpoint_sum = %(checkpoint_sum)s,
        attended = %(attended)s,
        deaths = %(deaths)s

--: moved_holds
        , held = %(held)s

--: moved_parks
        , owner = NULL
        , due_at = CASE WHEN %(due_now)s THEN runtime_now() ELSE %(due_at)s::timestamptz END
        , hinted_at = NULL

--: moved_ends
        , finished_at = runtime_now()

--: moved_from
    FROM guard
    WHERE t.id = guard.id
    RETURNING t.attention
), events AS (
    INSERT INTO runtime_event
        (task_id, seq, namespace, type, v, payload, codec, call_id, cause, event_id, actor, at)
    SELECT guard.id, e.seq, guard.namespace, e.type, e.v, e.payload, %(codec)s, e.call_id,
           e.cause, e.event_id, e.actor, e.at
    FROM guard, (VALUES

--: event
        (%(ev_seq)s::bigint, %(ev_type)s::text, %(ev_v)s::smallint, %(ev_payload)s::text,
         %(ev_call)s::text, %(ev_cause)s::bigint, %(ev_id)s::text, %(ev_actor)s::text,
         %(ev_at)s::timestamptz)

--: events_end
    ) AS e (seq, type, v, payload, call_id, cause, event_id, actor, at)

--: result
), result AS (
    INSERT INTO runtime_stepresult
        (task_id, call_id, namespace, position, tool, effect, outcome, operation_id, digest,
         arguments, args_seq, args_index, result_digest, result, codec, artifact, summary, attempts,
         chain, seq, took_ms, finished_at)
    SELECT guard.id, %(re_call)s, guard.namespace, %(re_position)s, %(re_tool)s, %(re_effect)s,
           %(re_outcome)s, %(re_operation)s::text, %(re_digest)s, %(re_arguments)s::text,
           %(re_args_seq)s::bigint, %(re_args_index)s::int, %(re_result_digest)s::text,
           %(re_result)s::text, %(codec)s, %(re_artifact)s::text, %(re_summary)s,
           %(re_attempts)s::smallint, %(re_chain)s, %(re_seq)s::bigint, %(re_took)s::int,
           runtime_now()
    FROM guard

--: operation
), operation AS (
    INSERT INTO runtime_operation AS o
        (id, namespace, task_id, call_id, tool, effect, status, digest, same_digest, external_id,
         dispatches, epoch, reserved_at, first_dispatched_at, settled_at, note)
    SELECT %(op_id)s, guard.namespace, guard.id, %(op_call)s, %(op_tool)s, %(op_effect)s,
           %(op_status)s, %(op_digest)s, %(op_same)s, %(op_external)s::text, %(op_dispatched)s::int,
           %(epoch)s, runtime_now(),
           CASE WHEN %(op_dispatched)s::int > 0 THEN runtime_now() END,
           CASE WHEN %(op_settled)s::boolean THEN runtime_now() END, %(op_note)s
    FROM guard
    ON CONFLICT (id) DO UPDATE
    SET status = EXCLUDED.status,
        epoch = EXCLUDED.epoch,
        external_id = coalesce(EXCLUDED.external_id, o.external_id),
        dispatches = o.dispatches + EXCLUDED.dispatches,
        first_dispatched_at = coalesce(o.first_dispatched_at, EXCLUDED.first_dispatched_at),
        settled_at = EXCLUDED.settled_at,
        note = EXCLUDED.note

--: review_close
), review_close AS (
    UPDATE runtime_review r
    SET status = %(rc_status)s,
        closed_at = runtime_now()
    FROM guard
    WHERE r.id = %(rc_id)s AND r.task_id = guard.id AND r.status IN ('open', 'decided')
    RETURNING r.id

--: review_open
), review_open AS (
    INSERT INTO runtime_review
        (id, namespace, task_id, kind, status, why, question, allowed, call_id, operation_id, tool,
         situation, seq, snapshot, codec, opened_at)
    SELECT %(rv_id)s, guard.namespace, guard.id, %(rv_kind)s, 'open', %(rv_why)s, %(rv_question)s,
           %(rv_allowed)s::text[], %(rv_call)s, %(rv_operation)s, %(rv_tool)s, %(situation)s,
           %(rv_seq)s, %(rv_snapshot)s, %(codec)s, runtime_now()
    FROM guard

--: review_open_after
    -- One item at a time: the old one must be closed before the new one is there.
    WHERE (SELECT count(*) FROM review_close) >= 0

--: inbox
), inbox AS (
    UPDATE runtime_inbox i
    SET consumed_at = runtime_now(),
        refused = n.refused
    FROM guard, unnest(%(in_id)s::bigint[], %(in_refused)s::text[]) AS n (id, refused)
    WHERE i.id = n.id AND i.task_id = guard.id AND i.consumed_at IS NULL

--: ending
), ending AS (
    UPDATE runtime_taskspec s
    SET result = %(end_result)s,
        outcome_reason = %(end_reason)s,
        search_text = left(s.search_text || ' ' || %(end_search)s, 2000)
    FROM guard
    WHERE s.task_id = guard.id
), callback AS (
    UPDATE runtime_callback c
    SET due_at = runtime_now()
    FROM guard
    WHERE c.task_id = guard.id

--: done
)
SELECT attention FROM moved
