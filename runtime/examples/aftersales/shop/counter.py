"""The shop's counter: what a customer's programme may ask for, checked and carried out.

Each endpoint is one call of the ledger. Faults are none of its business: `server.py` decides
whether and when an endpoint runs.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from runtime.examples.aftersales.shop.http import (
    Answer,
    Json,
    Request,
    RequestRefusedError,
    problem,
    read_json,
)
from runtime.examples.aftersales.shop.ledger import Call, Ledger, canonical, storable
from runtime.examples.aftersales.shop.rules import entitlement

MAX_ID_CHARS = 200
MAX_AMOUNT_MINOR = 2**53

type Endpoint = Callable[[Ledger, Visit, Call], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Visit:
    """A business call, read: its endpoint, its body, and whom or what it is about."""

    endpoint: Endpoint
    subject: str
    operation_id: str | None
    body: Json


def read_visit(request: Request) -> Visit:  # noqa: PLR0911 - one line for each address
    """Find the endpoint a request is for and read its body.

    Raises:
        RequestRefusedError: there is no such endpoint, or the body is not for it.
    """
    match request.method, request.segments:
        case "GET", ("orders", order_id):
            return Visit(get_order, order_id, None, {})
        case "GET", ("orders", order_id, "entitlement"):
            return Visit(get_entitlement, order_id, None, {})
        case "GET", ("refunds", "by-operation", operation_id):
            return Visit(get_refund, operation_id, _known(operation_id), {})
        case "GET", ("labels", "by-operation", operation_id):
            return Visit(get_label, operation_id, _known(operation_id), {})
        case "POST", ("refunds",):
            return _posted(pay_refund, request)
        case "POST", ("mails",):
            return _posted(send_mail, request)
        case "POST", ("labels",):
            return _posted(print_label, request)
    raise RequestRefusedError(404, "there is nothing at this address")


def _posted(endpoint: Endpoint, request: Request) -> Visit:
    body = read_json(request.body)
    operation_id = body.get("operation_id")
    known = _known(operation_id) if isinstance(operation_id, str) else None
    return Visit(endpoint, "", known, body)


def _known(operation_id: str) -> str | None:
    """Take an operation id the books can hold, nothing else."""
    fits = 0 < len(operation_id) <= MAX_ID_CHARS and storable(operation_id)
    return operation_id if fits else None


async def get_order(ledger: Ledger, visit: Visit, call: Call) -> Answer:
    """Show one order."""
    order = await ledger.read_order(call, _order_id(visit.subject))
    return Answer(200, {**order}) if order else problem(404, "there is no such order")


async def get_entitlement(ledger: Ledger, visit: Visit, call: Call) -> Answer:
    """Say whether an order may still be refunded."""
    order = await ledger.read_order(call, _order_id(visit.subject))
    return Answer(200, {**entitlement(order)}) if order else problem(404, "there is no such order")


async def get_refund(ledger: Ledger, visit: Visit, call: Call) -> Answer:
    """Tell whether an operation paid a refund."""
    return await _by_operation(ledger, visit, call, "refunds")


async def get_label(ledger: Ledger, visit: Visit, call: Call) -> Answer:
    """Tell whether an operation printed labels."""
    return await _by_operation(ledger, visit, call, "labels")


async def _by_operation(ledger: Ledger, visit: Visit, call: Call, kind: str) -> Answer:
    found = (await ledger.effects(visit.operation_id))[kind] if visit.operation_id else []
    await ledger.note(call, 200 if found else 404)
    if not found:
        return problem(404, "this operation has left nothing in the books")
    return Answer(200, {"operation_id": visit.operation_id, "count": len(found), kind: found})


async def pay_refund(ledger: Ledger, visit: Visit, call: Call) -> Answer:
    """Pay back a part of an order, once for each operation id."""
    body = visit.body
    order_id, currency = _text(body, "order_id"), _text(body, "currency")
    amount_minor = body.get("amount_minor")
    if visit.operation_id is None:
        raise RequestRefusedError(422, "operation_id must be a text of 1 to 200 characters")
    if not isinstance(amount_minor, int) or isinstance(amount_minor, bool):
        raise RequestRefusedError(422, "amount_minor must be an integer")
    if not 0 < amount_minor <= MAX_AMOUNT_MINOR:
        raise RequestRefusedError(422, "amount_minor must be positive and at most 2^53")
    status, refund_id, note = await ledger.pay_refund(
        call,
        order_id,
        amount_minor,
        currency,
        canonical(body),
    )
    if refund_id is None or status not in {200, 201}:
        return problem(status, note)
    settled: Json = {
        "refund_id": refund_id,
        "operation_id": visit.operation_id,
        "status": "settled",
    }
    settled |= {"order_id": order_id, "amount_minor": amount_minor, "currency": currency}
    return Answer(status, settled | {"replayed": status == 200})  # noqa: PLR2004 - 201 is the first


async def send_mail(ledger: Ledger, visit: Visit, call: Call) -> Answer:
    """Send a mail. Each call sends one: the operation id only stands in the books."""
    _text(visit.body, "to")
    mail_id = await ledger.add_mail(call, _about(visit.body), canonical(visit.body))
    return Answer(201, {"mail_id": mail_id, "status": "sent"})


async def print_label(ledger: Ledger, visit: Visit, call: Call) -> Answer:
    """Print a return label. Each call prints one, but an operation can be looked up."""
    _text(visit.body, "order_id")
    label_id = await ledger.add_label(call, _about(visit.body), canonical(visit.body))
    return Answer(201, {"label_id": label_id, "status": "printed"})


def _order_id(text: str) -> str:
    if not storable(text):
        raise RequestRefusedError(404, "there is no such order")
    return text


def _about(body: Json) -> str | None:
    return None if body.get("order_id") is None else _text(body, "order_id")


def _text(body: Json, name: str) -> str:
    value = body.get(name)
    if not (isinstance(value, str) and 0 < len(value) <= MAX_ID_CHARS and storable(value)):
        raise RequestRefusedError(422, f"{name} must be a text of 1 to {MAX_ID_CHARS} characters")
    return value
