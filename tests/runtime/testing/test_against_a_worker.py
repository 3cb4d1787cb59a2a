"""A path is what a real worker on PostgreSQL makes of the same agent and the same outcomes."""

import os
import signal
from typing import Any
from uuid import UUID

import pytest

from runtime.api import Agent, Ambiguous, Permanent, Retryable
from runtime.core.events import Event
from runtime.examples.aftersales.agents import aftersales
from runtime.store import tasks
from runtime.testing import Crash, Path, lost, run
from runtime.testing.clock import START, FakeClock
from runtime.testing.world import World
from runtime.tools.agents import registry
from tests.runtime.testing.errands import GOOD, do, errands
from tests.runtime.testing.test_paths import INPUT, SHOP
from tests.support.engine import Site

# What differs from run to run: instants, ids, digests under the namespace's key, durations.
VOLATILE = {
    "deadline", "digest", "incarnation", "input_digest", "manifest_digest", "operation_id",
    "result_digest", "review_id", "since", "took_ms", "until",
}  # fmt: skip


def told(events: list[Event]) -> list[tuple[str, str | None, Any]]:
    """Give of each event what must not differ."""
    return [(event.type.value, event.call_id, _stable(event.payload)) for event in events]


def _stable(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _stable(v) for k, v in value.items() if k not in VOLATILE}
    return [_stable(one) for one in value] if isinstance(value, list) else value


def staged(agent: Agent, scripts: dict[str, Any], crashes: tuple[Crash, ...] = ()) -> Agent:
    """Give an agent whose tools say what a test scripts, for a process that can be killed."""
    world = World(agent, FakeClock(START), scripts, {}, crashes, die=_die)
    return world.staged()


def _die(_crash: Crash) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def play(
    site: Site, agent: Agent, given: dict[str, Any], scripts: dict[str, Any], *crashes: Crash
) -> UUID:
    """Have real workers run a task, one after the other while they are killed."""
    with registry.separate(staged(agent, scripts, crashes)):
        task = site.submit(agent.name, given)
        if crashes:
            victim = site.worker()
            site.eventually(victim.ended)
    with registry.separate(staged(agent, scripts)):
        site.worker()
        site.settle(task, sweep=True)
    return task


def check_same(site: Site, task: UUID, path: Path) -> None:
    """Hold journal, results and ledger of a task against a path."""
    row = site.row(task)
    assert told(tasks.load_journal(task)) == told(path.events)
    assert row.state == path.state
    assert site.results(task) == [
        (call.tool, call.outcome, call.result) for call in path.calls() if call.outcome != "open"
    ]
    assert sorted(site.effects(task)) == sorted((one.tool, one.status) for one in path.operations)


BUSY = Retryable("busy")
CASES: dict[str, tuple[Agent, dict[str, Any], dict[str, Any]]] = {
    "aftersales settles": (aftersales, INPUT, SHOP),
    "aftersales asks": (aftersales, {**INPUT, "currency": "USD"}, SHOP),
    "aftersales refuses": (
        aftersales,
        INPUT,
        {**SHOP, "check_entitlement": {"entitled": False, "reason": "too late"}},
    ),
    "aftersales is told no": (aftersales, INPUT, {**SHOP, "refund_order": Permanent("closed")}),
    "aftersales mails in doubt": (
        aftersales,
        INPUT,
        {**SHOP, "notify_customer": Ambiguous("no answer")},
    ),
    "every class": (errands, do("look", "note", "pay", "label", "mail"), GOOD),
    "one plan of many": (errands, do({"all": ["look", "note", "pay", "mail"]}), GOOD),
    "retries": (errands, do("look", "pay"), {"look": [BUSY, "seen"], "pay": [BUSY, BUSY, "paid"]}),
    "gives up": (errands, do("look"), {"look": BUSY}),
    "falls back": (errands, do("peek", "peek"), {**GOOD, "peek": KeyError("gone")}),
    "lost answers": (errands, do("pay", "label"), {"pay": lost("paid"), "label": lost("printed")}),
    "bad arguments": (errands, do({"call": "pay", "amount": "much"}), GOOD),
    "too early": (errands, do("close"), GOOD),
    "the same twice": (errands, do("look", "close", {"call": "close", "why": "again"}), GOOD),
    "unknown tool": (errands, do("steal"), GOOD),
    "fails": (errands, do("look", {"fail": "no more"}), GOOD),
    "odd values": (errands, do("look"), {"look": {"nul": "a\0b", "big": 10**30}}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_path_is_what_a_worker_does(site: Site, name: str) -> None:
    agent, given, scripts = CASES[name]

    task = play(site, agent, given, scripts)

    check_same(site, task, run(agent, given, tools=scripts))


CRASHES = [
    Crash(tool, when)
    for tool in ("look", "note", "pay", "label", "mail")
    for when in ("before_call", "after_call")
    # The downstream that remembers lives in the process that is killed here.
    if (tool, when) != ("label", "after_call")
]


@pytest.mark.parametrize("crash", CRASHES, ids=lambda crash: f"{crash.tool}-{crash.when}")
def test_a_crash_is_what_a_killed_worker_leaves(site: Site, crash: Crash) -> None:
    given = do("look", "note", "pay", "label", "mail")

    task = play(site, errands, given, GOOD, crash)

    check_same(site, task, run(errands, given, tools=GOOD, crash_at=crash))


def test_an_answer_leads_both_the_same_way(site: Site) -> None:
    given = do("look", {"ask": "Go on?"}, "mail")
    with registry.separate(staged(errands, GOOD)):
        task = site.submit(errands.name, given)
        site.worker()
        site.settle(task)
        site.decide(task, "answer", answer="yes")
        site.settle(task)

    path = run(errands, given, tools=GOOD, answers={"Go on?": "yes"})

    assert [kind for kind, _, _ in told(tasks.load_journal(task))] == path.story
    assert site.result(task) == path.result
