"""The way out for a task whose checkpoint and journal are both unreadable: its end.

Nothing can be decided on such a task, so only an abort or a cancel is carried out.
"""

from runtime.core.payloads import CODEC
from runtime.store.claims import Claimed, release
from runtime.store.inbox import Letter, set_aside, waiting
from runtime.store.session import run


def obey(claimed: Claimed) -> None:
    """Carry out an abort or a cancel; refuse everything else.

    Must hold: the claim, in an open transaction.
    """
    for letter in waiting(claimed.id):
        if letter.kind == "cancel" or letter.payload.get("decision") == "abort":
            _end(claimed, letter)
            return
        set_aside(letter, "the checkpoint is unreadable: the task can only be aborted")
    release(claimed.holder, claimed.attention)


def _end(claimed: Claimed, letter: Letter) -> None:
    run(
        "end_broken",
        {
            "task": claimed.id,
            "owner": claimed.owner,
            "epoch": claimed.epoch,
            "by": letter.actor,
            "reason": str(letter.payload.get("reason", "")),
            "letter": letter.id,
            "codec": CODEC,
        },
    )
