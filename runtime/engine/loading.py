"""Loading: a task that was just claimed becomes a desk, or a question to a person."""

import logging
from functools import lru_cache
from typing import Any, cast

from runtime.core import checkpoint as cp
from runtime.core import commands as c
from runtime.core.apply import fold
from runtime.core.checkpoint import Checkpoint
from runtime.core.errors import CheckpointUnreadable, SignalboxError
from runtime.core.manifest import Manifest, from_pinned
from runtime.core.payloads import decode
from runtime.core.reviews import Kind
from runtime.engine.context import Finished
from runtime.engine.desk import Desk
from runtime.engine.ports import Ports
from runtime.store.claims import SUSPECT_DEATHS, Claimed
from runtime.store.tasks import spec_of

_LOG = logging.getLogger("runtime.desk")


def sit_down(ports: Ports, claimed: Claimed, actor: str) -> Desk:
    """Load a task that was just claimed.

    Raises:
        CheckpointUnreadable: The checkpoint is damaged, or does not fit the last completed call.
    """
    at = cp.decode(claimed.id, claimed.checkpoint, claimed.checkpoint_sum)
    return _desk(ports, claimed, actor, at, verified=True)


def sit_down_anyway(ports: Ports, claimed: Claimed, actor: str) -> Desk | None:
    """Load a task whose checkpoint is unreadable: from its events; None if they are damaged too."""
    try:
        at = fold(ports.books.journal(claimed.id))
    except SignalboxError:
        _LOG.exception("task %s: the journal cannot be folded", claimed.id)
        return None
    return _desk(ports, claimed, actor, at, verified=False)


def _desk(
    ports: Ports,
    claimed: Claimed,
    actor: str,
    at: Checkpoint,
    *,
    verified: bool,
) -> Desk:
    books = ports.books
    spec = books.spec(claimed.id) if claimed.asked is None else spec_of(claimed.asked)
    # Most claims are of fresh tasks: what cannot be there yet is not asked for.
    rows = books.results(claimed.id) if at.done else []
    chain = rows[-1].chain if rows else ""
    if verified and (at.chain != chain or at.seq != claimed.version):
        raise CheckpointUnreadable(str(claimed.id), "it does not fit the last completed call")
    calls = [
        Finished(row.call_id, row.tool, row.outcome, row.result, row.codec, row.summary)
        for row in rows
    ]
    return Desk(
        ports=ports,
        claimed=claimed,
        actor=actor,
        at=at,
        input=spec.input,
        pinned=_pinned(spec.pinned_text, spec.codec),
        manifest=_manifest(spec.pinned_text, spec.codec),
        calls=calls,
        answers=books.answers(claimed.id) if at.situation > 1 else [],
        made=books.made(claimed.id) if at.writes else {},
        key=books.digest_key(claimed.namespace),
        version=claimed.version,
        attention=claimed.attention,
        attended=claimed.attended,
        held=claimed.held,
        deaths=claimed.deaths,
    )


@lru_cache(maxsize=256)
def _pinned(text: str, codec: str) -> dict[str, Any]:
    """Read a pinned document; thousands of tasks share a few of them."""
    return cast("dict[str, Any]", decode(text, codec))


@lru_cache(maxsize=256)
def _manifest(text: str, codec: str) -> Manifest:
    return from_pinned(_pinned(text, codec))


def escalation(claimed: Claimed) -> c.Escalate | None:
    """Tell whether a person must look before anything else is done with a claimed task."""
    if claimed.deaths <= SUSPECT_DEATHS:
        return None
    why = f"its step ended the worker's process {claimed.deaths} times, the last time on its own"
    return c.Escalate(Kind.KILLED_WORKER, why)
