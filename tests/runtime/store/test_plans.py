"""Every statement of the runtime finds its rows through an index, also among 100,000 tasks.

One transaction holds the tasks and is undone at the end; each statement is explained both as it is
planned for its values and as a prepared statement that serves them all.
"""

from collections.abc import Callable, Iterator
from uuid import UUID, uuid4

import pytest

from runtime.core.states import State
from runtime.engine import sweep
from runtime.store import (
    claims,
    commits,
    counting,
    facts,
    health,
    inbox,
    journal,
    leases,
    ledger,
    measures,
    queries,
    reviews,
    session,
    stuck,
    tasks,
)
from runtime.store.commits import Holder
from runtime.store.session import execute
from tests.support import plans, sessions, wide, work
from tests.support.plans import Plan

pytestmark = pytest.mark.django_db

TASKS = 100_000
FEW_BUFFERS = 100
"""Pages that taking eight tasks may touch; one row costs about ten, whatever the table holds."""

COPY = """
INSERT INTO runtime_task
    (id, namespace, agent, queue, priority, state, version, situation, checkpoint, checkpoint_sum,
     codec, owner, epoch, attention, attended, held, deaths, due_at, created_at, finished_at)
SELECT gen_random_uuid(), namespace, agent, queue, mod(n, 3), state, version, situation, checkpoint,
       checkpoint_sum, codec, NULL, 0, 0, 0, false, 0,
       runtime_now() + make_interval(secs => 3600 + n), created_at, NULL
FROM runtime_task, generate_series(1, %s) AS n;
"""
COPY_REST = """
INSERT INTO runtime_taskspec
    (task_id, namespace, title, labels, input, codec, manifest_digest, request_digest, created_by,
     search_text, key)
SELECT t.id, s.namespace, s.title, s.labels, s.input, s.codec, s.manifest_digest, s.request_digest,
       s.created_by, left(t.id::text, 4), t.id::text
FROM runtime_task t, runtime_taskspec s WHERE t.id <> s.task_id;
INSERT INTO runtime_event (task_id, seq, namespace, type, v, payload, codec, actor, at)
SELECT t.id, 1, e.namespace, e.type, e.v, e.payload, e.codec, e.actor, e.at
FROM runtime_task t, runtime_event e WHERE t.id <> e.task_id;
INSERT INTO runtime_stepresult
    (task_id, call_id, namespace, position, tool, effect, outcome, digest, arguments, codec,
     summary, attempts, chain, seq, took_ms, finished_at)
SELECT t.id, '0.1.0', 'default', 1, 'look', 'read', 'succeeded', 'd', '{}', 'j1', '', 1, '', 2, 0,
       runtime_now()
FROM runtime_task t LIMIT 30000;
INSERT INTO runtime_operation
    (id, namespace, task_id, call_id, tool, effect, status, digest, same_digest, external_id,
     dispatches, epoch, note, reserved_at)
SELECT t.id::text, 'default', t.id, '0.1.0', 'pay', 'keyed', 'reserved', 'd', 's', t.id::text, 0, 1,
       '', runtime_now()
FROM runtime_task t LIMIT 30000;
INSERT INTO runtime_inbox
    (namespace, task_id, source, event_id, kind, payload, codec, actor, created_at, consumed_at)
SELECT 'default', t.id, 'test', '1', 'hold', '{}', 'j1', 'human:ann', runtime_now(),
       runtime_now()
FROM runtime_task t LIMIT 30000;
UPDATE runtime_task SET owner = gen_random_uuid(), epoch = 1, due_at = NULL
WHERE id IN (SELECT id FROM runtime_task LIMIT 2000);
UPDATE runtime_task SET state = 'waiting_human', due_at = NULL
WHERE id IN (SELECT id FROM runtime_task WHERE owner IS NULL LIMIT 2000);
INSERT INTO runtime_review
    (id, namespace, task_id, kind, status, why, question, allowed, situation, seq, snapshot, codec,
     opened_at, closed_at, opening_counted, closing_counted)
SELECT gen_random_uuid(), 'default', t.id, 'question', CASE t.state WHEN 'waiting_human' THEN 'open'
       ELSE 'closed' END, '', '', '{answer}', 1, 1, '{}', 'j1', runtime_now(),
       CASE t.state WHEN 'waiting_human' THEN NULL ELSE runtime_now() END,
       true, t.state <> 'waiting_human'
FROM runtime_task t LIMIT 30000
"""


