"""The shop's books in PostgreSQL: one statement and one commit for each call.

Knows SQL and nothing of HTTP; `server.py` calls it. Effects commit durably before they are
answered; reads do not wait for the disk.
"""

import asyncio
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString, NamedTuple

import psycopg
from psycopg import sql

from runtime.examples.aftersales.shop.rules import Order

DURABLE_CONNECTIONS = 6
RELAXED_CONNECTIONS = 3
CONNECT_TIMEOUT_S = 5

type Row = tuple[object, ...]


class BooksUnreachableError(Exception):
    """No connection to the books could be had: nothing was written."""


class BooksInterruptedError(Exception):
    """The connection broke in the middle of a statement: it may or may not have been written."""


class Call(NamedTuple):
    """The call a statement belongs to; `row` is its row where it was noted at arrival."""

    method: str
    path: str
    operation_id: str | None
    fault: str | None = None
    row: int | None = None


@dataclass(slots=True)
class _Slot:
    connection: psycopg.AsyncConnection[Row] | None = None
    generation: int = 0


def ensure_schema(database_url: str, schema: str) -> None:
    """Create what is missing of the shop's books; safe when several shops start at once.

    Raises:
        ValueError: the schema's name is not a plain lower-case name.
        psycopg.Error: the database refuses or cannot be reached.
    """
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema):
        message = f"{schema!r} is no name for a schema: use lower-case letters, digits and _"
        raise ValueError(message)
    script = (Path(__file__).parent / "schema.sql").read_bytes()
    with psycopg.connect(database_url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        connection.execute("SET LOCAL client_min_messages TO warning")
        connection.execute(
            "SELECT pg_advisory_xact_lock(hashtext('the shop'), hashtext(%s))", [schema]
        )
        name = sql.Identifier(schema)
        connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name))
        connection.execute(sql.SQL("SET LOCAL search_path TO {}").format(name))
        connection.execute(script)


def drop_schema(database_url: str, schema: str) -> None:
    """Throw the books away, for tests that had some of their own."""
    with psycopg.connect(database_url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        connection.execute("SET LOCAL client_min_messages TO warning")
        name = sql.Identifier(schema)
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(name))


class Pool:
    """A few connections, opened when first needed and again after the database went away."""

    def __init__(self, database_url: str, schema: str, *, size: int, durable: bool) -> None:
        """Prepare the slots; nothing connects yet."""
        self._database_url = database_url
        self._name = f"shop {schema}"
        commit = "on" if durable else "off"
        self._setup = sql.SQL("SET search_path TO {}; SET synchronous_commit TO {}").format(
            sql.Identifier(schema),
            sql.SQL(commit),
        )
        self._generation = 0
        # Last in, first out: under little load one warm connection serves all.
        self._slots: asyncio.LifoQueue[_Slot] = asyncio.LifoQueue()
        for _ in range(size):
            self._slots.put_nowait(_Slot())

    async def fetch(self, query: LiteralString, parameters: Iterable[object] = ()) -> list[Row]:
        """Run one statement in a commit of its own and return its rows.

        Raises:
            BooksUnreachableError: nothing was sent.
            BooksInterruptedError: the outcome is unknown.
        """
        slot = await self._slots.get()
        try:
            connection = await self._usable(slot)
            cursor = await connection.execute(query, tuple(parameters), prepare=True)
            return await cursor.fetchall()
        except psycopg.OperationalError as error:
            # What broke one connection broke its idle sisters: open all anew.
            self._generation += 1
            raise BooksInterruptedError from error
        finally:
            self._slots.put_nowait(slot)

    async def _usable(self, slot: _Slot) -> psycopg.AsyncConnection[Row]:
        connection = slot.connection
        if connection is not None and not connection.closed:
            if slot.generation == self._generation:
                return connection
            await connection.close()
        slot.generation = self._generation
        try:
            connection = await psycopg.AsyncConnection.connect(
                self._database_url,
                autocommit=True,
                application_name=self._name,
                connect_timeout=CONNECT_TIMEOUT_S,
            )
            await connection.execute(self._setup)
        except psycopg.OperationalError as error:
            raise BooksUnreachableError from error
        slot.connection = connection
        return connection

    async def close(self) -> None:
        """Close what is open and idle."""
        while not self._slots.empty():
            slot = self._slots.get_nowait()
            if slot.connection is not None:
                await slot.connection.close()


