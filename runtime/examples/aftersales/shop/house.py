"""The shop at work: carries out business calls, notes them, and does to them what a test ordered.

What a call means is in `counter.py`, what may strike it in `faults.py`; it sees no sockets, those
are `server.py`'s.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from runtime.examples.aftersales.shop.counter import Visit, read_visit
from runtime.examples.aftersales.shop.faults import Fault, FaultBook, Kind
from runtime.examples.aftersales.shop.http import (
    Answer,
    Request,
    RequestRefusedError,
    problem,
)
from runtime.examples.aftersales.shop.ledger import (
    Call,
    Ledger,
    storable,
)

_TURNS_AWAY = {Kind.FAIL, Kind.REFUSE, Kind.RATE_LIMIT, Kind.HANG}
_WAITS = {Kind.SLOW, Kind.HOLD}


@dataclass(frozen=True, slots=True)
class Delivery:
    """How an answer leaves: at once, a byte each `drip_s`, or (None) never.

    Without an answer the connection is closed; with `hang` only once the client has gone.
    """

    answer: Answer | None
    drip_s: float = 0.0
    hang: bool = False


class Shop:
    """The state of one shop process: its ledger, its faults, and who is waiting for what."""

    def __init__(self, ledger: Ledger) -> None:
        """Open with no faults."""
        self.ledger = ledger
        self.faults = FaultBook()
        #: Calls under way that may still have an effect, by operation id.
        self.pending: Counter[str] = Counter()
        #: Set, and replaced, whenever a call was noted or has ended.
        self.news = asyncio.Event()
        self._held: dict[int, list[asyncio.Event]] = {}

    def held(self, fault_id: int) -> int:
        """Count the calls that a fault withholds."""
        return len(self._held.get(fault_id, ()))

    def release(self, fault_id: int | None = None) -> int:
        """Let withheld answers go, of one fault or of all; returns how many there were."""
        chosen = list(self._held) if fault_id is None else [fault_id]
        gates = [gate for number in chosen for gate in self._held.pop(number, [])]
        for gate in gates:
            gate.set()
        return len(gates)

    async def serve(self, request: Request) -> Delivery:
        """Serve a business call, with the fault that strikes it, and note it in the books."""
        path = request.path if storable(request.path) else "/(unprintable)"
        call = Call(request.method, path, None)
        try:
            visit = read_visit(request)
        except RequestRefusedError as refusal:
            await self.ledger.note(call, refusal.answer.status)
            return Delivery(refusal.answer)
        fault = self.faults.draw(request.method, path, visit.operation_id)
        call = call._replace(operation_id=visit.operation_id, fault=fault.kind if fault else None)
        try:
            return await self._serve(visit, call, fault)
        finally:
            self._announce()

    async def _serve(self, visit: Visit, call: Call, fault: Fault | None) -> Delivery:
        if fault is None:
            return Delivery(await self._work(visit, call))
        if fault.kind in _TURNS_AWAY:
            return await self._turn_away(call, fault)
        if fault.kind in _WAITS and not fault.after_commit:
            return await self._wait_then_work(visit, call, fault)
        return await self._work_then_strike(visit, call, fault)

    async def _work(self, visit: Visit, call: Call) -> Answer:
        try:
            self._refuse_while_pending(call)
            with self._under_way(call):
                return await visit.endpoint(self.ledger, visit, call)
        except RequestRefusedError as refusal:
            await self.ledger.note(call, refusal.answer.status)
            return refusal.answer

    def _refuse_while_pending(self, call: Call) -> None:
        """Answer no question about an operation that may still have its effect."""
        if call.method == "GET" and self.pending[call.operation_id or ""]:
            raise RequestRefusedError(425, "this operation is still under way")

    async def _turn_away(self, call: Call, fault: Fault) -> Delivery:
        if fault.kind is Kind.HANG:
            await self.ledger.note(call, None)
            return Delivery(None, hang=True)
        await self.ledger.note(call, fault.status)
        return Delivery(problem(fault.status, f"ordered fault: {fault.kind}", _retry_after(fault)))

    async def _wait_then_work(self, visit: Visit, call: Call, fault: Fault) -> Delivery:
        gate = self._gate(fault)
        with self._under_way(call):
            call = call._replace(row=await self.ledger.note(call, None))
            self._announce()
            await _wait(fault, gate)
        return Delivery(await self._work(visit, call))

    async def _work_then_strike(self, visit: Visit, call: Call, fault: Fault) -> Delivery:
        # The gate is there before the commit: who sees the call may release it at once.
        gate = self._gate(fault)
        answer = await self._work(visit, call)
        self._announce()
        if fault.kind is Kind.LOSE_ANSWER:
            return Delivery(None)
        if fault.kind is Kind.DRIP:
            return Delivery(answer, drip_s=fault.seconds)
        await _wait(fault, gate)
        return Delivery(answer)

    def _gate(self, fault: Fault) -> asyncio.Event:
        gate = asyncio.Event()
        if fault.kind is Kind.HOLD:
            self._held.setdefault(fault.id, []).append(gate)
        return gate

    @contextmanager
    def _under_way(self, call: Call) -> Iterator[None]:
        operation_id = call.operation_id if call.method == "POST" else None
        if operation_id is None:
            yield
            return
        self.pending[operation_id] += 1
        try:
            yield
        finally:
            self.pending[operation_id] -= 1
            if not self.pending[operation_id]:
                del self.pending[operation_id]

    def _announce(self) -> None:
        self.news.set()
        self.news = asyncio.Event()


async def _wait(fault: Fault, gate: asyncio.Event) -> None:
    if fault.kind is Kind.HOLD:
        await gate.wait()
    else:
        await asyncio.sleep(fault.seconds)


def _retry_after(fault: Fault) -> tuple[tuple[str, str], ...]:
    if fault.retry_after is not None:
        return (("retry-after", str(fault.retry_after)),)
    if fault.retry_after_date_s is not None:
        instant = datetime.now(UTC) + timedelta(seconds=fault.retry_after_date_s)
        return (("retry-after", format_datetime(instant, usegmt=True)),)
    return ()
