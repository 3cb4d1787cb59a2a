"""Tasks at the places of the machine where its rules begin."""

from runtime.core import commands as c
from runtime.core.effects import MEANINGS, Effect
from runtime.core.events import EventType as E
from runtime.core.retry import ErrorKind, RetryPolicy
from runtime.core.reviews import Kind
from tests.runtime.core.bookkeeping import POLICY, Book, decided, failure

ONE = RetryPolicy(attempts=1)
GAVE_UP = [E.TOOL_CALL_FAILED, E.REVIEW_REQUESTED]
TRIES_AGAIN = [E.TOOL_CALL_FAILED, E.RETRY_SCHEDULED]
DOUBTS = [E.TOOL_CALL_IN_DOUBT, E.REVIEW_REQUESTED]

R, P, L, A = ErrorKind.RETRYABLE, ErrorKind.PERMANENT, ErrorKind.RATE_LIMITED, ErrorKind.AMBIGUOUS


def started() -> Book:
    return Book().do_all(c.Start("w"))


def sent(effect: Effect = Effect.KEYED) -> Book:
    """A task whose call has gone out; reads and local writes go out without an intent."""
    book = started()
    if MEANINGS[effect].leaves_us:
        return book.do_all(c.Begin(decided(effect)))
    return book.do_all(c.PlanCalls((decided(effect),)))


def fails(
    kind: ErrorKind, policy: RetryPolicy = POLICY, *, declared: bool = True, **more: object
) -> c.Failed:
    return c.Failed(None, failure(kind, declared=declared), policy, **more)  # type: ignore[arg-type]


def succeeds(call: c.Decided | None = None) -> c.Succeeded:
    return c.Succeeded(call, "e" * 64, "done", 5)


def only_operation(book: Book) -> str | None:
    return next(iter(book.operations.values()), None)


def in_doubt() -> Book:
    return sent(Effect.ONCE).do_all(c.Doubted("the answer was lost"))


def asked() -> Book:
    return started().do_all(c.AskHuman("which currency?"))


def exhausted() -> Book:
    return sent(Effect.KEYED).do_all(fails(P))


def killed() -> Book:
    return sent(Effect.KEYED).do_all(c.Escalate(Kind.KILLED_WORKER, "it died three times"))


def rejected() -> Book:
    return started().do_all(c.RejectPlan("no such tool"))


def repeated() -> Book:
    return started().do_all(c.Repeats(decided(Effect.KEYED, 2), "0.1.0"))


def unreadable() -> Book:
    return started().do_all(c.Escalate(Kind.CHECKPOINT_UNREADABLE, "its checksum does not match"))


def unsent() -> Book:
    return started().do_all(c.PlanCalls((decided(Effect.KEYED),)))


def retrying() -> Book:
    return sent(Effect.ONCE).do_all(fails(R))


def retrying_unclear() -> Book:
    return sent(Effect.CHECKED).do_all(fails(A))


def ended() -> Book:
    return started().do_all(c.Finish("e" * 64, "done"))