class Ledger:
    """The shop's books."""

    def __init__(self, database_url: str, schema: str) -> None:
        """Prepare connections to the books; `ensure_schema` must have run."""
        self._durable = Pool(database_url, schema, size=DURABLE_CONNECTIONS, durable=True)
        self._relaxed = Pool(database_url, schema, size=RELAXED_CONNECTIONS, durable=False)

    async def close(self) -> None:
        """Close the connections."""
        await self._durable.close()
        await self._relaxed.close()

    async def note(self, call: Call, status: int | None) -> int:
        """Note a call that has no effect, or (status None) one that has only arrived."""
        rows = await self._relaxed.fetch(
            "SELECT note_call(%s, %s, %s, %s, %s, false, %s)",
            [call.row, call.method, call.path, call.operation_id, status, call.fault],
        )
        return int(str(rows[0][0]))

    async def read_order(self, call: Call, order_id: str) -> Order | None:
        """Look up one order as it stands now."""
        rows = await self._relaxed.fetch(
            "SELECT body, refunded_minor FROM read_order(%s, %s, %s, %s)",
            [call.row, call.path, order_id, call.fault],
        )
        return _order(rows[0]) if rows else None

    async def peek_order(self, order_id: str) -> Order | None:
        """Look up one order without noting a call."""
        rows = await self._relaxed.fetch(
            "SELECT body, refunded_minor FROM orders WHERE id = %s",
            [order_id],
        )
        return _order(rows[0]) if rows else None

    async def pay_refund(
        self,
        call: Call,
        order_id: str,
        amount_minor: int,
        currency: str,
        body: str,
    ) -> tuple[int, int | None, str]:
        """Pay back once; returns HTTP status, refund id and a note."""
        rows = await self._durable.fetch(
            "SELECT status, refund_id, note FROM pay_refund(%s, %s, %s, %s, %s, %s, %s, %s)",
            [
                call.row,
                call.path,
                call.operation_id,
                order_id,
                amount_minor,
                currency,
                body,
                call.fault,
            ],
        )
        status, refund_id, note = rows[0]
        return int(str(status)), None if refund_id is None else int(str(refund_id)), str(note)

    async def add_mail(self, call: Call, order_id: str | None, body: str) -> int:
        """Send a mail; returns its id."""
        rows = await self._durable.fetch(
            "SELECT add_mail(%s, %s, %s, %s, %s, %s)",
            [call.row, call.path, call.operation_id, order_id, body, call.fault],
        )
        return int(str(rows[0][0]))

    async def add_label(self, call: Call, order_id: str | None, body: str) -> int:
        """Print a label; returns its id."""
        rows = await self._durable.fetch(
            "SELECT add_label(%s, %s, %s, %s, %s, %s)",
            [call.row, call.path, call.operation_id, order_id, body, call.fault],
        )
        return int(str(rows[0][0]))

    async def effects(self, operation_id: str | None = None) -> dict[str, list[dict[str, object]]]:
        """List refunds, mails and labels, all or those of one operation, oldest first."""
        if operation_id is None:
            rows = await self._relaxed.fetch(_EFFECTS + "ORDER BY id")
        else:
            only = "WHERE operation_id = %s ORDER BY id"
            rows = await self._relaxed.fetch(_EFFECTS + only, [operation_id])
        found: dict[str, list[dict[str, object]]] = {"refunds": [], "mails": [], "labels": []}
        for kind, effect_id, operation, order_id, amount_minor, currency, body, at in rows:
            effect = {"id": effect_id, "operation_id": operation, "order_id": order_id}
            if kind == "refunds":
                effect |= {"amount_minor": amount_minor, "currency": currency}
            found[str(kind)].append(effect | {"body": json.loads(str(body)), "at": at})
        return found

    async def calls(self, where: "CallFilter", limit: int) -> tuple[int, list[dict[str, object]]]:
        """Count the calls a filter matches and list the newest of them, oldest first."""
        rows = await self._relaxed.fetch(_CALLS, [*where.parameters(), limit])
        names = ("id", "method", "path", "operation_id", "status", "effect", "fault", "at")
        listed = [dict(zip(names, row[1:], strict=True)) for row in reversed(rows)]
        return (int(str(rows[0][0])) if rows else 0), listed

    async def count_calls(self) -> dict[str, int]:
        """Count all calls by method and first part of the path."""
        rows = await self._relaxed.fetch(
            "SELECT method || ' /' || split_part(path, '/', 2) AS kind, count(*) FROM calls "
            "GROUP BY kind ORDER BY kind",
        )
        return {str(kind): int(str(number)) for kind, number in rows}

    async def add_orders(self, orders: Iterable[Order]) -> int:
        """Store orders that are not there yet; returns how many were new."""
        rows = [
            (
                order["id"],
                canonical(order),
                order["currency"],
                order["total_minor"],
                order["refunded_minor"],
            )
            for order in orders
        ]
        ids, bodies, currencies, totals, refunded = zip(*rows, strict=True) if rows else ((),) * 5
        added = await self._durable.fetch(
            "INSERT INTO orders (id, body, currency, total_minor, refunded_minor) "
            "SELECT * FROM unnest(%s::text[], %s::text[], %s::text[], %s::bigint[], %s::bigint[]) "
            "ON CONFLICT (id) DO NOTHING RETURNING id",
            [list(ids), list(bodies), list(currencies), list(totals), list(refunded)],
        )
        return len(added)


