"""The verdict on a run: what the books say, what the runtime says, and whether all of it held.

Values and pure functions; `play.py` gathers what they need, `show.py` prints them.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.examples.aftersales.shop.books import (
    Comparison,
    compare,
    expected_effects,
    seen_effects,
)
from runtime.examples.aftersales.shop.seeds import Seeds


@dataclass(frozen=True, slots=True)
class Killed:
    """A worker that was killed while it held tasks.

    Args:
        pid: Its process.
        held: How many tasks were in its hands.
        recovered_s: Seconds until somebody had carried each of them on; None if that never came.
    """

    pid: int
    held: int
    recovered_s: float | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A task that waits for a person: its id, its item's kind, and what the person is asked."""

    task: str
    kind: str
    asked: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of one run."""

    run: str
    tasks: int
    states: Mapping[str, int]
    outcomes: Mapping[str, int]
    terminal: int
    waiting: Sequence[Waiting]
    stuck: int
    books: Comparison
    answered: Mapping[str, int]
    faults: Mapping[str, int]
    killed: Killed | None
    fence_refusals: int
    problems: Sequence[str]
    seconds: float

    @property
    def failures(self) -> list[str]:
        """What did not hold, in a few words each."""
        books, killed = self.books, self.killed
        counts = {
            "stuck tasks": self.stuck,
            "effects that happened twice": len(books.duplicates),
            "effects missing from the books": len(books.lost),
            "effects nobody asked for": len(books.unexpected),
            "contradictions between events and state": len(self.problems),
        }
        found = [f"{name}: {number}" for name, number in counts.items() if number]
        if killed is None:
            found.append("no worker could be killed while it held tasks")
        elif killed.recovered_s is None:
            found.append("what the killed worker held was not carried on")
        return found

    @property
    def held(self) -> bool:
        """Whether every invariant held."""
        return not self.failures

    def as_json(self) -> dict[str, Any]:
        """Give it as one JSON object."""
        killed = self.killed
        return {
            "run": self.run,
            "held": self.held,
            "failures": self.failures,
            "tasks": self.tasks,
            "terminal": self.terminal,
            "waiting": [{"task": one.task, "kind": one.kind} for one in self.waiting],
            "stuck": self.stuck,
            "states": dict(self.states),
            "outcomes": dict(self.outcomes),
            "effects_expected": self.books.expected,
            "effects_seen": self.books.seen,
            "duplicates": len(self.books.duplicates),
            "lost": len(self.books.lost),
            "unexpected": len(self.books.unexpected),
            "answered": dict(self.answered),
            "faults": dict(self.faults),
            "killed_worker": killed
            and {"pid": killed.pid, "held": killed.held, "recovered_s": killed.recovered_s},
            "fence_refusals": self.fence_refusals,
            "fold_mismatches": len(self.problems),
            "problems": list(self.problems),
            "seconds": round(self.seconds, 2),
        }


def judge_books(
    seeds: Seeds,
    books: Mapping[str, object],
    *,
    aborted: Collection[str] = (),
    unfinished: Collection[str] = (),
) -> Comparison:
    """Hold the books against what they should say once the finished requests are settled.

    Args:
        seeds: The orders and all requests about them.
        books: The shop's books.
        aborted: Ids of requests that a person ended before their first effect.
        unfinished: Ids of requests still under way: their effects may stand there, each once.
    """
    requests = [request for request in seeds.requests if request["request_id"] not in aborted]
    done = [request for request in requests if request["request_id"] not in unfinished]
    settled = expected_effects(seeds.orders, done)
    possible = expected_effects(seeds.orders, requests) - settled
    return compare(settled + (possible & seen_effects(books)), books)


def outcome_of(state: str, result: object) -> str:
    """Name how a task ended, in the agent's own word where it gave one."""
    if isinstance(result, dict) and isinstance(result.get("outcome"), str):
        return str(result["outcome"])
    return state.replace("_", " ")


def counted(words: Sequence[str]) -> dict[str, int]:
    """Count words, the most frequent first."""
    return dict(Counter(words).most_common())
