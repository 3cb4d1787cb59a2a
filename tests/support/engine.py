"""The engine under test: tasks in the database, workers as forks of the test process, the sweep.

A fork of a warmed process is a worker within a few hundredths of a second, so a test can afford to
kill dozens.  Everything is observed from outside: rows, the shop's books, diaries.
"""

import ctypes
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import replace
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from uuid import UUID

from django.db import connection

from runtime.core import checkpoint as cp
from runtime.core.apply import fold
from runtime.core.checkpoint import Checkpoint
from runtime.core.states import TERMINAL
from runtime.engine import levers
from runtime.engine.options import RuntimeOptions
from runtime.engine.ports import CrashPoint, Ports
from runtime.engine.process import until_told_to_stop
from runtime.engine.submit import Request, prepare
from runtime.engine.sweep import Sweep, Swept
from runtime.engine.worker import Worker
from runtime.store import inbox, ledger, reviews, tasks
from runtime.store.session import execute
from tests.support.engine_agents import hands

LEASE_S = 1.0
PATIENCE_S = 20.0
_LOOK_S = 0.01
_STRANGERS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
    "AND pid <> pg_backend_pid() AND backend_type = 'client backend' "
    "AND application_name NOT LIKE 'shop %%'"
)
_PR_SET_PDEATHSIG = 1

type Crash = Callable[[CrashPoint], None]


def eventually[T](
    probe: Callable[[], T],
    timeout_s: float = PATIENCE_S,
    what: Callable[[], object] = lambda: "the probe",
) -> T:
    """Ask again and again until the answer is true.

    Raises:
        AssertionError: It was not within `timeout_s`; says what was awaited, and the last answer.
    """
    until_s, never = time.monotonic() + timeout_s, threading.Event()
    while not (answer := probe()):
        if time.monotonic() > until_s:
            message = f"{what()} did not come true within {timeout_s} s: {answer!r}"
            raise AssertionError(message)
        never.wait(_LOOK_S)
    return answer


@dataclass(frozen=True)
class Row:
    """A task as its row has it."""

    id: UUID
    state: str
    version: int
    epoch: int
    owner: UUID | None
    deaths: int
    checkpoint: Checkpoint
    due_in_s: float | None

    @property
    def ended(self) -> bool:
        """Whether nothing more can happen to it."""
        return self.state in TERMINAL

    @property
    def settled(self) -> bool:
        """Whether no worker has anything to do for it now."""
        return self.ended or self.state == "waiting_human"


