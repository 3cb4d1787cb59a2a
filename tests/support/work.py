"""Tasks under way without a worker: submitted, taken, and taken further step by step at a desk.

No tool is called and no planner asked: what a tool would have said stands in the arguments.
"""

from collections.abc import Mapping
from types import MappingProxyType
from uuid import UUID

from runtime.core import checkpoint as cp
from runtime.core import commands as c
from runtime.core.apply import fold
from runtime.core.effects import Effect
from runtime.core.keys import digest
from runtime.core.machine import create
from runtime.core.manifest import Manifest, pinned, pinned_digest
from runtime.core.payloads import encode
from runtime.core.retry import ErrorKind, Failure, RetryPolicy
from runtime.core.story import Decision
from runtime.engine.desk import Desk
from runtime.engine.loading import sit_down
from runtime.engine.ports import Ports
from runtime.store import claims, leases, tasks
from runtime.store.claims import Claimed
from runtime.store.commits import Attached
from runtime.store.leases import Incarnation
from runtime.store.session import execute
from runtime.store.tasks import NewTask

AGENT = "support"
QUEUE = "default"
HOUR_S = 3600.0
PORTS = Ports()


def new_task(  # noqa: PLR0913 (the parts of one row)
    *,
    key: str | None = None,
    body: str = "body",
    namespace: str = "default",
    queue: str = QUEUE,
    priority: int = 0,
    tool_hashes: Mapping[str, str] = MappingProxyType({}),
) -> NewTask:
    """Make everything that is written when a task is created."""
    now = tasks.database_now()
    PORTS.clock.hear(now)
    document = pinned(Manifest(), tool_hashes, "script", "1")
    secret = tasks.digest_key(namespace)
    return NewTask(
        id=PORTS.chance.uuid7(now),
        namespace=namespace,
        agent=AGENT,
        queue=queue,
        priority=priority,
        title="",
        labels={},
        input_text=encode({"body": body}).text,
        manifest_digest=pinned_digest(secret, document),
        manifest_text=encode(document).text,
        key=key,
        request_digest=digest(secret, "request", body),
        created_by="system",
        search_text="",
        decision=create(now, "system", HOUR_S, {"agent": AGENT}),
    )


def submit(*, body: str = "finish", queue: str = QUEUE, priority: int = 0) -> UUID:
    """Create a task."""
    return tasks.create(new_task(body=body, queue=queue, priority=priority))


def hire(lease_s: float = HOUR_S) -> UUID:
    """Register a worker's incarnation; nobody holds its advisory lock."""
    worker = PORTS.chance.uuid7(PORTS.clock.now())
    leases.register(Incarnation(worker, "host", 1, "worker", [QUEUE], 10, "1"), lease_s)
    return worker


def claim(task_id: UUID, owner: UUID | None = None) -> Claimed:
    """Take one task by its name."""
    claimed = claims.claim_one(owner or hire(), task_id)
    assert claimed is not None
    return claimed


def sit(claimed: Claimed) -> Desk:
    """Load a task that was taken."""
    PORTS.clock.hear(tasks.database_now())
    return sit_down(PORTS, claimed, f"worker:{claimed.owner}")


def at_desk(task_id: UUID | None = None, owner: UUID | None = None) -> Desk:
    """Take a task, a new one if none is named, and sit down with it."""
    return sit(claim(task_id or submit(), owner))


# --- steps --------------------------------------------------------------------------------------


def start(desk: Desk) -> None:
    """Stage the start of a fresh task; it is written with the next step."""
    if desk.at.state == "initialized" and desk.staged is None:
        desk.stage(c.Start(str(desk.claimed.owner)))


def call(tool: str, effect: Effect, n: int = 0, operation_id: str | None = None) -> c.Decided:
    """Make a call as a planner would have decided it."""
    return c.Decided(tool, effect, f"digest-{tool}-{n}", {"n": n}, operation_id)


def read(desk: Desk) -> tuple[Decision, Attached]:
    """Decide a read that succeeded."""
    start(desk)
    decided = call("look", Effect.READ, desk.at.done)
    decision = desk.decide(c.Succeeded(decided, f"result-{desk.at.done}", "seen", 1))
    return decision, Attached(result='"seen"', arguments='{"n":0}')


def begin(desk: Desk, effect: Effect = Effect.KEYED) -> tuple[Decision, Attached]:
    """Decide that a write goes out: its intent."""
    start(desk)
    operation_id = f"op-{desk.claimed.id}-{desk.at.done}"
    decided = call("pay", effect, desk.at.done, operation_id)
    return desk.decide(c.Begin(decided)), Attached(same_digest=decided.digest)


def again(desk: Desk) -> tuple[Decision, Attached]:
    """Decide that the write under way goes out once more."""
    return desk.decide(c.Begin()), Attached()


def confirm(desk: Desk) -> tuple[Decision, Attached]:
    """Decide that the write under way succeeded."""
    decision = desk.decide(c.Succeeded(None, f"result-{desk.at.done}", "paid", 1))
    return decision, Attached(result='"paid"', external_id="ext-1")


def ask(desk: Desk) -> tuple[Decision, Attached]:
    """Decide to ask a person."""
    start(desk)
    return desk.decide(c.AskHuman("Which one?")), Attached()


def fail(desk: Desk, after_s: float = 60.0) -> tuple[Decision, Attached]:
    """Decide that a read failed and is tried again later."""
    start(desk)
    decided = call("look", Effect.READ, desk.at.done)
    failure = Failure(ErrorKind.RETRYABLE, after_s, "busy", "Busy")
    command = c.Failed(decided, failure, RetryPolicy())
    return desk.decide(command), Attached(arguments='{"n":0}')


def finish(desk: Desk) -> tuple[Decision, Attached]:
    """Decide that the goal is reached."""
    start(desk)
    decision = desk.decide(c.Finish("digest-end", "done"))
    return decision, Attached(end_result='"done"', end_reason="done", end_search="done")


# --- what must always hold ----------------------------------------------------------------------


def rows() -> dict[str, list[str]]:
    """Give every row of every table of the runtime, to compare before and after."""
    names = execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() "
        "AND starts_with(tablename, 'runtime_') ORDER BY tablename",
    )
    assert len(names) >= 14
    return {
        name: [row[0] for row in execute(f'SELECT t::text FROM "{name}" t ORDER BY 1')]  # noqa: S608
        for (name,) in names
    }


def check_whole(task_id: UUID) -> cp.Checkpoint:
    """Make sure that journal, checkpoint, results and row of a task say the same."""
    text, checksum, version, situation, state = execute(
        "SELECT checkpoint, checkpoint_sum, version, situation, state "
        "FROM runtime_task WHERE id = %s",
        (task_id,),
    )[0]
    at = cp.decode(task_id, text, checksum)
    journal = tasks.load_journal(task_id)
    results = tasks.load_results(task_id)
    assert fold(journal) == at
    assert [event.seq for event in journal] == list(range(1, version + 1))
    assert (at.seq, at.situation, at.state) == (version, situation, state)
    assert len(results) == at.done
    assert (results[-1].chain if results else "") == at.chain
    return at
