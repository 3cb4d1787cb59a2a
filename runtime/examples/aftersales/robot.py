"""A robot person who answers review items truthfully from the shop's own books.

For drills and demos: it never guesses and never looks into the runtime. Where no truthful answer is
among the allowed ones it says so.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypedDict

type Json = dict[str, Any]

#: Which list of the books shows the effect of a tool.
BOOK_OF_TOOL = {"refund_order": "refunds", "notify_customer": "mails", "print_label": "labels"}


class Decision(TypedDict):
    """What the robot decides, in the words of `review decide`."""

    decision: str
    reason: str
    arguments: Json


class Books(Protocol):
    """What the robot must be able to look up; `control.ShopDesk` is one."""

    def order(self, order_id: str) -> Json | None:
        """Return an order, or None."""

    def effects_of(self, operation_id: str) -> Json:
        """Return what an operation left in the books."""

    def books(self) -> Json:
        """Return all books."""


class CannotAnswerError(Exception):
    """No truthful answer is possible, or not yet; the message says why."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(kind, why)
        self.kind = kind
        self.why = why

    def __str__(self) -> str:
        return f"the robot cannot answer a review of kind {self.kind}: {self.why}"


def answer(review: Mapping[str, Any], books: Books) -> Decision:
    """Decide one review item.

    Args:
        review: `kind`, and as far as they apply `tool`, `operation_id`, `arguments` (of the call),
            `question` and `allowed` (the decisions it may choose from).
        books: the shop's books.

    Raises:
        CannotAnswerError: the outcome is still open at the shop, or no allowed answer is true.
    """
    decided = _decide(review, books)
    allowed: Sequence[str] = review.get("allowed") or [decided["decision"]]
    if decided["decision"] not in allowed:
        why = f"{decided['decision']} would be true, but only {', '.join(allowed)} is allowed"
        raise CannotAnswerError(str(review["kind"]), why)
    return decided


def _decide(review: Mapping[str, Any], books: Books) -> Decision:
    match review["kind"]:
        case "in_doubt" | "killed_worker" | "retries_exhausted":
            return _by_operation(review, books)
        case "repeated_write":
            return _by_order(review, books)
        case "question":
            return _about_currency(review, books)
        case "plan_invalid":
            return _decision("abort", "a planner that cannot plan will not settle the request")
        case "checkpoint_unreadable":
            return _decision("rebuild", "the events tell the state")
        case kind:
            raise CannotAnswerError(str(kind), "this kind is not known to it")


def _by_operation(review: Mapping[str, Any], books: Books) -> Decision:
    """Look in the books whether the call in question had its effect."""
    book = BOOK_OF_TOOL.get(str(review.get("tool")))
    operation_id = review.get("operation_id")
    if book is None or not operation_id:
        return _decision("retry", "this call changes nothing at the shop")
    effects = books.effects_of(str(operation_id))
    if effects["pending"]:
        raise CannotAnswerError(str(review["kind"]), "the shop is still at work on the call")
    if effects[book]:
        result = tool_result(book, effects[book][0])
        return _decision("result", f"the shop's books show it among the {book}", result=result)
    return _decision("retry", f"the shop's books show nothing among the {book}")


def _by_order(review: Mapping[str, Any], books: Books) -> Decision:
    """Give the earlier effect on the same order as the result: nobody wants a second one."""
    book = BOOK_OF_TOOL.get(str(review.get("tool")), "")
    order_id = (review.get("arguments") or {}).get("order_id")
    rows = [row for row in books.books().get(book, ()) if row["order_id"] == order_id]
    if rows:
        result = tool_result(book, rows[-1])
        return _decision("result", "it was done before and is wanted once", result=result)
    return _decision("retry", "the shop's books show no earlier one")


def _about_currency(review: Mapping[str, Any], books: Books) -> Decision:
    """Answer the agent's one question, in which currency to refund, from the order itself."""
    order_id = (review.get("arguments") or {}).get("order_id")
    if order_id is None:
        # The question names its order in quotation marks.
        parts = str(review.get("question", "")).split('"')
        order_id = parts[1] if len(parts) > 2 else ""  # noqa: PLR2004 - before, inside, after
    order = books.order(str(order_id))
    if order is None:
        raise CannotAnswerError(str(review["kind"]), f"the shop has no order {order_id!r}")
    return _decision("answer", "so it stands in the order", answer=order["currency"])


def tool_result(book: str, row: Json) -> Json:
    """Say what the tool would have returned for an effect that stands in the books."""
    if book == "refunds":
        names = ("operation_id", "order_id", "amount_minor", "currency")
        return {"refund_id": row["id"], "status": "settled"} | {name: row[name] for name in names}
    if book == "mails":
        return {"mail_id": row["id"], "status": "sent"}
    return {"label_id": row["id"], "status": "printed"}


def _decision(decision: str, reason: str, **arguments: object) -> Decision:
    return {"decision": decision, "reason": reason, "arguments": arguments}