class Fork:
    """A forked process of a test: a worker or a sweep."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.status: int | None = None

    def signal(self, number: int) -> None:
        """Send a signal; one to a process that is gone is lost."""
        if not self.ended():
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it as a crash would, and wait for that."""
        self.signal(signal.SIGKILL)
        self.wait()

    def stop(self, timeout_s: float = PATIENCE_S) -> int:
        """End it in good order; gives its exit status."""
        self.signal(signal.SIGTERM)
        return self.wait(timeout_s)

    def ended(self) -> bool:
        """Whether it has ended."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def stands_still(self) -> bool:
        """Whether SIGSTOP has it."""
        return _process_state(self.pid) == "T"

    def wait(self, timeout_s: float = PATIENCE_S) -> int:
        """Wait for its end; gives the exit status, negative for a signal."""
        eventually(self.ended, timeout_s, lambda: f"the end of process {self.pid}")
        assert self.status is not None
        return self.status


@dataclass
class Site:
    """Where a test's engine lives.

    Args:
        database_url: Its database, for connections past Django's.
        environ: What children that are started as programs need.
        queue: The queue of the test's tasks; of nobody else's.
    """

    database_url: str
    environ: Mapping[str, str]
    queue: str = "test"
    forks: list[Fork] = field(default_factory=list)
    _ports: Ports = field(default_factory=Ports)
    _sweep: Sweep | None = None

    # --- tasks -----------------------------------------------------------------------------------

    def submit(
        self,
        agent: str,
        input: dict[str, Any],  # noqa: A002 - the contract's name
        *,
        queue: str = "",
        manifest: dict[str, Any] | None = None,
    ) -> UUID:
        """Create a task in the test's queue."""
        request = Request(
            agent=agent,
            input=input,
            manifest=manifest,
            key=None,
            namespace="default",
            title="",
            labels={},
            priority=0,
            not_before=None,
            created_by="test",
        )
        self._ports.clock.hear(tasks.database_now())
        return tasks.create(replace(prepare(request, self._ports, ""), queue=queue or self.queue))

    def script(self, *steps: dict[str, Any], **options: Any) -> UUID:
        """Create a task that follows a script."""
        return self.submit("test-script", {"script": list(steps)}, **options)

    def row(self, task_id: UUID) -> Row:
        """Read a task's row."""
        return self.rows([task_id])[0]

    def rows(self, task_ids: Iterable[UUID]) -> list[Row]:
        """Read the rows of several tasks, in the order of their ids."""
        found = execute(
            "SELECT id, state, version, epoch, owner, deaths, checkpoint, checkpoint_sum, "
            "extract(epoch FROM due_at - runtime_now())::float8 "
            "FROM runtime_task WHERE id = ANY(%s) ORDER BY id",
            (list(task_ids),),
        )
        return [_row(facts) for facts in found]

    def settle(
        self, *task_ids: UUID, timeout_s: float = PATIENCE_S, sweep: bool = False
    ) -> list[Row]:
        """Wait until the tasks have ended or wait for a person."""

        def settled() -> list[Row] | None:
            if sweep:
                self.sweep()
            found = self.rows(task_ids)
            return found if all(row.settled for row in found) else None

        try:
            return eventually(settled, timeout_s) or []
        except AssertionError as error:
            told = [(row, self.story(row.id)) for row in self.rows(task_ids) if not row.settled]
            message = f"not settled within {timeout_s} s: {told[:3]}"
            raise AssertionError(message) from error

    def story(self, task_id: UUID) -> list[str]:
        """Name the events of a task in order."""
        return [event.type.value for event in tasks.load_journal(task_id)]

    def events(self, task_id: UUID, kind: str) -> list[dict[str, Any]]:
        """Give the payloads of one kind of event."""
        found = tasks.load_journal(task_id)
        return [dict(event.payload) for event in found if event.type.value == kind]

    def results(self, task_id: UUID) -> list[tuple[str, str, Any]]:
        """Give tool, outcome and value of each completed call."""
        rows = tasks.load_results(task_id)
        return [(row.tool, row.outcome, _value(row)) for row in rows]

    def result(self, task_id: UUID) -> Any:
        """Give the result a task ended with."""
        from runtime.core.payloads import CODEC, decode

        text = execute("SELECT result FROM runtime_taskspec WHERE task_id = %s", (task_id,))[0][0]
        return decode(text, CODEC)

    def effects(self, task_id: UUID) -> list[tuple[str, str]]:
        """Give tool and status of each operation in the ledger."""
        return [(one.tool, one.status) for one in ledger.effects(task_id)]

    def review(self, task_id: UUID) -> tuple[UUID, str, str] | None:
        """Give id, kind and reason of the open review item."""
        found = execute(
            "SELECT id, kind, why FROM runtime_review WHERE task_id = %s AND status = 'open'",
            (task_id,),
        )
        return found[0] if found else None

    def asks(self, task_id: UUID) -> str | None:
        """Give the kind of the open review item; None if there is none."""
        item = self.review(task_id)
        return item[1] if item else None

    def decide(self, task_id: UUID, decision: str, **arguments: Any) -> None:
        """Decide the open review item as a person, and obey it."""
        item = self.review(task_id)
        assert item is not None, f"no open review: {self.story(task_id)}"
        ballot = reviews.Vote(decision, "because", arguments, "human:test", "cli")
        reviews.vote("default", item[0], ballot, None)
        facts = {"review_id": str(item[0]), "decision": decision, "reason": "because"}
        self.tell(task_id, "settle", {**facts, "arguments": arguments})

    def tell(
        self, task_id: UUID, kind: str, payload: dict[str, Any], *, held: bool | None = None
    ) -> None:
        """Put a command into a task's inbox, and obey it if nobody holds the task."""
        event_id = str(self._ports.chance.uuid7(self._ports.clock.now()))
        by = "human:test"
        inbox.deliver(task_id, kind, payload, actor=by, source="test", event_id=event_id, held=held)
        levers.hear(self._ports)
        levers.apply_now(self._ports, task_id)

    def check(self, *task_ids: UUID) -> None:
        """Hold what is true of every task at any time against these.

        The journal folds to the checkpoint and has no gaps, each call id has one outcome, and
        nothing that has ended waits for anybody.
        """
        for row in self.rows(task_ids):
            journal = tasks.load_journal(row.id)
            assert [event.seq for event in journal] == list(range(1, row.version + 1))
            assert fold(journal) == row.checkpoint, f"{row.id}: {self.story(row.id)}"
            if row.ended:
                assert self.review(row.id) is None
                assert not {"reserved", "dispatched"} & {
                    status for _, status in self.effects(row.id)
                }

    def refusals(self, *task_ids: UUID) -> int:
        """Count what the fence refused."""
        text = "SELECT count(*) FROM runtime_refusal WHERE task_id = ANY(%s)"
        return int(execute(text, (list(task_ids),))[0][0])

    def shift_clock(self, seconds: float) -> None:
        """Move the database's clock on; what waits for a time need not be waited for."""
        execute(
            "CREATE OR REPLACE FUNCTION runtime_now() RETURNS timestamptz LANGUAGE sql STABLE "
            f"PARALLEL SAFE AS $$ SELECT statement_timestamp() + interval '{seconds} s' $$",
        )

    def count(self, text: str, *params: object) -> int:
        """Give the number that a statement gives."""
        return int(execute(text, params)[0][0])

    @staticmethod
    def eventually[T](probe: Callable[[], T], timeout_s: float = PATIENCE_S) -> T:
        """Ask again and again until the answer is true; see the function of this name."""
        return eventually(probe, timeout_s)

    # --- processes -------------------------------------------------------------------------------

    def worker(
        self,
        crash: Crash | None = None,
        prepare_worker: Callable[[Worker], None] | None = None,
        **options: Any,
    ) -> Fork:
        """Fork a worker.

        Args:
            crash: What happens at crash points, those inside calls included.
            prepare_worker: Called with the worker before it starts.
            options: See `RuntimeOptions`; queues are the test's own unless named.
        """
        chosen = RuntimeOptions(
            **{
                "direct_url": self.database_url,
                "lease_s": LEASE_S,
                "threads": 4,
                "queues": (self.queue,),
                "grace_s": 10.0,
                **options,
            },
        )

        def work() -> None:
            if crash is not None:
                hands.STRIKE.at = crash
            worker = Worker(Ports(crash=crash) if crash else Ports(), chosen)
            if prepare_worker is not None:
                prepare_worker(worker)
            worker.start()
            until_told_to_stop(lambda: worker.worn_out)
            worker.stop()

        return self.fork(work)

    def fork(self, run: Callable[[], None]) -> Fork:
        """Fork a process that ends with the test's own."""
        # The child must not speak on the parent's connection.
        connection.close()
        pid = os.fork()
        if pid == 0:
            _be_a_child(run, self.environ)
        child = Fork(pid)
        self.forks.append(child)
        return child

    def sweep(self) -> Swept:
        """Do one round of a sweep that lives as long as the test."""
        if self._sweep is None:
            self._sweep = Sweep(self._ports, LEASE_S)
        return self._sweep.run_once()

    def sweep_until[T](self, probe: Callable[[], T]) -> T:
        """Sweep again and again until the probe's answer is true."""

        def swept() -> T:
            self.sweep()
            return probe()

        return eventually(swept)

    def end(self) -> None:
        """End every process of the test."""
        for child in self.forks:
            with suppress(ProcessLookupError):
                child.signal(signal.SIGCONT)
                child.signal(signal.SIGKILL)
        for child in self.forks:
            child.wait()
        self.forks.clear()
        # Witnesses outlive their workers for a moment; emptying the tables must not meet them.
        with suppress(AssertionError):
            eventually(lambda: not self.count(_STRANGERS))


def _process_state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


def _row(facts: Sequence[Any]) -> Row:
    task_id, state, version, epoch, owner, deaths, text, mark, due_in_s = facts
    at = cp.decode(task_id, text, mark)
    return Row(task_id, state, version, epoch, owner, deaths, at, due_in_s)


def _value(row: tasks.Result) -> Any:
    from runtime.core.payloads import decode

    return None if row.result is None else decode(row.result, row.codec)


def _be_a_child(run: Callable[[], None], environ: Mapping[str, str]) -> NoReturn:
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.environ.update(environ)
        run()
    except BaseException:  # noqa: BLE001 - nothing may reach pytest in the child
        traceback.print_exc()
        os._exit(70)
    os._exit(0)
