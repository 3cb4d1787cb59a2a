"""The way of a task over its states, told from its journal; what was told once is not read again.

A journal only grows, so a way that was followed up to an event stays true: a process keeps those of
the tasks it showed last and reads what came since.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from threading import Lock
from typing import Final, Self
from uuid import UUID

from console.queries.base import fetch
from runtime.core.errors import SignalboxError
from runtime.core.events import EventType
from runtime.core.payloads import decode
from runtime.core.states import State
from runtime.core.table import TABLE, Row

FARTHEST: Final = 10_000
"""So many events are followed at most when a task is shown the first time."""
_RECENT: Final = 12
_KEPT: Final = 256


@dataclass(frozen=True, slots=True)
class Journey:
    """The way of a task.

    Args:
        recent: The last states it was in, one after the other; the last one is where it stands.
        visits: How often it came into each state.
        legs: The ways it took from state to state.
        before: How many states it was in before the recent ones.
        since: The event from which on it was followed; 1 when it was followed from the beginning.
    """

    recent: tuple[State, ...]
    visits: Counter[State]
    legs: frozenset[tuple[State, State]]
    before: int = 0
    since: int = 1

    @classmethod
    def along(cls, path: Sequence[State]) -> Self:
        """Make the journey of a path."""
        steps = [state for at, state in enumerate(path) if not at or path[at - 1] is not state]
        return cls(
            recent=tuple(steps[-_RECENT:]),
            visits=Counter(steps),
            legs=frozenset(pairwise(steps)),
            before=max(len(steps) - _RECENT, 0),
        )

    @property
    def is_whole(self) -> bool:
        """Whether it was followed from the beginning."""
        return self.since == 1


@dataclass(slots=True)
class _Way:
    """A journey under way, up to event `seq`."""

    seq: int
    since: int
    recent: list[State] = field(default_factory=list)
    visits: Counter[State] = field(default_factory=Counter)
    legs: set[tuple[State, State]] = field(default_factory=set)
    entered: int = 0

    def follow(self, rows: Iterable[tuple[int, str, str | None, str]]) -> None:
        for seq, kind, text, codec in rows:
            self.seq = seq
            here = self.recent[-1] if self.recent else None
            if kind == EventType.TOOL_CALL_SUCCEEDED and here is State.PLANNING:
                # A read is made and written as one event; the task was at the tool all the same.
                self.enter(State.WAITING_TOOL_CALL)
                here = State.PLANNING
            target = _target(kind, here, text, codec)
            if target is not None:
                self.enter(target)

    def enter(self, state: State) -> None:
        here = self.recent[-1] if self.recent else None
        if here is state:
            return
        if here is not None:
            self.legs.add((here, state))
        self.visits[state] += 1
        self.entered += 1
        self.recent = [*self.recent[1 - _RECENT :], state]

    def told(self, now_in: State) -> Journey:
        """Give the journey; the task may have moved on since it was read."""
        way = replace(
            self, recent=list(self.recent), visits=self.visits.copy(), legs=set(self.legs)
        )
        way.enter(now_in)
        if way.since > 1:
            # Where it came from is known, however far back it lies.
            for state in (State.INITIALIZED, State.PLANNING):
                way.visits[state] = max(way.visits[state], 1)
            way.legs.add((State.INITIALIZED, State.PLANNING))
        return Journey(
            recent=tuple(way.recent),
            visits=way.visits,
            legs=frozenset(way.legs),
            before=way.entered - len(way.recent),
            since=way.since,
        )


class _Kept:
    """The ways of the tasks that were shown last."""

    def __init__(self) -> None:
        self._ways: OrderedDict[UUID, _Way] = OrderedDict()
        self._lock = Lock()

    def follow(self, task_id: UUID, version: int, now_in: State) -> Journey:
        with self._lock:
            way = self._ways.pop(task_id, None)
        fresh = max(version - FARTHEST, 0)
        if way is None or way.seq > version or way.seq < fresh:
            way = _Way(seq=fresh, since=fresh + 1)
        if way.seq < version:
            way.follow(_rows(task_id, way.seq, version))
        journey = way.told(now_in)
        with self._lock:
            self._ways[task_id] = way
            while len(self._ways) > _KEPT:
                self._ways.popitem(last=False)
        return journey


_kept: Final = _Kept()


def travelled(task_id: UUID, version: int, now_in: State) -> Journey:
    """Follow a task's way; of a long one that was not shown before, only the last part.

    Args:
        task_id: The task.
        version: How far it is.
        now_in: Where it stands.
    """
    return _kept.follow(task_id, version, now_in)


#: Only where the table leaves a choice does the payload tell where an event led.
_CHOOSES: Final = [
    row.event.value
    for row in TABLE.values()
    if any(len(row.targets_from(source)) > 1 for source in row.sources)
]


_ROWS: Final[dict[str, Row]] = {kind.value: row for kind, row in TABLE.items()}


_EVENTS: Final = """
SELECT seq, type, CASE WHEN type = ANY(%s) THEN payload END, codec
FROM runtime_event WHERE task_id = %s AND seq > %s AND seq <= %s ORDER BY seq
"""


def _rows(task_id: UUID, after: int, upto: int) -> Iterable[tuple[int, str, str | None, str]]:
    return fetch(_EVENTS, (_CHOOSES, task_id, after, upto))


def _target(kind: str, source: State | None, text: str | None, codec: str) -> State | None:
    row = _ROWS.get(kind)
    if row is None or (source is not None and source not in row.sources):
        return None
    targets = row.targets if source is None else row.targets_from(source)
    if len(targets) == 1:
        return next(iter(targets))
    try:
        return State(decode(text or "", codec)["to"])
    except (SignalboxError, KeyError, TypeError, ValueError):
        return None
