"""Worker incarnations, their leases, their deaths, and the writes that the fence refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from runtime.core.payloads import encode
from runtime.store.claims import Claimed
from runtime.store.session import execute, run


@dataclass(frozen=True, slots=True)
class Incarnation:
    """One life of a worker process.

    Args:
        agents: The agents it knows.
        before: The incarnation of the same process before this one.
    """

    id: UUID
    host: str
    pid: int
    kind: str
    queues: Sequence[str]
    slots: int
    version: str
    agents: Sequence[str] = ()
    before: UUID | None = None


@dataclass(frozen=True, slots=True)
class Renewal:
    """What a renewal tells.

    Args:
        now: The database's clock.
        wanted: Tasks of this worker whose attention was raised.
        drain: Somebody wants it to take nothing more.
    """

    now: datetime
    wanted: frozenset[UUID]
    drain: bool


def register(incarnation: Incarnation, lease_s: float) -> datetime:
    """Enter a new incarnation with its first lease; gives the database's clock."""
    rows = run(
        "register",
        {
            "worker": incarnation.id,
            "host": incarnation.host,
            "pid": incarnation.pid,
            "kind": incarnation.kind,
            "queues": list(incarnation.queues),
            "slots": incarnation.slots,
            "version": incarnation.version,
            "lease_s": lease_s,
            "agents": list(incarnation.agents),
            "before": incarnation.before,
        },
    )
    now: datetime = rows[0][0]
    return now


def lock(worker: UUID) -> bool:
    """Take the advisory lock that proves this process alive; it lasts as long as the session.

    Returns:
        False while an earlier session of ours still has it: after a cut connection the server may
        take minutes to notice, and waiting for it here would let the lease run out.
    """
    rows = execute("SELECT pg_try_advisory_lock(runtime_lock_key(%s))", (worker,))
    return bool(rows[0][0])


def renew(
    worker: UUID,
    lease_s: float,
    *,
    held: int,
    memory_mb: int,
    state: str,
) -> Renewal | None:
    """Renew a lease; None when this incarnation was declared dead."""
    params = {
        "worker": worker,
        "lease_s": lease_s,
        "held": held,
        "memory_mb": memory_mb,
        "state": state,
    }
    rows = run("renew", params)
    return Renewal(rows[0][0], frozenset(rows[0][1]), rows[0][2]) if rows else None


def drain(worker: UUID, *, wanted: bool) -> str | None:
    """Ask a living worker to take nothing more, or to take again; it reads so when it renews.

    Returns:
        Host and process of the worker; None if it is unknown or over.
    """
    rows = execute(
        "UPDATE runtime_worker SET drain_asked_at = "
        "CASE WHEN %s THEN coalesce(drain_asked_at, runtime_now()) END "
        "WHERE id = %s AND state IN ('running', 'draining') RETURNING host || ':' || pid",
        (wanted, worker),
    )
    return str(rows[0][0]) if rows else None


def seize(namespace: str, task_id: UUID, epoch: int) -> tuple[UUID, str] | None:
    """Take a task out of the hands of whoever holds it at this epoch.

    Returns:
        The worker that held it and the task's queue; None if nobody holds it at this epoch.
    """
    rows = run("seize", {"namespace": namespace, "task": task_id, "epoch": epoch})
    return (rows[0][0], rows[0][1]) if rows else None


def retire(worker: UUID) -> None:
    """Enter that a worker stopped of its own will, with nothing left in its hands."""
    execute(
        "UPDATE runtime_worker SET state = 'stopped', ended_at = runtime_now() "
        "WHERE id = %s AND state IN ('running', 'draining')",
        (worker,),
    )


def bury(*, watching: bool, limit: int = 5000) -> tuple[int, int]:
    """Declare the dead dead and free what they held; gives both counts.

    Args:
        watching: The caller has seen the database without a gap for a whole lease, so that an
            expired lease means something.
        limit: At most so many tasks are freed at once.
    """
    dead, freed = run("bury", {"watching": watching, "limit": limit})[0]
    return dead, freed


def bury_one(worker: UUID, death: str) -> dict[str, list[UUID]]:
    """Enter one death that is known for certain; gives the freed tasks by queue."""
    freed: dict[str, list[UUID]] = {}
    for task_id, queue in run("bury_one", {"worker": worker, "death": death}):
        freed.setdefault(queue, []).append(task_id)
    return freed


def accuse(task_id: UUID, version: int) -> int | None:
    """Count a death against the task whose own code was running; gives the deaths so far."""
    rows = run("accuse", {"task": task_id, "version": version})
    return rows[0][0] if rows else None


def refuse(
    claimed: Claimed,
    what: str,
    epoch_now: int,
    *,
    operation_id: str | None = None,
    evidence: object = None,
) -> None:
    """Keep a refused write as evidence; it moves nothing."""
    execute(
        "INSERT INTO runtime_refusal "
        "(namespace, task_id, worker_id, epoch, epoch_now, what, operation_id, evidence, at) "
        "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, runtime_now())",
        (
            claimed.namespace,
            claimed.id,
            claimed.owner,
            claimed.epoch,
            epoch_now,
            what,
            operation_id,
            None if evidence is None else encode(evidence).text,
        ),
    )


def free_slots(queue: str) -> int:
    """Count the free slots of the living workers that serve a queue."""
    rows = execute(
        "SELECT coalesce(sum(greatest(slots - held, 0)), 0)::int FROM runtime_worker "
        "WHERE state = 'running' AND kind = 'worker' AND queues @> ARRAY[%s::text]",
        (queue,),
    )
    return int(rows[0][0])
