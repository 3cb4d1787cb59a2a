"""A worker: claims tasks, drives them, holds the lease under which it does.

One per process.  It is told by hints that there may be work and looks once a second by itself, so
that it needs no broker to go on.
"""

import gc
import logging
import threading
from uuid import UUID

from runtime.core import commands as c
from runtime.core.error_text import safe_text
from runtime.core.errors import CheckpointUnreadable
from runtime.core.retry import Failure
from runtime.core.reviews import Kind
from runtime.core.states import TERMINAL
from runtime.engine.breakers import Breakers
from runtime.engine.calls import Call
from runtime.engine.desk import Desk
from runtime.engine.driver import Driver
from runtime.engine.handing_over import give_up_on, hand_over
from runtime.engine.isolation import Isolation
from runtime.engine.lease import Lease, Report
from runtime.engine.loading import escalation, sit_down, sit_down_anyway
from runtime.engine.options import RuntimeOptions
from runtime.engine.pool import Pool
from runtime.engine.ports import CrashPoint, Ports
from runtime.engine.progress import ProgressKeeper
from runtime.engine.recorder import Recorder
from runtime.engine.requests import Steps
from runtime.engine.runqueue import MOST_TOGETHER
from runtime.store import claims, journal, leases
from runtime.store.claims import Claimed
from runtime.store.session import AGAIN, LOST, forget_connection
from runtime.telemetry import Slice, born_at, task_ended
from runtime.tools.agents import registry
from runtime.tools.registry import AnyTool

_LOG = logging.getLogger("runtime.worker")
SUSPECTS_EVERY_S = 0.5
"""A look for suspects is a round trip that fresh tasks need not wait for each time."""
GC_EVERY = 20_000
"""Objects between two collections: the default looks through all of them every few steps."""


class TaskRun:
    """One claimed task in the pool of a worker."""

    def __init__(self, worker: "Worker", claimed: Claimed) -> None:
        """Take the task; nothing is loaded before the script starts."""
        self.name = f"task {claimed.id}"
        self.claimed = claimed
        self.desk: Desk | None = None
        self._worker = worker
        self.script = worker.script(self)

    @property
    def noted(self) -> tuple[UUID, int]:
        """The task and the version its code runs on."""
        version = self.claimed.version if self.desk is None else self.desk.version
        return self.claimed.id, version

    def over(self, error: BaseException | None) -> None:
        """Hear that the script has ended."""
        self._worker.over(self, error)


