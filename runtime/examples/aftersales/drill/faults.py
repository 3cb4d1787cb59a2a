"""The faults of a drill, and in which order they strike: the same for the same seed.

Values only; how each is carried out is in `strikes.py`.
"""

import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What strikes."""

    WORKER = "worker"  #: a worker, seldom the sweep, is killed
    TERM = "term"  #: a worker is told to end
    PAUSE = "pause"  #: a worker stands still for longer than its lease lasts
    DATABASE = "database"  #: PostgreSQL is restarted or killed
    VALKEY = "valkey"  #: Valkey is emptied or killed
    BROKER = "broker"  #: messages vanish from the queue
    DUPLICATE = "duplicate"  #: messages come twice, also about tasks that want nothing
    DOWNSTREAM = "downstream"  #: the shop is slow, loses answers, refuses, fails


#: The ways of a kind; each of them comes before one comes again.
VARIANTS: dict[Kind, tuple[str, ...]] = {
    Kind.WORKER: ("one", "one", "all", "sweep"),
    Kind.TERM: ("one",),
    Kind.PAUSE: ("one",),
    Kind.DATABASE: ("fast", "immediate", "kill"),
    Kind.VALKEY: ("flush", "kill"),
    Kind.BROKER: ("steal",),
    Kind.DUPLICATE: ("double",),
    Kind.DOWNSTREAM: ("slow", "lose", "fail", "refuse", "limit", "hang"),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    Args:
        kind: What strikes.
        variant: In which way.
        strength: From 0 to 1: how long or how hard.
        pick: From 0 to 1: whom of several.
    """

    kind: Kind
    variant: str
    strength: float
    pick: float


def sequence(kinds: Collection[Kind], seed: int) -> Iterator[Fault]:
    """Give faults for ever: all kinds in a shuffled order, then all again in another."""
    dice = random.Random(f"drill:{seed}")
    decks: dict[Kind, list[str]] = {kind: [] for kind in Kind if kind in kinds}
    while decks:
        order = list(decks)
        dice.shuffle(order)
        for kind in order:
            if not decks[kind]:
                decks[kind] = list(VARIANTS[kind])
                dice.shuffle(decks[kind])
            yield Fault(kind, decks[kind].pop(), dice.random(), dice.random())