@dataclass(frozen=True, slots=True)
class CallFilter:
    """Which calls are meant; what is None matches all."""

    path: str | None = None
    method: str | None = None
    operation_id: str | None = None
    fault: str | None = None

    def parameters(self) -> list[str | None]:
        """Return the parameters of the statement, each twice (is it set, does it match)."""
        return [
            value
            for value in (self.path, self.method, self.operation_id, self.fault)
            for _ in range(2)
        ]


_EFFECTS: LiteralString = """
SELECT kind, id, operation_id, order_id, amount_minor, currency, body, at::text FROM (
    SELECT 'refunds' AS kind, id, operation_id, order_id, amount_minor, currency, body, at
    FROM refunds
    UNION ALL SELECT 'mails', id, operation_id, order_id, NULL, NULL, body, at FROM mails
    UNION ALL SELECT 'labels', id, operation_id, order_id, NULL, NULL, body, at FROM labels
)
"""

_CALLS: LiteralString = """
SELECT count(*) OVER (), id, method, path, operation_id, status, effect, fault, at::text FROM calls
WHERE (%s::text IS NULL OR starts_with(path, %s)) AND (%s::text IS NULL OR method = %s)
    AND (%s::text IS NULL OR operation_id = %s) AND (%s::text IS NULL OR fault = %s)
ORDER BY id DESC LIMIT %s
"""


def canonical(value: object) -> str:
    """Write JSON as ASCII text that is equal exactly where the values are equal."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def storable(text: str) -> bool:
    """Tell whether PostgreSQL can hold a text: no NUL, no lone surrogate."""
    try:
        return b"\x00" not in text.encode("utf-8")
    except UnicodeEncodeError:
        return False


def _order(row: Row) -> Order:
    body, refunded_minor = row
    order: Order = json.loads(str(body))
    order["refunded_minor"] = int(str(refunded_minor))
    return order
