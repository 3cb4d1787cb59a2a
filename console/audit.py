"""The audit's one way in: what somebody did, or was kept from doing, in a row of its own.

Called by `console.actions` in the transaction of the thing itself where it was done, and after it
where it was refused.  Never holds a payload.
"""

from dataclasses import dataclass
from typing import Final

from console.models import AuditEntry

LONGEST: Final = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Somebody's attempt.

    Args:
        actor: Who, like ``human:ann``.
        action: What, like ``task.pause``.
        object: To what, like ``task:0197…``.
        reason: In the person's words.
        request_id: Joins it to the logs.
    """

    actor: str
    action: str
    object: str
    reason: str = ""
    request_id: str = ""


def record(act: Act, result: str, detail: str = "") -> None:
    """Add one entry.

    Args:
        act: What was attempted.
        result: ``done``, ``denied``, ``conflict``, ``refused`` or ``failed``.
        detail: What the system said.
    """
    AuditEntry(
        actor=act.actor,
        action=act.action,
        object=act.object,
        result=result,
        reason=_storable(act.reason),
        detail=_storable(detail),
        request_id=act.request_id,
    ).save(force_insert=True)


def _storable(text: str) -> str:
    return text.replace("\x00", "\ufffd")[:LONGEST]
