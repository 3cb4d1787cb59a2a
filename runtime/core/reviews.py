"""The kinds of review item and what a person may decide on each, as data."""

from enum import StrEnum


class Kind(StrEnum):
    """Why a person is asked."""

    QUESTION = "question"
    IN_DOUBT = "in_doubt"
    KILLED_WORKER = "killed_worker"
    RETRIES_EXHAUSTED = "retries_exhausted"
    PLAN_INVALID = "plan_invalid"
    REPEATED_WRITE = "repeated_write"
    CHECKPOINT_UNREADABLE = "checkpoint_unreadable"


class Decision(StrEnum):
    """What a person can decide."""

    ANSWER = "answer"
    RETRY = "retry"
    RESULT = "result"
    REBUILD = "rebuild"
    ABORT = "abort"


ALLOWED: dict[Kind, tuple[Decision, ...]] = {
    Kind.QUESTION: (Decision.ANSWER, Decision.ABORT),
    Kind.IN_DOUBT: (Decision.RESULT, Decision.RETRY, Decision.ABORT),
    Kind.KILLED_WORKER: (Decision.RETRY, Decision.RESULT, Decision.ABORT),
    Kind.RETRIES_EXHAUSTED: (Decision.RETRY, Decision.RESULT, Decision.ABORT),
    Kind.PLAN_INVALID: (Decision.RETRY, Decision.ABORT),
    Kind.REPEATED_WRITE: (Decision.RETRY, Decision.RESULT, Decision.ABORT),
    Kind.CHECKPOINT_UNREADABLE: (Decision.REBUILD, Decision.ABORT),
}

MEANING: dict[tuple[Kind, Decision], str] = {
    (Kind.QUESTION, Decision.ANSWER): "the answer goes to the planner",
    (Kind.IN_DOUBT, Decision.RESULT): "it happened; this is its result",
    (Kind.IN_DOUBT, Decision.RETRY): "it did not happen; call again",
    (Kind.KILLED_WORKER, Decision.RETRY): "try once more, in a process of its own",
    (Kind.KILLED_WORKER, Decision.RESULT): "do not run it; take this result",
    (Kind.RETRIES_EXHAUSTED, Decision.RETRY): "start over with fresh attempts",
    (Kind.RETRIES_EXHAUSTED, Decision.RESULT): "do not run it; take this result",
    (Kind.PLAN_INVALID, Decision.RETRY): "let the planner decide again",
    (Kind.REPEATED_WRITE, Decision.RETRY): "do it again: a second effect is wanted",
    (Kind.REPEATED_WRITE, Decision.RESULT): "do not do it again; take this result",
    (Kind.CHECKPOINT_UNREADABLE, Decision.REBUILD): "go on from the state folded from the events",
}


def meaning(kind: Kind, decision: Decision) -> str:
    """Say what a decision does, in words for the person who takes it."""
    return MEANING.get((kind, decision), "the task ends as aborted")
