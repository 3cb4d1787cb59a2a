"""What agents have under way and what came of the rest, without counting what is long over."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.db import connection

from console.queries.base import COUNTED, NAMESPACE
from runtime.core.breaker import Breaker, BreakerState
from runtime.core.states import TERMINAL, State
from runtime.models import Breaker as StoredBreaker
from runtime.models import Total

_MOST: Final = 3 * COUNTED
"""Tasks of one state that are looked at: they belong to all agents."""
_LIVE: Final = sorted(state.value for state in State if state not in TERMINAL)


@dataclass(frozen=True, slots=True)
class Load:
    """The tasks of one agent by state.

    Args:
        live: Those that live, as far as they are counted.
        ended: Those that have ended, all of them, a moment ago.
        is_capped: There are more living ones than were counted.
    """

    live: Mapping[State, int] = field(default_factory=dict)
    ended: Mapping[State, int] = field(default_factory=dict)
    is_capped: bool = False

    @property
    def by_state(self) -> dict[State, int]:
        """All states that have any."""
        return {**self.live, **self.ended}

    @property
    def living(self) -> int:
        """All that live."""
        return sum(self.live.values())


# Each state is looked up by its index and no further than the cap; those in hand by their owners.
# One branch for each state, with its name written in: joined to a list of them, the planner takes
# every state for a common one and reads the whole table to learn that some have no task.
_STANDING: Final = """
    SELECT agent, parked_as AS state, row_number() OVER () AS n FROM (
        SELECT one.agent, one.parked_as FROM runtime_task one
        WHERE one.namespace = %(namespace)s AND one.parked_as = '{state}'
        ORDER BY one.id
        LIMIT %(most)s
    ) AS {state}
    UNION ALL"""
_COUNTS: Final = f"""
SELECT agent, state, count(*), bool_or(n >= %(most)s) FROM (
    {"".join(_STANDING.format(state=state) for state in _LIVE)}
    SELECT agent, state, row_number() OVER () FROM (
        SELECT one.agent, one.state FROM runtime_task one
        WHERE one.owner IS NOT NULL AND one.namespace = %(namespace)s
        LIMIT %(most)s
    ) AS held
) AS found
GROUP BY agent, state
"""  # noqa: S608 (the names of our own states)


def loads() -> dict[str, Load]:
    """Count the tasks of all agents by state."""
    live: dict[str, dict[State, int]] = {}
    capped = False
    params: dict[str, Any] = {"namespace": NAMESPACE, "most": _MOST}
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, params)
        for name, state, count, is_capped in cursor.fetchall():
            of_agent = live.setdefault(name, {})
            of_agent[State(state)] = of_agent.get(State(state), 0) + count
            # Behind a cut anybody's tasks may lie.
            capped = capped or is_capped
    ended = _ended()
    return {name: Load(live.get(name, {}), ended.get(name, {}), capped) for name in {*live, *ended}}


def _ended() -> dict[str, dict[State, int]]:
    found: dict[str, dict[State, int]] = {}
    rows = Total.objects.filter(namespace=NAMESPACE, kind="task_ended")
    for label, count in rows.values_list("label", "count"):
        name, state = json.loads(label)
        if state in set(TERMINAL):
            found.setdefault(name, {})[State(state)] = count
    return found


@dataclass(frozen=True, slots=True)
class BreakerView:
    """A tool's breaker that is not as at the start."""

    state: BreakerState
    failures: int
    until: datetime | None


def breakers(tools: list[str]) -> dict[str, BreakerView]:
    """Read the breakers of tools; those that never failed have none."""
    rows = StoredBreaker.objects.filter(namespace=NAMESPACE, tool__in=tools)
    found = {}
    for tool, body in rows.values_list("tool", "body"):
        stored = Breaker.from_dict(body)
        found[tool] = BreakerView(stored.state, stored.failures, stored.until)
    return found
