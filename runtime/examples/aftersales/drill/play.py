"""Plays one drill from start to verdict: requests at a steady pace, faults among them, the proof.

One loop on one thread; it lives through outages of everything it looks at, because it causes them.
The command `drill` calls it.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

import httpx
from django.conf import settings

from runtime import api
from runtime.actors.broker import BrokerHints
from runtime.examples.aftersales.client import ADDRESS_VARIABLE
from runtime.examples.aftersales.control import ShopDesk
from runtime.examples.aftersales.demo import runs
from runtime.examples.aftersales.demo.watch import Standing, Watch
from runtime.examples.aftersales.drill.desk_work import RobotThread
from runtime.examples.aftersales.drill.faults import Fault, Kind, sequence
from runtime.examples.aftersales.drill.recovery import Recoveries, patiently
from runtime.examples.aftersales.drill.servers import Servers
from runtime.examples.aftersales.drill.strikes import Field, Script, script
from runtime.examples.aftersales.shop.launch import start_shop
from runtime.examples.aftersales.shop.seeds import AfterSalesRequest, Seeds, make
from runtime.examples.aftersales.stage import ChildKeepsDying, Stage
from runtime.tools.agents import registry

AGENT = "aftersales"
WORKERS = 2
TICK_S = 0.05
LOOK_S = 0.2
#: Requests come for so long that each kind of fault strikes about so often among them.
ROUNDS = 2
#: Nothing has moved for so long, with everybody up: whatever is unfinished is stuck.
STALLED_S = 60.0
#: A process that ended by itself is started again after so long, and at most so often.
AGAIN_S = 0.5
MOST_RESTARTS = 40
#: After a frozen process woke up, the books are given so long to settle.
SETTLE_S = 0.5
LEASE_S = 3.0
TITLE_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a drill was asked for.

    Args:
        tasks: Requests to send.
        kinds: The faults.
        every_s: Seconds from one fault to the next.
        seed: Of orders and faults.
        duration_s: It ends then, finished or not.
    """

    tasks: int
    kinds: frozenset[Kind]
    every_s: float
    seed: int
    duration_s: float


@dataclass(slots=True)
class Progress:
    """What a display shows while a drill goes on."""

    run: str
    wanted: Wanted
    began_s: float
    sent: int = 0
    standing: Standing = field(default_factory=Standing)
    struck: dict[str, int] = field(default_factory=dict)
    recovered_s: list[float] = field(default_factory=list)
    news: list[str] = field(default_factory=list)

    @property
    def spent_s(self) -> float:
        """Seconds since the first request."""
        return time.monotonic() - self.began_s

    def tell(self, sentence: str) -> None:
        """Add to the news."""
        self.news.append(f"{self.spent_s:5.1f} s  {sentence}")


type Display = Callable[[Progress], None]


