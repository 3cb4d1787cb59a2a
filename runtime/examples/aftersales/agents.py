"""The demo agent: settles after-sales requests at the shop, without ever refunding twice.

Found at start like every app's `agents.py`. The planner is a script: pure, it sees the input and
the finished calls and says what comes next.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from runtime.api import Agent, Plan, tool
from runtime.examples.aftersales import client
from runtime.examples.aftersales.money import Item, display, refundable_minor

type Json = dict[str, Any]

NO_APPROVALS = "approvals are not available in this version; the demo runs without them"


class Request(BaseModel):
    """What a customer asks for; `currency` is the one they name, if they name one."""

    model_config = ConfigDict(extra="forbid")

    request_id: str = Field(min_length=1, max_length=100)
    order_id: str = Field(min_length=1, max_length=100)
    customer_message: str = Field(max_length=20_000)
    currency: str | None = Field(default=None, pattern=r"^[A-Z]{3}$")


@tool(effect="read", timeout_s=10, attempts=5)
async def get_order(order_id: str) -> Json:
    """Look up one order."""
    order = await client.get_order(order_id)
    return {"found": False, "order_id": order_id} if order is None else {"found": True, **order}


@tool(effect="read", timeout_s=10, attempts=5)
async def check_entitlement(order_id: str) -> Json:
    """Ask the shop whether an order may still be refunded."""
    entitlement = await client.get_entitlement(order_id)
    return entitlement or {"order_id": order_id, "entitled": False, "reason": "no such order"}


@tool(effect="read", timeout_s=5)
def compute_refund(
    items: list[Item],
    total_minor: int,
    refunded_minor: int,
    currency: str,
) -> Json:
    """Compute what may be paid back, in minor units of the currency."""
    amount_minor = refundable_minor(items, total_minor, refunded_minor)
    return {
        "amount_minor": amount_minor,
        "currency": currency,
        "display": display(amount_minor, currency),
    }


@tool(
    effect="keyed",
    touches="money",
    requires=("check_entitlement",),
    same=("order_id", "amount_minor", "currency"),
    timeout_s=20,
    attempts=5,
)
async def refund_order(
    order_id: str,
    amount_minor: int,
    currency: str,
    reason: str,
    *,
    operation_id: str,
) -> Json:
    """Pay back an order once."""
    refund = await client.pay_refund(
        {
            "operation_id": operation_id,
            "order_id": order_id,
            "amount_minor": amount_minor,
            "currency": currency,
            "reason": reason,
        },
    )
    # Whether the shop had seen the key before tells of our retries, not of the refund.
    return {name: value for name, value in refund.items() if name != "replayed"}


@tool(effect="once", touches="message", timeout_s=20, attempts=5)
async def notify_customer(
    order_id: str,
    to: str,
    subject: str,
    text: str,
    *,
    operation_id: str,
) -> Json:
    """Send the customer a mail from a template."""
    return await client.send_mail(
        {
            "operation_id": operation_id,
            "order_id": order_id,
            "to": to,
            "subject": subject,
            "text": text,
        },
    )


def plan(context: Any) -> Plan:
    """Decide the next step from what is finished so far."""
    order_id = context.input["order_id"]
    order = context.result("get_order")
    if order is None:
        return Plan.call(get_order, order_id=order_id)
    if not order["found"]:
        return Plan.finish({"outcome": "no such order", "order_id": order_id})
    if context.result("notify_customer") is not None:
        return Plan.finish(_settled(context, order))
    return _plan_refund(context, order)


def _plan_refund(context: Any, order: Json) -> Plan:
    entitlement = context.result("check_entitlement")
    if entitlement is None:
        return Plan.call(check_entitlement, order_id=order["id"])
    if not entitlement["entitled"]:
        return _notify(order, f"we cannot refund this order: {entitlement['reason']}.")
    computed = context.result("compute_refund")
    if computed is None:
        figures = ("items", "total_minor", "refunded_minor", "currency")
        return Plan.call(compute_refund, **{name: order[name] for name in figures})
    return _plan_payment(context, order, computed)


def _plan_payment(context: Any, order: Json, computed: Json) -> Plan:
    if computed["amount_minor"] == 0:
        return _notify(order, "there is nothing left to refund on this order.")
    if context.result("refund_order") is not None:
        return _notify(order, f"we have refunded {computed['display']}.")
    return _settle_currency(context, order) or _refund(context, order, computed)


def _settle_currency(context: Any, order: Json) -> Plan | None:
    """Ask a person where the customer names another currency; None once there is no doubt."""
    paid = order["currency"]
    asked = context.input.get("currency") or paid
    if asked == paid:
        return None
    question = currency_question(order["id"], paid, asked)
    answer = context.answer(question)
    if answer is None:
        return Plan.ask(question)
    if _currency_of(answer) != paid:
        return Plan.finish({"outcome": "not settled: currency", "order_id": order["id"]})
    return None


def currency_question(order_id: str, paid: str, asked: str) -> str:
    """Word the one question this agent has for a person."""
    return (
        f'Order "{order_id}" was paid in {paid}, the customer asks for {asked}. '
        f"In which currency is the refund to be paid? (Only {paid} can be.)"
    )


def _currency_of(answer: object) -> str:
    """Take the answer as a word, or as an object that holds it."""
    word = answer.get("answer", "") if isinstance(answer, dict) else answer
    return str(word).strip().upper()


def _refund(context: Any, order: Json, computed: Json) -> Plan:
    return Plan.call(
        refund_order,
        order_id=order["id"],
        amount_minor=computed["amount_minor"],
        currency=computed["currency"],
        reason=f"request {context.input['request_id']}",
    )


def _notify(order: Json, sentence: str) -> Plan:
    return Plan.call(
        notify_customer,
        order_id=order["id"],
        to=order["email"],
        subject=f"Your order {order['id']}",
        text=f"Dear {order['customer_name']}, {sentence}",
    )


def _settled(context: Any, order: Json) -> Json:
    refund = context.result("refund_order")
    if refund is not None:
        return {"outcome": "refunded", "order_id": order["id"], "refund": refund}
    entitled = context.result("check_entitlement")["entitled"]
    outcome = "nothing to refund" if entitled else "not entitled"
    return {"outcome": outcome, "order_id": order["id"], "refund": None}


aftersales = Agent(
    "aftersales",
    role="You settle after-sales requests: look orders up, refund what is due, tell the customer.",
    description="Looks an order up, refunds what is due once, and tells the customer.",
    tools=[get_order, check_entitlement, compute_refund, refund_order, notify_customer],
    planner=plan,
    input=Request,
    manifest={
        "goal": "Settle the after-sales request",
        "limits": {"steps": 40, "writes": 2, "deadline_s": 86_400},
        "approval": {
            "refund_order": {"waived": NO_APPROVALS},
            "notify_customer": {"waived": NO_APPROVALS},
        },
    },
)
