"""How PostgreSQL carries out the statements of a call: which nodes, which tables, which pages."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg._queries import PostgresQuery

from runtime.store import session
from runtime.store.session import Row, execute

# Tables that grow with the work done; the others hold a handful of rows.
GROWING = frozenset(
    {
        "runtime_task",
        "runtime_taskspec",
        "runtime_event",
        "runtime_stepresult",
        "runtime_operation",
        "runtime_review",
        "runtime_inbox",
    },
)
_SETTLES_AFTER = 7
"""Executions after which the server has chosen between a plan per values and one for all."""

type Sent = tuple[str, Mapping[str, Any] | Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Plan:
    """One plan.

    Args:
        nodes: All its nodes, from the top.
        buffers: Pages it touched, if it was carried out; else 0.
    """

    nodes: tuple[dict[str, Any], ...]
    buffers: int

    @property
    def read_whole(self) -> set[str]:
        """The growing tables that are read from end to end."""
        whole = {node["Relation Name"] for node in self.nodes if node["Node Type"] == "Seq Scan"}
        return whole & GROWING

    @property
    def indexes(self) -> set[str]:
        """The indexes that are used."""
        return {node["Index Name"] for node in self.nodes if "Index Name" in node}


class _Recording(psycopg.Cursor[Row]):
    """Remembers what is sent through it."""

    def __init__(self, raw: psycopg.Connection[Any], sent: list[Sent]) -> None:
        super().__init__(raw)
        self.sent = sent

    def execute(self, query: Any, params: Any = None, **more: Any) -> "_Recording":
        """Remember a statement and send it."""
        self.sent.append((query, params))
        super().execute(query, params, **more)
        return self


class _RecordingNumbered(psycopg.RawCursor[Row]):
    """The same for statements with numbered parameters, which it remembers with named ones."""

    def __init__(self, raw: psycopg.Connection[Any], sent: list[Sent]) -> None:
        super().__init__(raw)
        self.sent = sent

    def execute(self, query: Any, params: Any = None, **more: Any) -> "_RecordingNumbered":
        """Remember a statement and send it."""
        named = {f"p{number}": value for number, value in enumerate(params, start=1)}
        self.sent.append((re.sub(r"\$(\d+)", r"%(p\1)s", query), named))
        super().execute(query, params, **more)
        return self


def sent_by(call: Callable[[], object]) -> list[Sent]:
    """Make a call, undo what it wrote, and give the statements it sent."""
    execute("SAVEPOINT recorded")
    plain, numbered = session._local.cursor, session._local.numbered
    assert plain is not None
    sent: list[Sent] = []
    session._local.cursor = _Recording(plain.connection, sent)
    session._local.numbered = _RecordingNumbered(plain.connection, sent)
    try:
        call()
    finally:
        session._local.cursor, session._local.numbered = plain, numbered
        execute("ROLLBACK TO SAVEPOINT recorded")
    return sent


def plan(sent: Sent, *, run: bool = False) -> Plan:
    """Explain a statement as it is planned for its values; carried out and undone if `run`."""
    text, params = sent
    options = "ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON" if run else "FORMAT JSON"
    execute("SAVEPOINT explained")
    rows = execute(f"EXPLAIN ({options}) {text}", params)
    execute("ROLLBACK TO SAVEPOINT explained")
    return _read(rows[0][0])


def settled_plan(sent: Sent) -> Plan:
    """Explain a statement as it is planned once it has been prepared and used for a while."""
    text, params = sent
    raw = session._cursor().connection
    query = PostgresQuery(psycopg.adapt.Transformer(raw))
    query.convert(text, params)
    with psycopg.ClientCursor(raw) as cursor:
        names = [_type_name(cursor, oid) for oid in query.types or ()]
        marks = ["%s" if name == "unknown" else f"%s::{name}" for name in names]
        values = (
            [params[n] for n in query._order or ()] if isinstance(params, Mapping) else list(params)
        )
        head, call = (f"({', '.join(part)})" if part else "" for part in (names, marks))
        cursor.execute(f"PREPARE explained {head} AS {query.query.decode()}")
        for _ in range(_SETTLES_AFTER):
            cursor.execute(f"EXPLAIN (FORMAT JSON) EXECUTE explained {call}", values)
        row = cursor.fetchone()
        cursor.execute("DEALLOCATE explained")
    assert row is not None
    return _read(row[0])


def _type_name(cursor: psycopg.ClientCursor[Any], oid: int) -> str:
    if not oid:
        return "unknown"
    cursor.execute("SELECT format_type(%s::oid, NULL)", (oid,))
    row = cursor.fetchone()
    assert row is not None
    return str(row[0])


def _read(said: Any) -> Plan:
    whole = (json.loads(said) if isinstance(said, str) else said)[0]["Plan"]
    buffers = whole.get("Shared Hit Blocks", 0) + whole.get("Shared Read Blocks", 0)
    return Plan(tuple(_walk(whole)), buffers)


def _walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _walk(child)
