"""The levers: what people want of a task is obeyed at once when no worker holds it.

The task is claimed for the moment it takes, in one transaction with the commit: a crash in the
middle leaves everything as it was, with the command still in the inbox.  When a worker holds the
task, it obeys at its next commit; so the levers work with no worker alive.
"""

from uuid import UUID

from django.db import transaction

from runtime.core import commands as c
from runtime.core.errors import CheckpointUnreadable
from runtime.core.reviews import Decision, Kind
from runtime.core.states import RUNNABLE, TERMINAL
from runtime.engine.desk import Desk, at_once
from runtime.engine.letters import obey
from runtime.engine.loading import sit_down, sit_down_anyway
from runtime.engine.ports import Ports
from runtime.store import broken, claims
from runtime.store.claims import Claimed
from runtime.store.inbox import Letter
from runtime.store.session import AGAIN, execute

_TRIES = 3


def apply_now(ports: Ports, task_id: UUID) -> bool:
    """Obey a task's inbox if nobody holds the task.

    Returns:
        True if the inbox was obeyed; False if a worker holds the task and will do it.
    """
    for _ in range(_TRIES - 1):
        try:
            return _apply(ports, task_id)
        except AGAIN:
            # Rolled back for the sake of others, with nothing written: the whole lever again.
            continue
    return _apply(ports, task_id)


def _apply(ports: Ports, task_id: UUID) -> bool:
    with transaction.atomic():
        claimed = claims.claim_one(ports.chance.uuid7(ports.clock.now()), task_id)
        if claimed is None:
            return False
        try:
            desk: Desk | None = sit_down(ports, claimed, "system")
        except CheckpointUnreadable as error:
            desk = _from_events(ports, claimed, str(error))
        if desk is None:
            # Nothing can be decided on it; only its end is open to people.
            broken.obey(claimed)
            return True
        at_once(obey(desk), ports.books)
        if not desk.parked and desk.at.state not in TERMINAL:
            _give_back(desk)
        return True


def _from_events(ports: Ports, claimed: Claimed, why: str) -> Desk | None:
    """Load a task whose checkpoint is unreadable and ask a person about it, unless it ends anyway.

    What somebody decided on the state that cannot be trusted is not carried out: they are asked
    anew once it is rebuilt.
    """
    desk = sit_down_anyway(ports, claimed, "system")
    if desk is not None and not any(_ends(letter) for letter in ports.books.letters(claimed.id)):
        desk.write(desk.decide(c.Escalate(Kind.CHECKPOINT_UNREADABLE, why)))
    return desk


def _ends(letter: Letter) -> bool:
    return letter.kind == "cancel" or letter.payload.get("decision") == Decision.ABORT


def _give_back(desk: Desk) -> None:
    if desk.at.state in RUNNABLE and not desk.held:
        desk.release()
    else:
        # The row is locked by this transaction: nobody can have raised the attention since.
        desk.park()


def hear(ports: Ports) -> None:
    """Set the clock by the database, for processes that have no lease to renew."""
    ports.clock.hear(execute("SELECT runtime_now()")[0][0])
