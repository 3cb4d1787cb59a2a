"""Plays one run from start to verdict: opens the shop, sends requests, kills a worker, waits.

One loop on one thread; it only looks at the tables and the shop's desk, all work is done by the
processes of the stage. The command `demo` calls it.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from uuid import UUID

import httpx
from django.conf import settings

from runtime import api
from runtime.examples.aftersales.client import ADDRESS_VARIABLE
from runtime.examples.aftersales.control import ShopDesk
from runtime.examples.aftersales.demo import runs, weather
from runtime.examples.aftersales.demo.person import Person
from runtime.examples.aftersales.demo.verdict import (
    Killed,
    Verdict,
    Waiting,
    counted,
    judge_books,
    outcome_of,
)
from runtime.examples.aftersales.demo.watch import Holder, Standing, Watch
from runtime.examples.aftersales.shop.books import expected_effects
from runtime.examples.aftersales.shop.launch import ShopProcess, start_shop
from runtime.examples.aftersales.shop.seeds import AfterSalesRequest, Seeds, make
from runtime.examples.aftersales.stage import Stage
from runtime.tools.agents import registry

AGENT = "aftersales"
WORKERS = 2
SEED = 1
TICK_S = 0.1
#: No more requests are under way at once, so that many of them are a queue and not an avalanche.
IN_FLIGHT = 60
#: Nothing has moved for so long: whatever is unfinished is stuck.
STALLED_S = 60.0
TITLE_LENGTH = 60


@dataclass(slots=True)
class Progress:
    """What a display shows while a run goes on."""

    run: str
    tasks: int
    began_s: float
    standing: Standing = field(default_factory=Standing)
    news: list[str] = field(default_factory=list)

    def tell(self, sentence: str) -> None:
        """Add to the news."""
        self.news.append(f"{time.monotonic() - self.began_s:5.1f} s  {sentence}")


type Display = Callable[[Progress], None]


class Play:
    """One run under way; made by `playing`."""

    def __init__(self, run: runs.Run, seeds: Seeds, desk: ShopDesk, stage: Stage) -> None:
        self.run = run
        self.seeds = seeds
        self.desk = desk
        self.stage = stage
        self.person = Person(desk)
        self.progress = Progress(run.name, len(seeds.requests), time.monotonic())
        self._requests: dict[UUID, AfterSalesRequest] = {}
        self._watch: Watch | None = None
        self._fault = 0
        self._victim: Holder | None = None
        self._killed_s = 0.0
        self._killed: Killed | None = None

    def act(self, display: Display, *, approve: bool) -> None:
        """Send the requests and see them through, until all have ended or nothing moves any more.

        Args:
            display: Shown the progress about ten times a second.
            approve: Whether the robot person decides what waits for a person; without it a task
                that waits counts as seen through.
        """
        self._order_weather()
        to_send = iter(self.seeds.requests)
        moved_s, commits = time.monotonic(), 0
        while not self._is_over(approve=approve):
            self._send_some(to_send, approve=approve)
            self._look(approve=approve)
            if self.progress.standing.commits != commits:
                moved_s, commits = time.monotonic(), self.progress.standing.commits
            elif time.monotonic() - moved_s > STALLED_S:
                self.progress.tell(f"nothing has moved for {STALLED_S:.0f} s")
                break
            display(self.progress)
            time.sleep(TICK_S)
        display(self.progress)

    def _order_weather(self) -> None:
        expected = expected_effects(self.seeds.orders, self.seeds.requests)
        kinds = [effect.kind for effect in expected.elements()]
        forecast = weather.Forecast(
            kinds.count("refund"), kinds.count("mail"), len(self.seeds.requests)
        )
        self._fault = weather.order_weather(self.desk, forecast)

    def _send_some(self, to_send: Iterator[AfterSalesRequest], *, approve: bool) -> None:
        under_way = len(self._requests) - self._seen_through(approve=approve)
        for request in islice(to_send, max(0, IN_FLIGHT - under_way)):
            task = api.submit(
                AGENT,
                dict(request),
                key=f"{self.run.queue}-{request['request_id']}",
                title=f"{request['order_id']}: {request['customer_message']}"[:TITLE_LENGTH],
                labels={"demo": self.run.name},
                created_by=runs.ACCOUNT,
            )
            self._watch = self._watch or Watch(self.run.queue, task.id)
            self._requests[task.id] = request

    def _look(self, *, approve: bool) -> None:
        assert self._watch is not None  # noqa: S101 (a run has at least one request)
        progress = self.progress
        progress.standing = self._watch.standing()
        for child in self.stage.tend():
            progress.tell(f"{child.name} had ended and was started again")
        if self._victim is None:
            self._kill_a_holder(self._watch)
        elif self._killed is not None and self._killed.recovered_s is None:
            self._see_recovery(self._watch, self._victim)
        if approve and progress.standing.waiting:
            for sentence in self.person.take_up(self._watch.open_reviews()):
                progress.tell(sentence)

    def _is_over(self, *, approve: bool) -> bool:
        recovered = self._killed is not None and self._killed.recovered_s is not None
        return recovered and self._seen_through(approve=approve) == len(self.seeds.requests)

    def _seen_through(self, *, approve: bool) -> int:
        """Count the tasks that have ended, or wait for a person nobody plays."""
        standing = self.progress.standing
        return standing.terminal + (0 if approve else standing.waiting)

    # --- the kill --------------------------------------------------------------------------------

    def _kill_a_holder(self, watch: Watch) -> None:
        """Kill a worker while it waits for the answer to a refund that is already in the books."""
        if not any(f["held"] for f in self.desk.faults() if f["id"] == self._fault):
            return
        calls = self.desk.calls("/refunds", fault=weather.HELD)
        holder = watch.holder_of([str(call["operation_id"]) for call in calls])
        child = self.stage.by_pid(holder.pid) if holder else None
        if holder is None or child is None:
            return
        child.kill()
        self._killed_s = time.monotonic()
        self._victim = holder
        self._killed = Killed(holder.pid, len(holder.tasks), None)
        self.desk.release(self._fault)
        self.progress.tell(f"{child.name} killed with {_tasks(len(holder.tasks))} in its hands")
        child.start()

    def _see_recovery(self, watch: Watch, victim: Holder) -> None:
        if watch.has_moved_on(victim):
            took_s = round(time.monotonic() - self._killed_s, 2)
            self._killed = Killed(victim.pid, len(victim.tasks), took_s)
            number = _tasks(len(victim.tasks))
            self.progress.tell(f"{number} of the killed worker carried on after {took_s:.1f} s")

    # --- the verdict -----------------------------------------------------------------------------

    def verdict(self, *, approve: bool) -> Verdict:
        """Hold everything against the books and the journal; must hold: the workers have stopped.

        Args:
            approve: Whether what waits for a person counts as stuck.
        """
        assert self._watch is not None  # noqa: S101 (a run has at least one request)
        watch, standing = self._watch, self._watch.standing()
        unfinished = watch.unfinished()
        waiting = [] if approve else [_waiting(item) for item, _ in watch.open_reviews()]
        return Verdict(
            run=self.run.name,
            tasks=len(self._requests),
            states=dict(standing.states),
            outcomes=counted([self._outcome(task_id) for task_id in self._requests]),
            terminal=standing.terminal,
            waiting=waiting,
            stuck=len(unfinished) - len(waiting),
            books=judge_books(
                self.seeds,
                self.desk.books(),
                aborted=self._ids_of(self.person.aborted),
                unfinished=self._ids_of(unfinished),
            ),
            answered=dict(self.person.answered),
            faults=weather.struck(self.desk),
            killed=self._killed,
            fence_refusals=watch.refusals(),
            problems=[p for task_id in self._requests for p in _problems(task_id)],
            seconds=time.monotonic() - self.progress.began_s,
        )

    def _outcome(self, task_id: UUID) -> str:
        task = api.task(task_id)
        return outcome_of(task.state, task.result)

    def _ids_of(self, tasks: Iterable[UUID]) -> set[str]:
        return {self._requests[task_id]["request_id"] for task_id in tasks}


@contextmanager
def playing(number: int) -> Iterator[Play]:
    """Set the stage for a run: a shop with orders, two workers, a sweep; ends all of it after.

    Args:
        number: How many requests there will be.

    Raises:
        ShopDidNotStartError: The shop did not come to life.
    """
    run, seeds = runs.Run.new(), make(number, SEED)
    runs.tidy()
    agent = api.get_agent(AGENT)
    with ExitStack() as stack:
        shop = start_shop(settings.DATABASE_URL, schema=run.schema, seed_orders=number, seed=SEED)
        stack.enter_context(shop)
        desk = stack.enter_context(ShopDesk(shop.url))
        stage = stack.enter_context(Stage(_environ(shop), run.logs))
        # Before the workers are ended: what the shop withholds would keep them waiting.
        stack.callback(_calm, desk)
        for index in range(WORKERS):
            stage.start(f"worker-{index + 1}", "worker", "--queues", run.queue)
        stage.start("sweep", "sweep")
        stack.enter_context(registry.separate())
        runs.on_queue(agent, run.queue)
        yield Play(run, seeds, desk, stage)


def _environ(shop: ShopProcess) -> dict[str, str]:
    """Give the environment of the workers: our own services, and the way to this shop."""
    names = ("DATABASE_URL", "DATABASE_DIRECT_URL", "VALKEY_URL", "BROKER_URL")
    ours = {name: str(getattr(settings, name)) for name in (*names, "SIGNALBOX_DATA_DIR")}
    return {**os.environ, **ours, ADDRESS_VARIABLE: shop.url}


def _calm(desk: ShopDesk) -> None:
    with suppress(httpx.HTTPError):
        desk.clear_faults()


def _waiting(review_id: UUID) -> Waiting:
    item = api.review(review_id)
    return Waiting(str(item.task_id), item.kind, item.question or item.why)


def _problems(task_id: UUID) -> list[str]:
    return [f"task {found.task}: {found.what}" for found in api.verify(task=task_id).problems]


def _tasks(number: int) -> str:
    return "1 task" if number == 1 else f"{number} tasks"
