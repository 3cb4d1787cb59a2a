"""What is measured of the installation now: bounded reads from partial indexes and totals.

No statement reads a growing table; counts stop at a cap.  `runtime.api` hands these rows out.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from runtime.core.states import LIVE
from runtime.store.session import execute

CAP: Final = 10_000
"""A count that reaches this is “at least so many”."""
_MOST_ROWS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Total:
    """A total since the beginning, with its age.

    Args:
        label: The words that tell the totals of a kind apart.
        sum: Seconds, where the kind has any.
        age_s: Seconds since the last one was added.
    """

    namespace: str
    kind: str
    label: tuple[str, ...]
    count: int
    sum: float
    age_s: float


def totals() -> list[Total]:
    """List all totals, in order."""
    rows = execute(
        "SELECT namespace, kind, label, count, sum, "
        "extract(epoch FROM runtime_now() - last_at)::float8 FROM runtime_total "
        "ORDER BY namespace, kind, label LIMIT %s",
        (_MOST_ROWS,),
    )
    return [
        Total(namespace, kind, tuple(str(word) for word in json.loads(label)), count, seconds, age)
        for namespace, kind, label, count, seconds, age in rows
    ]


# In the order of the index: without it a common state is counted by reading the whole table.
_LIVE = """
WITH held AS (
    SELECT h.namespace, h.state, count(*) AS n
    FROM (SELECT t.namespace, t.state FROM runtime_task t
          WHERE t.owner IS NOT NULL LIMIT %(cap)s) h
    GROUP BY h.namespace, h.state
), spaces AS (
    SELECT n.name FROM runtime_namespace n ORDER BY n.name LIMIT 200
)
SELECT s.name, k.state,
       (SELECT count(*) FROM (SELECT 1 FROM runtime_task t
            WHERE t.namespace = s.name AND t.parked_as = k.state
            ORDER BY t.id LIMIT %(cap)s) c)
       + coalesce((SELECT h.n FROM held h
                   WHERE h.namespace = s.name AND h.state = k.state), 0)
FROM spaces s CROSS JOIN unnest(%(states)s::text[]) AS k (state)
ORDER BY 1, 2
"""


def live() -> list[tuple[str, str, int]]:
    """Count living tasks: namespace, state, how many."""
    rows = execute(_LIVE, {"cap": CAP, "states": sorted(LIVE)})
    return [(namespace, state, int(count)) for namespace, state, count in rows]


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits in one queue and who serves it.

    Args:
        due: Tasks that could go on now, at most `CAP`.
        oldest_s: Seconds that the oldest of those counted has been due; 0 without any.
        workers: Running workers that serve it.
        slots: Tasks these may hold.
    """

    queue: str
    due: int
    oldest_s: float
    workers: int
    slots: int


_QUEUES = """
WITH RECURSIVE waiting AS (
    (SELECT t.queue FROM runtime_task t
     WHERE t.owner IS NULL AND NOT t.held AND t.due_at IS NOT NULL
     ORDER BY t.queue LIMIT 1)
    UNION ALL
    SELECT (SELECT t.queue FROM runtime_task t
            WHERE t.owner IS NULL AND NOT t.held AND t.due_at IS NOT NULL
              AND t.queue > waiting.queue
            ORDER BY t.queue LIMIT 1)
    FROM waiting WHERE waiting.queue IS NOT NULL
), served AS (
    SELECT q.queue, count(*) AS workers, sum(w.slots) AS slots
    FROM runtime_worker w, unnest(w.queues) AS q (queue)
    WHERE w.state = 'running' AND w.kind = 'worker' AND w.expires_at > runtime_now()
    GROUP BY q.queue
), named AS (
    SELECT w.queue FROM waiting w WHERE w.queue IS NOT NULL UNION SELECT s.queue FROM served s
)
SELECT n.queue, d.due, coalesce(d.oldest_s, 0), coalesce(s.workers, 0)::int,
       coalesce(s.slots, 0)::int
FROM named n
LEFT JOIN served s ON s.queue = n.queue
CROSS JOIN LATERAL (
    SELECT count(*)::int AS due,
           extract(epoch FROM runtime_now() - min(c.due_at))::float8 AS oldest_s
    FROM (SELECT t.due_at FROM runtime_task t
          WHERE t.owner IS NULL AND NOT t.held AND t.queue = n.queue
            AND t.due_at <= runtime_now()
          LIMIT %(cap)s) c
) d
ORDER BY n.queue LIMIT %(most)s
"""


def backlogs() -> list[Backlog]:
    """List the queues that have work or workers."""
    return [Backlog(*row) for row in execute(_QUEUES, {"cap": CAP, "most": _MOST_ROWS})]


def workers() -> list[tuple[str, int, int]]:
    """Count living workers: state, how many, tasks they hold by their last word."""
    rows = execute(
        "SELECT w.state, count(*)::int, sum(w.held)::int FROM runtime_worker w "
        "WHERE w.state IN ('running', 'draining') AND w.expires_at > runtime_now() "
        "GROUP BY w.state ORDER BY w.state",
    )
    return [(state, count, held) for state, count, held in rows]


def open_reviews() -> list[tuple[str, str, int, float]]:
    """Count open review items: namespace, kind, how many, seconds the oldest has been open."""
    rows = execute(
        "SELECT o.namespace, o.kind, count(*)::int, "
        "extract(epoch FROM runtime_now() - min(o.opened_at))::float8 "
        "FROM (SELECT r.namespace, r.kind, r.opened_at FROM runtime_review r "
        "WHERE r.status = 'open' ORDER BY r.namespace, r.opened_at LIMIT %s) o "
        "GROUP BY o.namespace, o.kind ORDER BY o.namespace, o.kind",
        (CAP,),
    )
    return [(namespace, kind, count, age) for namespace, kind, count, age in rows]


def open_breakers() -> Sequence[tuple[str, str]]:
    """Name the tools whose breaker is not closed: namespace, tool."""
    rows = execute(
        "SELECT b.namespace, b.tool FROM runtime_breaker b "
        "WHERE b.body->>'state' <> 'closed' ORDER BY 1, 2 LIMIT %s",
        (_MOST_ROWS,),
    )
    return [(namespace, tool) for namespace, tool in rows]
