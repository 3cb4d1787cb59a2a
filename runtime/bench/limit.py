"""What PostgreSQL allows: the step statement in a loop, with nothing around it."""

import multiprocessing
import threading
import time
from copy import replace
from uuid import UUID

import psycopg
from django.conf import settings

from runtime.api import submit
from runtime.core import commands as c
from runtime.core.checkpoint import Checkpoint
from runtime.core.effects import Effect
from runtime.core.machine import decide
from runtime.core.states import State
from runtime.engine.levers import hear
from runtime.engine.ports import Ports
from runtime.store import claims, commit_text
from runtime.store.commits import Attached, Commit
from runtime.store.session import bind

SECONDS = 3.0
PROCESSES = 2


def measure_limit(threads: int) -> float:
    """Give statements per second with two processes of so many threads."""
    ids = [submit("bench-read", {"steps": 1}).id for _ in range(PROCESSES * threads)]
    context = multiprocessing.get_context("spawn")
    counted: multiprocessing.Queue[int] = context.Queue()
    begin = context.Barrier(PROCESSES + 1)
    lots = [ids[n::PROCESSES] for n in range(PROCESSES)]
    processes = [
        context.Process(target=_process, args=(lot, settings.DATABASE_URL, begin, counted))
        for lot in lots
    ]
    for process in processes:
        process.start()
    begin.wait()
    total = sum(counted.get() for _ in processes)
    for process in processes:
        process.join()
    return total / SECONDS


def _process(ids: list[UUID], url: str, begin: "object", counted: "object") -> None:
    import django

    django.setup()
    counts: list[int] = []
    ready = threading.Barrier(len(ids) + 1)
    threads = [threading.Thread(target=_loop, args=(i, url, ready, counts)) for i in ids]
    for thread in threads:
        thread.start()
    ready.wait()
    begin.wait()  # type: ignore[attr-defined]
    ready.wait()
    for thread in threads:
        thread.join()
    counted.put(sum(counts))  # type: ignore[attr-defined]


def _loop(task_id: UUID, url: str, ready: threading.Barrier, counts: list[int]) -> None:
    with psycopg.connect(url, autocommit=True, prepare_threshold=1) as raw:
        bind(raw)
        text, params, version = _prepare(task_id)
        ready.wait()
        ready.wait()
        until, done = time.monotonic() + SECONDS, 0
        cursor = raw.cursor()
        while time.monotonic() < until:
            version += 1
            params |= {"version": version - 1, "new_version": version, "ev0_seq": version}
            params |= {"re_call": f"0.{version}.0", "re_position": version, "re_seq": version}
            cursor.execute(text, params, prepare=True)
            cursor.fetchall()
            done += 1
        counts.append(done)
        bind(None)


def _prepare(task_id: UUID) -> tuple[str, dict[str, object], int]:
    """Build the statement of a read step and its parameters, on a claimed task."""
    ports = Ports()
    hear(ports)
    claimed = claims.claim_one(ports.chance.uuid7(ports.clock.now()), task_id)
    assert claimed is not None  # noqa: S101 (it was submitted for us)
    at = replace(Checkpoint(State.PLANNING, seq=claimed.version), done=claimed.version)
    decided = c.Decided("look", Effect.READ, "d" * 64, {"number": 1})
    command = c.Succeeded(decided, "r" * 64, "{number: 1, text: a small result}", 0)
    decision = decide(at, command, ports.clock.now(), ports.chance, actor="worker:bench")
    attached = Attached(result='{"number":1,"text":"a small result"}', arguments='{"number":1}')
    step = Commit(claimed.holder, claimed.version, decision, claimed.attended, attached=attached)
    text, params = commit_text.statement_of(step)
    return text, dict(params), claimed.version
