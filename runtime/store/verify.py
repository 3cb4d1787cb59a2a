"""Proves over the database that journal, checkpoints, results, ledger and items say the same.

Reads only, in batches that each see one snapshot, so that it may run beside working workers and
needs no more memory for a million tasks than for a hundred.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction

from runtime.core.effects import Effect
from runtime.core.errors import Unreadable
from runtime.core.events import Event, EventType
from runtime.core.keys import digest
from runtime.core.payloads import decode
from runtime.core.records import ResultRow
from runtime.core.verifying import Audit, LedgerRow, TaskRow
from runtime.store.session import Row, execute
from runtime.store.tasks import digest_key

BATCH = 200
CHUNK = 2000
MOST_PROBLEMS = 1000
_FIRST = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that does not fit: on which task, and what."""

    task: UUID
    what: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a proof came to.

    Args:
        tasks: Tasks that were looked at.
        events: Events that were folded.
        problems: What does not fit; of very many the first thousand.
    """

    tasks: int
    events: int
    problems: tuple[Problem, ...]

    @property
    def held(self) -> bool:
        """Whether everything fits."""
        return not self.problems


_TASKS = """
SELECT t.id, t.state, t.version, t.situation, t.checkpoint, t.checkpoint_sum, t.held,
       t.owner IS NOT NULL,
       ARRAY(SELECT r.id::text FROM runtime_review r
             WHERE r.task_id = t.id AND r.status IN ('open', 'decided')),
       (SELECT count(*) FROM runtime_review r WHERE r.task_id = t.id),
       (SELECT count(*) FROM runtime_inbox i WHERE i.task_id = t.id AND i.consumed_at IS NULL),
       t.namespace
FROM runtime_task t
"""
_EVENTS = """
SELECT task_id, seq, type, payload, codec, at, actor, call_id, cause, event_id, v
FROM runtime_event
WHERE task_id = ANY (%(tasks)s) AND (task_id, seq) > (%(task)s, %(after)s)
ORDER BY task_id, seq LIMIT %(limit)s
"""
_RESULTS = """
SELECT task_id, position, call_id, tool, effect, outcome, operation_id, digest, args_seq,
       args_index, result_digest, summary, attempts, chain, seq, took_ms, result, artifact
FROM runtime_stepresult
WHERE task_id = ANY (%(tasks)s) AND (task_id, position) > (%(task)s, %(after)s)
ORDER BY task_id, position LIMIT %(limit)s
"""
_LEDGER = """
SELECT task_id, id, call_id, tool, effect, status, digest, dispatches
FROM runtime_operation WHERE task_id = ANY (%s)
"""


def verify(only: UUID | None = None, told: Callable[[int], None] | None = None) -> Verdict:
    """Prove one task, or all of them.

    Args:
        only: The task; None for all.
        told: Hears after each batch how many tasks are done.
    """
    proof = _Proof()
    after: UUID | None = _FIRST
    while after is not None:
        with _snapshot():
            after = proof.batch(only, after)
        if told is not None:
            told(proof.tasks)
    return Verdict(proof.tasks, proof.events, tuple(proof.problems))


@contextmanager
def _snapshot() -> Iterator[None]:
    """Give one snapshot to all statements inside, unless the caller's transaction has its own."""
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield


class _Rows:
    """Rows of several tasks in order, read in chunks and handed out task by task."""

    def __init__(self, text: str, tasks: list[UUID]) -> None:
        self._text, self._tasks = text, tasks
        self._rows: list[Row] = []
        self._next = 0
        self._mark: tuple[object, object] = (_FIRST, -1)
        self._over = False

    def of(self, task_id: UUID) -> Iterator[Row]:
        while self._fill() and self._rows[self._next][0] == task_id:
            self._next += 1
            yield self._rows[self._next - 1]

    def _fill(self) -> bool:
        if self._next < len(self._rows):
            return True
        if self._over:
            return False
        task, after = self._mark
        params = {"tasks": self._tasks, "task": task, "after": after, "limit": CHUNK}
        self._rows, self._next = execute(self._text, params), 0
        self._over = len(self._rows) < CHUNK
        if self._rows:
            self._mark = self._rows[-1][:2]
        return bool(self._rows)


