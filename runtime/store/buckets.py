"""Reads what the sweep counted, summed up by time and by name; nothing else is read for charts."""

from datetime import datetime

from runtime.store.session import execute

type OverTime = tuple[datetime, str, str, int, float]
"""Beginning of the bucket, kind, word, count, seconds."""
type ByName = tuple[str, str, str, int, float]
"""Kind, name, word, count, seconds."""

_OF_AGENTS = ("task_", "queue_", "review_")

_SUMS = """
SELECT b.began_at, b.kind, b.name, b.word, sum(b.count)::bigint, sum(b.sum)::float8,
       grouping(b.began_at)
FROM runtime_bucket b
WHERE b.namespace = %(namespace)s AND b.width_s = %(width_s)s AND b.kind = ANY (%(kinds)s::text[])
  AND b.began_at >= %(since)s AND b.began_at <= %(until)s
  AND (%(agent)s = '' OR b.name = %(agent)s OR NOT b.kind ^@ ANY (%(of_agents)s::text[]))
GROUP BY GROUPING SETS ((b.began_at, b.kind, b.word), (b.kind, b.name, b.word))
ORDER BY b.began_at
"""


def sums(  # noqa: PLR0913 (what is chosen)
    *,
    namespace: str,
    width_s: int,
    since: datetime,
    until: datetime,
    kinds: list[str],
    agent: str,
) -> tuple[list[OverTime], list[ByName]]:
    """Sum up buckets that begin within a time, once over names and once over the time.

    Args:
        namespace: Whose.
        width_s: Of the buckets, in seconds.
        since: The first instant.
        until: The last instant.
        kinds: What to read.
        agent: Only this one's, where a kind belongs to agents; all if empty.
    """
    params = {
        "namespace": namespace,
        "width_s": width_s,
        "since": since,
        "until": until,
        "kinds": kinds,
        "agent": agent,
        "of_agents": list(_OF_AGENTS),
    }
    over_time: list[OverTime] = []
    by_name: list[ByName] = []
    for began_at, kind, name, word, count, seconds, is_by_name in execute(_SUMS, params):
        if is_by_name:
            by_name.append((kind, name, word, count, seconds))
        else:
            over_time.append((began_at, kind, word, count, seconds))
    return over_time, by_name
