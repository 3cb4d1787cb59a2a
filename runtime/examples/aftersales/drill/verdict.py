"""The verdict on a drill, in the words of the contract; values and pure functions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.examples.aftersales.shop.books import Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of one drill.

    Args:
        wanted: Requests that were to be sent.
        tasks: Requests that were sent.
        recovery_s: Seconds of each recovery.
        problems: Contradictions between journal, checkpoints, ledger and items.
        down: Processes that were down at the end though nothing had struck them.
    """

    seed: int
    wanted: int
    tasks: int
    states: Mapping[str, int]
    terminal: int
    steps: int
    stuck: int
    books: Comparison
    answered: Mapping[str, int]
    faults: Mapping[str, int]
    recovery_s: Sequence[float]
    fence_refusals: int
    problems: Sequence[str]
    restarts: int
    seconds: float

    @property
    def failures(self) -> list[str]:
        """What did not hold, one sentence each."""
        books = self.books
        unsent = self.wanted - self.tasks
        checks = {
            f"{unsent} requests could not be sent in time": unsent,
            f"{self.stuck} tasks are stuck": self.stuck,
            f"{len(books.duplicates)} effects happened twice": books.duplicates,
            f"{len(books.lost)} effects are missing from the books": books.lost,
            f"{len(books.unexpected)} effects nobody asked for": books.unexpected,
            f"{len(self.problems)} contradictions between events and state": self.problems,
        }
        return [sentence for sentence, broken in checks.items() if broken]

    @property
    def held(self) -> bool:
        """Whether every invariant held."""
        return not self.failures

    def as_json(self) -> dict[str, Any]:
        """Give it as one JSON object: the contract's keys first, then what explains them."""
        return {
            "tasks": self.tasks,
            "terminal": self.terminal,
            "steps": self.steps,
            "effects_expected": self.books.expected,
            "effects_seen": self.books.seen,
            "duplicates": len(self.books.duplicates),
            "lost": len(self.books.lost),
            "stuck": self.stuck,
            "fold_mismatches": len(self.problems),
            "answered": dict(self.answered),
            "faults": dict(self.faults),
            "recovery_s": quantiles(self.recovery_s),
            "fence_refusals": self.fence_refusals,
            "held": self.held,
            "failures": self.failures,
            "seed": self.seed,
            "seconds": round(self.seconds, 2),
            "states": dict(self.states),
            "unexpected": len(self.books.unexpected),
            "restarts": self.restarts,
            "details": self.details,
        }

    @property
    def details(self) -> list[str]:
        """Name what is wrong, piece by piece."""
        books = self.books
        named = {"twice": books.duplicates, "missing": books.lost, "unasked": books.unexpected}
        effects = [f"{word}: {effect}" for word, found in named.items() for effect in found]
        return [*effects, *self.problems]


def quantiles(seconds: Sequence[float]) -> dict[str, float | None]:
    """Give median, 95th percentile and maximum; None of each where nothing was measured."""
    if not seconds:
        return {"p50": None, "p95": None, "max": None}
    ranked = sorted(seconds)

    def at(share: float) -> float:
        return ranked[math.ceil(share * len(ranked)) - 1]

    return {"p50": at(0.5), "p95": at(0.95), "max": ranked[-1]}