class _Proof:
    """The proof under way."""

    def __init__(self) -> None:
        self.tasks = self.events = 0
        self.problems: list[Problem] = []

    def batch(self, only: UUID | None, after: UUID) -> UUID | None:
        """Prove the tasks after one; gives the last, None when there are no more."""
        if only is not None:
            rows = execute(f"{_TASKS} WHERE t.id = %s", (only,))
        else:
            rows = execute(f"{_TASKS} WHERE t.id > %s ORDER BY t.id LIMIT {BATCH}", (after,))
        ids = [row[0] for row in rows]
        events, results = _Rows(_EVENTS, ids), _Rows(_RESULTS, ids)
        ledger: dict[UUID, list[LedgerRow]] = {}
        for task_id, *columns in execute(_LEDGER, (ids,)):
            ledger.setdefault(task_id, []).append(LedgerRow(*columns))
        for row in rows:
            self._prove(row, events, results, ledger.get(row[0], ()))
        return ids[-1] if only is None and len(rows) == BATCH else None

    def _prove(self, row: Row, events: _Rows, results: _Rows, ledger: Sequence[LedgerRow]) -> None:
        *columns, namespace = row
        columns[8] = tuple(columns[8])
        task = TaskRow(*columns)
        audit = Audit(task)
        expected = self._expected(audit, events.of(task.id))
        found = (_result(line, namespace, audit) for line in results.of(task.id))
        for one, other in _paired(expected, found):
            audit.result(one, other)
        audit.ledger(ledger)
        audit.end()
        self.tasks += 1
        room = MOST_PROBLEMS - len(self.problems)
        self.problems.extend(Problem(task.id, what) for what in audit.problems[:room])

    def _expected(self, audit: Audit, rows: Iterator[Row]) -> Iterator[ResultRow]:
        for _, seq, kind, payload, codec, at, actor, call_id, cause, event_id, v in rows:
            self.events += 1
            try:
                body = decode(payload, codec)
                event = Event(seq, EventType(kind), body, at, actor, call_id, cause, event_id, v)
            except (Unreadable, ValueError) as error:
                audit.damaged(seq, str(error))
                continue
            expected = audit.event(event)
            if expected is not None:
                yield expected


def _paired(
    expected: Iterator[ResultRow], found: Iterator[ResultRow]
) -> Iterator[tuple[ResultRow | None, ResultRow | None]]:
    """Pair rows by their position; None where one side has none."""
    one, other = next(expected, None), next(found, None)
    while one is not None or other is not None:
        if one is None or (other is not None and other.position < one.position):
            yield None, other
            other = next(found, None)
        elif other is None or one.position < other.position:
            yield one, None
            one = next(expected, None)
        else:
            yield one, other
            one, other = next(expected, None), next(found, None)


def _result(line: Row, namespace: str, audit: Audit) -> ResultRow:
    _, position, call_id, tool, effect, outcome, operation_id, mark, *rest = line
    args_seq, args_index, result_digest, summary, attempts, chain, seq, took_ms, text, kept = rest
    # A large result stands elsewhere and is proved when it is fetched.
    here = text is not None and kept is None
    if here and digest(digest_key(namespace), "result", text) != result_digest:
        audit.says(f"the result of call {call_id} does not fit its digest")
    return ResultRow(
        call_id=call_id,
        position=position,
        tool=tool,
        effect=Effect(effect),
        outcome=outcome,
        operation_id=operation_id,
        digest=mark,
        args_seq=args_seq,
        args_index=args_index,
        result_digest=result_digest,
        summary=summary,
        attempts=attempts,
        chain=chain,
        seq=seq,
        took_ms=took_ms,
    )
