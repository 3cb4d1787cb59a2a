"""The sentences of review items, made by the server; the agent's words are quoted.

Pure.  `Asked` keeps the two apart, so that a template never lets a foreign text pass as ours.
"""

from dataclasses import dataclass

from console.pages.words import actor
from runtime.api import ReviewView, SignalboxError
from runtime.core.errors import ReviewClosed, SituationMoved
from runtime.core.reviews import Kind


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person is asked.

    Args:
        title: Our sentence.
        quote: What the agent or a tool said, to be shown as theirs; empty for nothing.
        because: Our reason why it needs a person.
    """

    title: str
    quote: str
    because: str


def ask(item: ReviewView) -> Asked:
    """Word an item."""
    tool = item.tool or "a call"
    match item.kind:
        case Kind.QUESTION:
            title, because = "The agent has a question", "The agent cannot go on without an answer."
        case Kind.IN_DOUBT:
            title = f"Did {tool} happen?"
            because = (
                "The call went out and no answer came back. It is not made again by itself, so "
                "that it cannot happen twice."
            )
        case Kind.KILLED_WORKER:
            title = f"{tool} ended its worker's process again and again"
            because = "The step is set aside, so that it cannot take other tasks down with it."
        case Kind.RETRIES_EXHAUSTED:
            title, because = f"{tool} failed at every attempt", "No attempt is left."
        case Kind.PLAN_INVALID:
            title, because = "The plan cannot be run", "Nothing of it was done."
        case Kind.REPEATED_WRITE:
            title = f"Do {tool} a second time?"
            because = "This task has confirmed the same effect before."
        case Kind.CHECKPOINT_UNREADABLE:
            title = "The task's stored state cannot be trusted"
            because = "Its checkpoint is damaged; the events it was made from can be read."
        case _:
            title, because = "A decision is needed", ""
    return Asked(title, item.question or item.why, because)


def who_moved(error: SignalboxError | None, now: ReviewView) -> str:
    """Say what moved, and who moved it, since an item was shown."""
    if isinstance(error, ReviewClosed):
        return _closed(error, now)
    if isinstance(error, SituationMoved):
        if now.status != "open":
            return _settled(now)
        return (
            f"The task has moved on since this page was shown (situation {error.expected}, now "
            f"{error.actual}). What you see below is how it stands now; nothing was decided."
        )
    return str(error or "")


def _closed(error: ReviewClosed, now: ReviewView) -> str:
    if now.decided_by:
        return _settled(now)
    return f"It was closed as {error.outcome} by {actor(error.closed_by)}; nothing was decided."


def _settled(now: ReviewView) -> str:
    if now.decided_by and now.decision:
        return (
            f"{actor(now.decided_by)} decided '{now.decision}' first"
            f"{f': {now.reason}' if now.reason else ''}. Your decision was not taken."
        )
    return f"It is {now.status} by now; your decision was not taken."