@pytest.fixture(scope="module")
def crowd(django_db_setup: None) -> Iterator[UUID]:
    """A hundred thousand tasks that wait for their time, on a connection of their own."""
    with sessions.session(autocommit=False) as raw:
        session.bind(raw)
        try:
            # Whoever else takes statistics meanwhile sees none of these rows and calls the tables
            # empty; then a copy that joins them takes minutes.
            execute(f"LOCK TABLE {', '.join(plans.GROWING)} IN SHARE UPDATE EXCLUSIVE MODE")
            session.run("create", tasks._params(work.new_task()))
            execute(COPY, (TASKS,))
            for statement in COPY_REST.split(";\n"):
                execute(statement)
            for table in plans.GROWING:
                execute(f"ANALYZE {table}")
            yield execute("SELECT id FROM runtime_task WHERE owner IS NULL LIMIT 1")[0][0]
        finally:
            # Also when the crowd did not come together: nobody else may speak on its connection.
            session.bind(None)
            raw.rollback()


def check(call: Callable[[], object], *, run: bool = False) -> list[Plan]:
    """Make sure that no growing table is read whole by what a call sends."""
    sent = plans.sent_by(call)
    found = [plans.plan(statement, run=run) for statement in sent]
    settled = [plans.settled_plan(statement) for statement in sent]
    for statement, *both in zip(sent, found, settled, strict=True):
        assert [each.read_whole for each in both] == [set(), set()], statement[0]
    return found


def claim() -> list[claims.Claimed]:
    return claims.claim(uuid4(), [work.QUEUE, "other"], [work.AGENT, "else"], 8)


def test_taking_the_few_that_are_due_among_many_that_wait_touches_few_pages(crowd: UUID) -> None:
    execute("UPDATE runtime_task SET due_at = runtime_now() WHERE id = %s", (crowd,))

    (found,) = check(claim, run=True)

    assert "task_due" in found.indexes
    assert 0 < found.buffers < FEW_BUFFERS


def commit(step: commits.Commit) -> Callable[[], object]:
    return lambda: journal.commit(step)


@pytest.mark.parametrize("make", [wide.ending, wide.question])
def test_a_commit_with_all_its_blocks_finds_its_rows_by_their_keys(
    crowd: UUID,
    make: Callable[[], wide.Wide],
) -> None:
    (found,) = check(commit(make().step), run=True)

    assert found.buffers < 3 * FEW_BUFFERS


def test_a_read_step_touches_few_pages(crowd: UUID) -> None:
    desk = work.at_desk()
    decision, attached = work.read(desk)
    step = commits.Commit(desk.claimed.holder, desk.version, decision, 0, attached=attached)

    (found,) = check(commit(step), run=True)

    assert found.buffers < FEW_BUFFERS


NOBODY = uuid4()
SWEEP: dict[str, Callable[[], object]] = {
    "call out": lambda: claims.call_out(work.QUEUE, 10, 5),
    "name queues": claims.due_queues,
    "find a suspect": lambda: claims.find_suspect([work.QUEUE, "other"], [work.AGENT]),
    "bury": lambda: leases.bury(watching=True),
    "hear": sweep._unheard,
    "count": counting.count,
    "forget old counts": counting.forget_old,
}
WORKER: dict[str, Callable[[], object]] = {
    "renew": lambda: leases.renew(NOBODY, 15, held=0, memory_mb=0, state="running"),
    "bury one": lambda: leases.bury_one(NOBODY, "signal 9"),
    "seize": lambda: leases.seize("default", NOBODY, 1),
    "accuse": lambda: leases.accuse(NOBODY, 1),
    "claim one": lambda: claims.claim_one(NOBODY, NOBODY),
    "release": lambda: claims.release(Holder(NOBODY, NOBODY, 1), 0),
    "give up": lambda: claims.give_up_on(
        Holder(NOBODY, NOBODY, 1), "", work.PORTS.chance, work.PORTS.clock.now()
    ),
    "standing": lambda: claims.standing(NOBODY),
    "look again": lambda: journal._standing(NOBODY),
    "read the inbox": lambda: inbox.waiting(NOBODY),
    "load results": lambda: tasks.load_results(NOBODY),
    "load answers": lambda: tasks.load_answers(NOBODY),
    "load the journal": lambda: tasks.load_journal(NOBODY),
    "confirmed writes": lambda: ledger.confirmed(NOBODY),
    "one operation": lambda: ledger.entry("op"),
    "keep progress": lambda: health.keep_progress(Holder(NOBODY, NOBODY, 1), "default", "1", 1),
}


