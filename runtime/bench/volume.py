"""Fills a database with tasks by the million, for those who measure how it answers then.

A few tasks are really run, one for each way a task can stand; the rest are copies of their rows
under new ids, spread over the past, so they hold whatever columns and checkpoints a real one holds.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from runtime.api import pause, submit, task
from runtime.bench.rig import workers
from runtime.core import checkpoint as cp
from runtime.store import counting
from runtime.store.session import execute

DAYS: Final = 30
#: Charts reach back a week: what is older than this is entered nowhere, which saves minutes.
COUNTED_DAYS: Final = 8
BATCH: Final = 20_000
LONG_STEPS: Final = 5_000
#: Of 1,000 tasks so many stand like this; the rest reached their goal.
SHARES: Final[Mapping[str, int]] = {
    "failed": 25,
    "asking": 5,
    "retrying": 5,
    "waiting": 5,
    "paused": 5,
    "writing": 100,
}
#: Events of a task besides those of its steps: created, started, completed.
_AROUND: Final = 3
#: What a task that reached its goal has more than the average one.
_MORE: Final = 1.1
_PATIENCE_S: Final = 600.0
#: Tables whose rows belong to one task, with the instants that move into the past with it.
_TABLES: Final[Mapping[str, str]] = {
    "runtime_task": "id",
    "runtime_taskspec": "task_id",
    "runtime_event": "task_id",
    "runtime_stepresult": "task_id",
    "runtime_operation": "task_id",
}

type Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Volume:
    """What the database holds, and the pattern of each kind.

    Args:
        tasks: Tasks.
        events: Their events.
        patterns: The task that was really run, for each kind; ``long`` has thousands of events.
    """

    tasks: int
    events: int
    patterns: Mapping[str, UUID]


def fill(tasks: int, events: int, tell: Tell) -> Volume:
    """Bring the database to so many tasks and events; what is there already stays.

    Args:
        tasks: Tasks wanted.
        events: Events wanted, of all tasks together.
        tell: Told how it goes.
    """
    patterns = _patterns(max(1, math.ceil(_MORE * events / tasks) - _AROUND))
    missing = tasks - _count("runtime_task")
    began_s = time.monotonic()
    done = 0
    while done < missing:
        size = min(BATCH, missing - done)
        _copy_all(patterns, size, (1 - done / missing, 1 - (done + size) / missing))
        done += size
        tell(f"{done:,} of {missing:,} tasks after {time.monotonic() - began_s:.0f} s")
    if missing > 0:
        _count_what_ended(tell)
        for table in (*_TABLES, "runtime_review"):
            execute(f"VACUUM (ANALYZE) {table}")
    return Volume(_count("runtime_task"), _count("runtime_event"), patterns)


# --- patterns ------------------------------------------------------------------------------------


def _patterns(steps: int) -> dict[str, UUID]:
    """Run one task of each kind, unless this database has them from an earlier time."""
    wanted = {
        "done": ("bench-read", {"steps": steps}),
        "writing": ("bench-keyed", {"steps": max(1, steps // 2)}),
        "long": ("bench-read", {"steps": LONG_STEPS}),
        "failed": ("bench-stuck", {"way": "fail"}),
        "asking": ("bench-stuck", {"way": "ask"}),
        "retrying": ("bench-stuck", {"way": "retry"}),
        "waiting": ("bench-idle", {"steps": 1}),
        "paused": ("bench-idle", {"steps": 2}),
    }
    ids = {
        kind: submit(agent, given, key=f"bench:{kind}:{steps}", title=f"The {kind} task").id
        for kind, (agent, given) in wanted.items()
    }
    if not task(ids["paused"]).held:
        pause(ids["paused"], reason="to be looked at", by="human:bench")
    if not _settled(ids):
        with workers(1, 4):
            until_s = time.monotonic() + _PATIENCE_S
            while not _settled(ids):
                if time.monotonic() > until_s:
                    raise TimeoutError
                time.sleep(0.1)
    return ids


def _settled(ids: Mapping[str, UUID]) -> bool:
    """Tell whether every pattern stands where it will stand."""
    ended = {"done", "writing", "long", "failed"}
    parked = {"asking": "waiting_human", "retrying": "retrying"}
    found = {kind: task(task_id) for kind, task_id in ids.items()}
    return all(found[kind].ended and not found[kind].owner for kind in ended) and all(
        found[kind].state == state and not found[kind].owner for kind, state in parked.items()
    )


# --- copies --------------------------------------------------------------------------------------


def _copy_all(patterns: Mapping[str, UUID], size: int, ages: tuple[float, float]) -> None:
    """Copy the patterns into so many tasks, in their shares.

    Args:
        patterns: What is copied.
        size: How many tasks.
        ages: Between which parts of the whole time they were, the greater first; in order of time
            an index grows at its end, and filling takes half as long.
    """
    shares = {kind: math.floor(size * share / 1000) for kind, share in SHARES.items()}
    shares["done"] = size - sum(shares.values())
    _lay_plan(patterns, shares, ages)
    for table, key in _TABLES.items():
        execute(_copying(table, key))
    if shares["asking"]:
        _copy_reviews(patterns["asking"])


def _lay_plan(
    patterns: Mapping[str, UUID], shares: Mapping[str, int], ages: tuple[float, float]
) -> None:
    """Decide which task becomes a copy of which pattern, and how long ago it was."""
    execute("DROP TABLE IF EXISTS bench_plan")
    execute(
        """
        CREATE UNLOGGED TABLE bench_plan AS
        SELECT pattern, age, n,
               -- A UUIDv7 of that time: 48 bits of milliseconds, the version, then chance.
               encode(set_byte(set_byte(
                   substring(int8send((extract(epoch FROM runtime_now() - age) * 1000)::bigint)
                             FROM 3) || substring(uuid_send(gen_random_uuid()) FROM 7),
                   6, 112 + floor(random() * 16)::int), 8, 128 + floor(random() * 64)::int),
                   'hex')::uuid AS id
        FROM (
            SELECT p.pattern, make_interval(days => %s) * (%s + random() * %s) AS age,
                   floor(random() * 1000000)::int AS n
            FROM unnest(%s::uuid[], %s::int[]) AS p (pattern, size),
                 generate_series(1, p.size)
        ) AS drawn
        ORDER BY age DESC
        """,
        (
            DAYS,
            ages[1],
            ages[0] - ages[1],
            [patterns[kind] for kind in shares],
            list(shares.values()),
        ),
    )
    execute("CREATE INDEX ON bench_plan (pattern)")
    execute("ANALYZE bench_plan")


def _copying(table: str, key: str) -> str:
    """Write the statement that copies the rows of one table."""
    instead = {
        key: "p.id",
        "key": "NULL",
        "title": "'Order A' || p.n || ': ' || o.title",
        "search_text": "o.search_text || ' A' || p.n",
        # What is due would be overdue in the past; it stays in the future.
        "due_at": "o.due_at",
    }
    if table == "runtime_operation":
        instead |= {"id": "o.id || ':' || p.id", "external_id": "o.external_id || p.n"}
    return _insert(table, instead) + (
        f"FROM bench_plan p JOIN {table} o ON o.{key} = p.pattern ORDER BY p.id"
    )


def _insert(table: str, instead: Mapping[str, str]) -> str:
    """Write the head of a statement that copies rows `o` as `p` plans.

    Columns come from the database, so that a new one is copied, too; instants move into the past,
    and what the copy is to have instead is named.
    """
    columns: list[tuple[str, str]] = [
        (str(name), str(kind))
        for name, kind in execute(
            "SELECT attname, atttypid::regtype::text FROM pg_attribute WHERE attnum > 0 "
            "AND NOT attisdropped AND attgenerated = '' AND attrelid = %s::regclass",
            (table,),
        )
    ]
    present = {"counted": f"p.age > interval '{COUNTED_DAYS} days'", **instead}
    values = [
        present.get(name) or f"o.{name}" + (" - p.age" if kind.startswith("timestamp") else "")
        for name, kind in columns
    ]
    names = ", ".join(name for name, _ in columns)
    return f"INSERT INTO {table} ({names}) SELECT {', '.join(values)} "


def _copy_reviews(pattern: UUID) -> None:
    """Give every copy that waits for a person an item of its own, and its checkpoint the item."""
    at = cp.decode(*execute("SELECT id, checkpoint FROM runtime_task WHERE id = %s", (pattern,))[0])
    ids = [row[0] for row in execute("SELECT id FROM bench_plan WHERE pattern = %s", (pattern,))]
    # The item's id differs from its task's in the last bit, so that both are of one time.
    items = [UUID(int=task_id.int ^ 1) for task_id in ids]
    texts = [cp.encode(at._replace(wait=_named(at.wait, item))) for item in items]
    execute(
        _insert("runtime_review", {"id": "n.item", "task_id": "n.id"})
        + "FROM unnest(%s::uuid[], %s::uuid[]) AS n (id, item) JOIN bench_plan p USING (id) "
        "JOIN runtime_review o ON o.task_id = p.pattern",
        (ids, items),
    )
    execute(
        "UPDATE runtime_task t SET checkpoint = n.text, checkpoint_sum = n.sum "
        "FROM unnest(%s::uuid[], %s::text[], %s::text[]) AS n (id, text, sum) WHERE t.id = n.id",
        (ids, texts, [cp.checksum(text) for text in texts]),
    )


def _named(wait: cp.Wait | None, item: UUID) -> cp.Wait | None:
    return wait and replace(wait, review_id=str(item))


def _count_what_ended(tell: Tell) -> None:
    """Have the ended copies counted as the sweep does."""
    counted = 0
    while taken := counting.count(BATCH):
        counted += taken
        tell(f"{counted:,} counted")


def _count(table: str) -> int:
    return int(execute(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608 (a name of ours)


def describe(volume: Volume) -> dict[str, Any]:
    """Give what a report says of it."""
    return {"tasks": volume.tasks, "events": volume.events, "days": DAYS}