class Worker:
    """The worker of this process; see ``runtime.engine.house.House`` for what drivers ask of it.

    Args:
        ports: Clock, chance, hints, crash points.
        options: Threads, slots, queues, lease.
        only: Run this one suspect until its next commit, then stop.
    """

    def __init__(self, ports: Ports, options: RuntimeOptions, only: UUID | None = None) -> None:
        """Wire the parts; nothing runs before ``start``."""
        self.ports = ports
        self.options = options
        self.stopping = False
        self.draining = False
        self.worn_out = False
        self._only = only
        self._held: dict[UUID, TaskRun] = {}
        self._empty = threading.Condition()
        self._more = False
        self._untold = False
        self._claiming = threading.Lock()
        self._suspects_at_s = 0.0
        self._asked = False
        self._wanted: frozenset[UUID] = frozenset()
        self._recorder = Recorder()
        self._breakers = Breakers(ports)
        self._progress = ProgressKeeper()
        self._isolation = Isolation()
        self._pool = Pool(
            ports.clock, self._recorder, options.threads, self._intake, journal.commit_together
        )
        kind = "isolated" if only else "worker"
        self._lease = Lease(ports, options, kind, self._report, self._renewed, self._lost)

    @property
    def id(self) -> UUID:
        """The present incarnation."""
        return self._lease.id

    @property
    def idle(self) -> bool:
        """Whether it holds no task."""
        return not self._held

    def start(self) -> None:
        """Start; must hold: this process has no other threads yet (a witness is forked)."""
        self._recorder.fork(self._lease.id, self.options.direct_url)
        self._lease.start()
        self._breakers.refresh()
        forget_connection()
        self._pool.start()
        # What is loaded by now lives as long as the process; steps leave next to no cycles behind.
        gc.freeze()
        gc.set_threshold(GC_EVERY, 20, 100)
        if self._only is None:
            self.look()
        else:
            self._take_only(self._only)

    def look(self) -> None:
        """Hear that there may be work."""
        self._more = True
        self._pool.nudge()

    def has_room(self) -> bool:
        """Tell whether it would take a task now."""
        if self.stopping or self.draining or not self._lease.holds():
            return False
        return self._room() > 0

    def take(self) -> None:
        """Claim on the calling thread: its message is acknowledged once somebody has claimed."""
        self._more = True
        if self._pool.has_hand:
            self._intake()
        else:
            self._pool.nudge()

    def stop(self) -> None:
        """Claim nothing more, let running steps reach their next commit, give the tasks back."""
        self.stopping = True
        until_s = self.ports.clock.boottime_s() + self.options.grace_s
        # A claim that is under way must come in first, or its tasks would be left lying.
        if self._claiming.acquire(timeout=self.options.grace_s):
            self._claiming.release()
        with self._empty:
            while self._held and self.ports.clock.boottime_s() < until_s:
                self._empty.wait(0.2)
        self._progress.stop()
        self._isolation.stop()
        self._pool.stop(1.0)
        self._lease.stop()
        self._recorder.retire()

    def wait_until_idle(self, timeout_s: float) -> bool:
        """Wait until no task is held; for the isolated process and for tests."""
        until_s = self.ports.clock.boottime_s() + timeout_s
        with self._empty:
            while self._held and self.ports.clock.boottime_s() < until_s:
                self._empty.wait(0.2)
            return not self._held

    # --- claiming --------------------------------------------------------------------------------

    def _intake(self) -> None:
        """Claim what there is room for; one thread at a time."""
        if not self._more or self.stopping or self.draining or self._only is not None:
            return
        self._asked = True
        if not self._claiming.acquire(blocking=False):
            return
        self._asked = False
        try:
            # Each thread finds out for itself that a restart has broken its connection.
            if not self._claim_what_fits():
                self._claim_what_fits()
        finally:
            self._claiming.release()
        if self._asked:
            # Somebody came meanwhile and was turned away; what came with them may not be seen yet.
            self._pool.nudge()

    def _claim_what_fits(self) -> bool:
        """Claim once; False if the database was lost on the way."""
        room = self._room()
        if room <= 0 or not self._lease.holds():
            return True
        self._more = False
        try:
            if self._untold:
                self._free_strays()
            taken = self._claim(room)
            self._more = self._more or len(taken) == room
            for claimed in taken:
                self._admit(claimed)
            if len(taken) < room:
                self._isolate()
        except (*LOST, *AGAIN) as error:
            _LOG.warning("claiming was interrupted: %s", error)
            forget_connection()
            self._untold = True
            return False
        return True

    def _free_strays(self) -> None:
        """Free what stands in our name unknown to us: nobody else would ever come for it."""
        # Cleared first: whoever fails from here on asks for another round.
        self._untold = False
        freed = claims.free_strays(self._lease.id, list(self._held))
        if freed:
            _LOG.warning("%d tasks stood in our name and were in nobody's hands", len(freed))

    def _room(self) -> int:
        if not self._pool.has_hand:
            # What it took now would lie here while another worker has nothing to do.
            return 0
        free = self.options.slots - len(self._held)
        # Small steps are written together, so more of them are wanted. Tasks whose code takes its
        # time would wait for a thread of ours while another worker has nothing to do.
        wanted = 2 * self.options.threads
        if self._pool.is_brisk:
            wanted = max(wanted, 2 * MOST_TOGETHER)
        return min(free, wanted - self._pool.backlog)

    def _claim(self, room: int) -> list[Claimed]:
        self.ports.crash(CrashPoint.BEFORE_CLAIM)
        taken = claims.claim(self._lease.id, self.options.queues, list(registry.agents), room)
        if taken:
            self.ports.crash(CrashPoint.AFTER_CLAIM)
        return taken

    def _take_only(self, task_id: UUID) -> None:
        claimed = claims.claim_one(self._lease.id, task_id)
        if claimed is not None:
            self._admit(claimed)

    def _isolate(self) -> None:
        now_s = self.ports.clock.boottime_s()
        if self._isolation.busy or now_s < self._suspects_at_s:
            return
        suspect = claims.find_suspect(self.options.queues, list(registry.agents))
        if suspect is None:
            self._suspects_at_s = now_s + SUSPECTS_EVERY_S
        else:
            self._isolation.run(suspect, then=self.look)

    def _admit(self, claimed: Claimed) -> None:
        run = TaskRun(self, claimed)
        with self._empty:
            self._held[claimed.id] = run
        self._pool.put(run)

    # --- driving ---------------------------------------------------------------------------------

    def script(self, run: TaskRun) -> Steps[None]:
        """Load a claimed task and drive it."""
        claimed = run.claimed
        actor = f"worker:{claimed.owner}"
        first: c.Command | None = escalation(claimed)
        try:
            desk: Desk | None = sit_down(self.ports, claimed, actor)
        except CheckpointUnreadable as error:
            desk = sit_down_anyway(self.ports, claimed, actor)
            first = c.Escalate(Kind.CHECKPOINT_UNREADABLE, str(error))
            if desk is None:
                give_up_on(self.ports, claimed, str(error))
                return
        run.desk = desk
        assert desk is not None  # noqa: S101 (both ways above give one)
        stretch = Slice(claimed.id, claimed.agent, str(claimed.owner))
        stretch.begin()
        driver = Driver(self, desk, registry.get(claimed.agent), stretch, self._after_commit)
        try:
            yield from driver.script(first)
        finally:
            stretch.end(desk.at.state)
            if desk.at.state in TERMINAL and desk.parked:
                now = self.ports.clock.now()
                task_ended(claimed.id, claimed.agent, desk.at.state, born_at(claimed.id), now)

    def _after_commit(self) -> None:
        if self._only is not None:
            # The suspect has survived a commit: from here on it may run beside others again.
            self.stopping = True

    def over(self, run: TaskRun, error: BaseException | None) -> None:
        """Hear that a task has left our hands, or that its driver failed."""
        settled = error is None or self._failed(run, error)
        with self._empty:
            if self._held.get(run.claimed.id) is run:
                del self._held[run.claimed.id]
            self._empty.notify_all()
        if not settled:
            self._untold = True
            self.look()
        if self._pool.abandoned >= self.options.abandoned:
            self.worn_out = True

    def _failed(self, run: TaskRun, error: BaseException) -> bool:
        """A driver must not fail: ask a person rather than run into the same wall for ever.

        Returns:
            False if the task still stands in our name: it must be freed once the database answers.
        """
        _LOG.error("%s: the driver failed", run.name, exc_info=error)
        if isinstance(error, (*LOST, *AGAIN)):
            # No wall: the database was away in the middle of something.
            forget_connection()
            return False
        why = f"the engine failed on this task: {type(error).__name__}: {safe_text(error)}"
        try:
            hand_over(self.ports, run.claimed, why)
        except Exception:  # noqa: BLE001 (nothing is left to do but to say so)
            _LOG.exception("%s: it could not be handed to a person", run.name)
            forget_connection()
            return False
        return True

    # --- what drivers ask ------------------------------------------------------------------------

    def may_call(self, owner: UUID) -> bool:
        """Make sure that the lease holds, waiting for its renewal; False if it is lost."""
        if self._lease.id == owner and self._lease.holds():
            return True
        return self._lease.wait(owner, 4 * self.options.lease_s)

    def slice_over(self, since_s: float) -> bool:
        """Tell whether somebody else waits for this thread and our time is up."""
        spent_s = self.ports.clock.boottime_s() - since_s
        return spent_s > self.options.slice_s and self._pool.backlog > 0

    def is_quick(self, name: str) -> bool:
        """Tell whether code of this name is over at once, as far as it has been seen."""
        return self._pool.is_quick(name)

    def wanted(self, task_id: UUID) -> bool:
        """Tell whether somebody wants something of a task."""
        return task_id in self._wanted

    def progress(self, desk: Desk, call_id: str, progress: object) -> None:
        """Take progress of a running call; does not block."""
        if progress is not None:
            self._progress.take(desk.claimed, call_id, progress)

    def flush_progress(self, desk: Desk) -> None:
        """Write the progress that was taken, now."""
        self._progress.flush(desk.claimed.id)

    def admit(self, desk: Desk, tool: AnyTool) -> float:
        """Ask the tool's breaker; gives the seconds to wait, 0 to go on."""
        return self._breakers.admit((desk.claimed.namespace, tool.name))

    def record(self, desk: Desk, tool: AnyTool, failure: Failure | None) -> None:
        """Tell the tool's breaker how a call went."""
        self._breakers.record((desk.claimed.namespace, tool.name), failure)

    def refused(self, desk: Desk, what: str, call: Call | None, evidence: object) -> None:
        """Keep a write or call that the fence refused."""
        claimed = desk.claimed
        now = claims.standing(claimed.id)
        leases.refuse(
            claimed,
            what if call is None else f"{what} of {call.tool.name}",
            now[1] if now else claimed.epoch,
            operation_id=call.operation_id or None if call else None,
            evidence=evidence,
        )

    # --- what the lease tells --------------------------------------------------------------------

    def _report(self) -> Report:
        return Report(len(self._held), self.stopping or self.draining)

    def _renewed(self, renewal: leases.Renewal) -> None:
        self._wanted = renewal.wanted
        self.draining = renewal.drain
        self._breakers.refresh()
        self.look()

    def _lost(self, _over: UUID, fresh: UUID) -> None:
        self._recorder.rename(fresh)
