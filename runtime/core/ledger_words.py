"""One word for people per standing of an effect: what happened, may happen again, or nobody knows.

Pure; the queries use it, so that every screen and command says the same.
"""

from enum import StrEnum


class Word(StrEnum):
    """Where an effect stands."""

    PLANNED = "planned"
    """Decided, nothing has gone out."""
    RUNNING = "running"
    """A call is out and its answer is awaited."""
    RETRYING = "retrying"
    """An attempt failed; it is tried again under the same id."""
    CONFIRMED = "confirmed"
    """It happened: the tool said so."""
    FOUND = "found"
    """It happened: a check or a person found it out."""
    GIVEN_UP = "given up"
    """It did not happen and is not tried again."""
    IN_DOUBT = "in doubt"
    """Nobody knows whether it happened."""
    UNDONE = "undone"
    """It happened and was compensated."""


def word(status: str, dispatches: int, *, is_pending: bool, ended: bool) -> Word:
    """Give the word for a ledger entry.

    Args:
        status: As the ledger has it.
        dispatches: How often it went out.
        is_pending: It is the task's pending call.
        ended: The task has ended.
    """
    waits = is_pending and not ended
    settled = _SETTLED.get(status)
    if settled is not None:
        return settled
    if status == "reserved":
        return Word.GIVEN_UP if ended else Word.PLANNED
    if status == "failed":
        return Word.RETRYING if waits else Word.GIVEN_UP
    if not waits:
        # Nobody awaits the answer any more: that is doubt, whatever the row still says.
        return Word.IN_DOUBT
    return Word.RETRYING if dispatches > 1 else Word.RUNNING


_SETTLED = {
    "confirmed": Word.CONFIRMED,
    "reconciled": Word.FOUND,
    "compensated": Word.UNDONE,
    "in_doubt": Word.IN_DOUBT,
}
