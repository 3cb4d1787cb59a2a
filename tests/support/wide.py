"""Commits that use every block of the statement at once, so that each guard has all to protect."""

from dataclasses import dataclass
from uuid import UUID

from runtime.core import commands as c
from runtime.core.effects import Effect
from runtime.core.retry import ErrorKind, Failure, RetryPolicy
from runtime.engine.desk import Desk
from runtime.store import inbox
from runtime.store.commits import Attached, Commit, Consumed
from runtime.store.session import execute
from tests.support import work

REVIEW = "SELECT id FROM runtime_review WHERE task_id = %s AND status IN ('open', 'decided')"


@dataclass(frozen=True, slots=True)
class Wide:
    """A commit that is decided and not written."""

    desk: Desk
    step: Commit

    @property
    def task_id(self) -> UUID:
        """The task it belongs to."""
        return self.step.holder.task_id


def ending() -> Wide:
    """Settle a write in doubt by a person's letter, pause, finish: all but a new review item."""
    task_id = _in_doubt()
    review_id = execute(REVIEW, (task_id,))[0][0]
    letter = deliver(task_id, "settle", {"review_id": str(review_id), "decision": "result"})
    desk = work.at_desk(task_id)
    desk.stage(c.Settle(str(review_id), "result", "seen", "ann", result_digest="r", summary="s"))
    desk.stage(c.Hold("wait", "ann"))
    decision = desk.decide(c.Finish("digest-end", "done"))
    attached = Attached(
        result='"paid"',
        external_id="ext-1",
        end_result='"done"',
        end_reason="all paid",
        end_search="paid",
    )
    step = Commit(
        holder=desk.claimed.holder,
        version=desk.version,
        decision=decision,
        attended=desk.attention,
        parks=True,
        dispatches=True,
        attached=attached,
        consumed=(Consumed(letter),),
    )
    return Wide(desk, step)


def question() -> Wide:
    """Give a write up for good and ask a person: opens a review item and parks."""
    desk = work.at_desk()
    decision, attached = work.begin(desk)
    assert desk.write(decision, attached, dispatches=True)
    letter = deliver(desk.claimed.id, "retry", {})
    failure = Failure(ErrorKind.PERMANENT, None, "no such account", "NoAccount", declared=True)
    decision = desk.decide(c.Failed(None, failure, RetryPolicy()))
    step = Commit(
        holder=desk.claimed.holder,
        version=desk.version,
        decision=decision,
        attended=1,
        parks=True,
        dispatches=True,
        deaths=1,
        attached=Attached(same_digest="same", snapshot='{"a":1}'),
        consumed=(Consumed(letter, "not now"),),
    )
    return Wide(desk, step)


def deliver(task_id: UUID, kind: str, payload: object, event_id: str = "1") -> int:
    """Put a letter into the inbox; gives its id."""
    inbox.deliver(task_id, kind, payload, actor="human:ann", source="test", event_id=event_id)
    rows = execute("SELECT max(id) FROM runtime_inbox WHERE task_id = %s", (task_id,))
    return int(rows[0][0])


def _in_doubt() -> UUID:
    desk = work.at_desk()
    decision, attached = work.begin(desk, Effect.ONCE)
    assert desk.write(decision, attached, dispatches=True)
    assert desk.write(desk.decide(c.Doubted("its answer was lost")))
    assert desk.parked
    return desk.claimed.id