class Drill:
    """One drill under way; made by `drilling`."""

    def __init__(
        self, run: runs.Run, wanted: Wanted, seeds: Seeds, field: Field, progress: Progress
    ) -> None:
        self.run = run
        self.wanted = wanted
        self.seeds = seeds
        self.field = field
        self.progress = progress
        self.watch: Watch | None = None
        self.restarts = 0
        self._faults: Iterator[Fault] = sequence(wanted.kinds, wanted.seed)
        self._next_fault_s = wanted.every_s
        self._scripts: list[tuple[float, Script]] = []
        self._look_s = 0.0
        self._moved_s = 0.0
        self._thawed_s = 0.0
        self._again_s: dict[str, float] = {}

    def act(self, display: Display) -> None:
        """Send the requests and strike, until every task has ended or the time is over."""
        self.progress.began_s = time.monotonic()
        while not self._is_over():
            now_s = self.progress.spent_s
            self._send(now_s)
            self._strike(now_s)
            self._go_on(now_s)
            self._tend(now_s)
            self._look(now_s)
            display(self.progress)
            time.sleep(TICK_S)
        self.end_faults()
        display(self.progress)

    def end_faults(self) -> None:
        """Put right what faults have done: thaw, start, bring back."""
        for _, under_way in self._scripts:
            under_way.close()
        self._scripts.clear()

    def may_answer(self) -> bool:
        """Tell whether a person can know by now what happened."""
        return not self.field.still and self.progress.spent_s - self._thawed_s > SETTLE_S

    # --- one tick --------------------------------------------------------------------------------

    def _is_over(self) -> bool:
        progress = self.progress
        if progress.spent_s > self.wanted.duration_s:
            progress.tell("the time is over")
            return True
        if progress.spent_s - self._moved_s > STALLED_S:
            progress.tell(f"nothing has moved for {STALLED_S:.0f} s")
            return True
        everything_sent = progress.sent == len(self.seeds.requests)
        return everything_sent and progress.standing.terminal == progress.sent

    def _send(self, now_s: float) -> None:
        """Send what is due; what the database does not take now is sent at the next tick."""
        span_s = self.wanted.every_s * len(self.wanted.kinds) * ROUNDS
        due = min(len(self.seeds.requests), 1 + int(now_s / span_s * len(self.seeds.requests)))
        while self.progress.sent < due:
            task = self._submit(self.seeds.requests[self.progress.sent])
            if task is None:
                return
            self.watch = self.watch or Watch(self.run.queue, task.id)
            self.progress.sent += 1

    def _submit(self, request: AfterSalesRequest) -> api.TaskView | None:
        return patiently(
            lambda: api.submit(
                AGENT,
                dict(request),
                key=f"{self.run.queue}-{request['request_id']}",
                title=f"{request['order_id']}: {request['customer_message']}"[:TITLE_LENGTH],
                labels={"drill": self.run.name},
                created_by=runs.ACCOUNT,
            )
        )

    def _strike(self, now_s: float) -> None:
        if now_s < self._next_fault_s:
            return
        self._next_fault_s = now_s + self.wanted.every_s
        fault = next(self._faults, None)
        if fault is None:
            return
        struck = self.progress.struck
        struck[fault.kind] = struck.get(fault.kind, 0) + 1
        self._scripts.append((now_s, script(self.field, fault)))

    def _go_on(self, now_s: float) -> None:
        """Take each fault's script as far as it goes now."""
        scripts, self._scripts = self._scripts, []
        stood_still = bool(self.field.still)
        for due_s, under_way in scripts:
            if due_s > now_s:
                self._scripts.append((due_s, under_way))
                continue
            wait_s = next(under_way, None)
            if wait_s is not None:
                self._scripts.append((now_s + wait_s, under_way))
        if stood_still and not self.field.still:
            self._thawed_s = now_s

    def _tend(self, now_s: float) -> None:
        """Start again what has ended by itself, as a supervisor would."""
        for name, child in self.field.stage.children.items():
            if child.status is None or name in self.field.absent:
                continue
            due_s = self._again_s.setdefault(name, now_s + AGAIN_S)
            if now_s < due_s:
                continue
            del self._again_s[name]
            self.restarts += 1
            self.progress.tell(f"{name} had ended with status {child.status}: started again")
            if self.restarts > MOST_RESTARTS:
                raise ChildKeepsDying(name, child.status or 0, child.log, ())
            child.start()

    def _look(self, now_s: float) -> None:
        if self.watch is None or now_s < self._look_s:
            return
        self._look_s = now_s + LOOK_S
        patiently(self.field.recoveries.look)
        self.progress.recovered_s = self.field.recoveries.took_s
        standing = patiently(self.watch.standing)
        if standing is None:
            self._moved_s = now_s
            return
        if standing.commits != self.progress.standing.commits:
            self._moved_s = now_s
        self.progress.standing = standing


@contextmanager
def drilling(wanted: Wanted, servers: Servers) -> Iterator[Drill]:
    """Set the stage: a shop with orders, two workers, a sweep, a robot; ends all of it after.

    Raises:
        ShopDidNotStartError: The shop did not come to life.
    """
    run, seeds = runs.Run.new(), make(wanted.tasks, wanted.seed)
    runs.tidy()
    api.set_hints(BrokerHints())
    agent = api.get_agent(AGENT)
    progress = Progress(run.name, wanted, time.monotonic())
    with ExitStack() as stack:
        shop = start_shop(
            settings.DATABASE_URL, schema=run.schema, seed_orders=wanted.tasks, seed=wanted.seed
        )
        stack.enter_context(shop)
        desk = stack.enter_context(ShopDesk(shop.url))
        desk.order_fault("slow", "/", probability=0.6, seconds=0.7, seed=wanted.seed)
        stage = stack.enter_context(Stage(_environ(shop.url), run.logs))
        # Before the workers are ended: what the shop withholds would keep them waiting.
        stack.callback(_calm, desk)
        stack.enter_context(registry.separate())
        runs.on_queue(agent, run.queue)
        drill: Drill
        recoveries = Recoveries(lambda: drill.watch, run.queue)
        lease_s = float(_environ(shop.url)["SIGNALBOX_LEASE_S"])
        field_ = Field(stage, servers, desk, recoveries, run.queue, lease_s, progress.tell)
        drill = Drill(run, wanted, seeds, field_, progress)
        stack.callback(drill.end_faults)
        robot = RobotThread(shop.url, lambda: drill.watch, drill.may_answer, progress.tell)
        _man(stage, run.queue)
        robot.start()
        stack.callback(robot.stop)
        yield drill


def _man(stage: Stage, queue: str) -> None:
    for index in range(WORKERS):
        stage.start(f"worker-{index + 1}", "worker", "--queues", queue)
    stage.start("sweep", "sweep")


def _environ(shop_url: str) -> Mapping[str, str]:
    """Give the environment of the workers: our services, this shop, a short lease."""
    names = ("DATABASE_URL", "DATABASE_DIRECT_URL", "VALKEY_URL", "BROKER_URL")
    ours = {name: str(getattr(settings, name)) for name in (*names, "SIGNALBOX_DATA_DIR")}
    lease = {"SIGNALBOX_LEASE_S": os.environ.get("SIGNALBOX_LEASE_S", str(LEASE_S))}
    return {**os.environ, **ours, **lease, ADDRESS_VARIABLE: shop_url}


def _calm(desk: ShopDesk) -> None:
    with suppress(httpx.HTTPError):
        desk.clear_faults()