@pytest.mark.parametrize("name", SWEEP)
def test_the_sweep_reads_no_table_whole(crowd: UUID, name: str) -> None:
    check(SWEEP[name])


@pytest.mark.parametrize("name", WORKER)
def test_a_worker_reads_no_table_whole(crowd: UUID, name: str) -> None:
    check(WORKER[name])


def test_a_command_reads_no_table_whole(crowd: UUID) -> None:
    check(lambda: wide.deliver(crowd, "hold", {}, "new"))


def test_a_vote_reads_no_table_whole(crowd: UUID) -> None:
    review_id = execute("SELECT id FROM runtime_review WHERE status = 'open' LIMIT 1")[0][0]
    ballot = reviews.Vote("answer", "", None, "human:ann", "cli")

    check(lambda: reviews.vote("default", review_id, ballot, None))


PEOPLE: dict[str, Callable[[UUID], object]] = {
    "one task": lambda some: queries.task("default", some),
    "in brief": lambda some: queries.brief("default", some),
    "newest": lambda _: queries.tasks("default", None, None, None, None, 50),
    "the next page": lambda some: queries.tasks("default", None, None, None, some, 50),
    "of an agent": lambda _: queries.tasks("default", None, work.AGENT, None, None, 50),
    "of an agent without any": lambda _: queries.tasks("default", None, "none", None, None, 50),
    "waiting for people": lambda _: queries.tasks(
        "default", State.WAITING_HUMAN, None, None, None, 50
    ),
    "in a rare state": lambda _: queries.tasks("default", State.RETRYING, None, None, None, 50),
    "events": lambda some: queries.events(some, 0, 200),
    "results": lambda some: queries.step_results(some, 0, 200),
    "effects": lambda some: queries.effects(queries.brief("default", some), None),
    "open reviews": lambda _: queries.reviews("default", "open", None, 200),
    "its open review": queries.open_review,
    "why": lambda some: facts.read("default", some, [work.AGENT]),
    "by key": lambda some: tasks.by_key("default", str(some)),
}


@pytest.mark.parametrize("name", PEOPLE)
def test_what_people_look_at_reads_no_table_whole(crowd: UUID, name: str) -> None:
    check(lambda: PEOPLE[name](crowd))


MEASURES: dict[str, Callable[[], object]] = {
    "totals": measures.totals,
    "living tasks": measures.live,
    "backlogs": measures.backlogs,
    "workers": measures.workers,
    "open reviews": measures.open_reviews,
    "open breakers": measures.open_breakers,
    "stuck tasks": lambda: stuck.stuck("default", 200),
}


@pytest.mark.parametrize("name", MEASURES)
def test_measuring_reads_no_table_whole(crowd: UUID, name: str) -> None:
    check(MEASURES[name])


def test_taking_eight_from_a_long_backlog_touches_few_pages(crowd: UUID) -> None:
    execute("UPDATE runtime_task SET due_at = due_at - interval '2 days' WHERE due_at IS NOT NULL")
    execute("ANALYZE runtime_task")

    (found,) = check(claim, run=True)

    assert "task_due" in found.indexes
    assert 0 < found.buffers < 4 * FEW_BUFFERS
