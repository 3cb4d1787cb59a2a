"""The legal transitions, as data.

One row per event type: the states it may come in, the states it may lead to, and whether it moves
the ``situation``.  The machine, the diagram, ``manage.py states`` and the model-based tests all
read this table; nothing else decides what is legal.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from runtime.core.events import EventType as E
from runtime.core.states import ACTIVE, LIVE, TERMINAL
from runtime.core.states import State as S  # noqa: N817 (short, so that a row stays a row)


@dataclass(frozen=True, slots=True)
class Row:
    """What one event type may do.

    ``sources`` holds None for the event that creates the task.  An empty ``targets`` means that
    the state stays as it is.  ``only`` names the sources that lead to fewer states than the rest.
    ``moves`` tells that the situation always moves with it; begin and end of a write move it as
    well, which only the machine can see.
    """

    event: E
    sources: frozenset[S | None]
    targets: frozenset[S]
    moves: bool
    says: str
    only: Mapping[S, frozenset[S]] = field(default_factory=dict, hash=False)

    def targets_from(self, source: S | None) -> frozenset[S]:
        """Give the states it may lead to from one of its sources."""
        if source is None:
            return self.targets
        if source in self.only:
            return self.only[source]
        return self.targets or frozenset({source})


def _row(  # noqa: PLR0913 (the columns of the table)
    event: E,
    sources: set[S] | frozenset[S] | None,
    targets: set[S] | frozenset[S],
    says: str,
    *,
    moves: bool = False,
    only: Mapping[S, set[S]] | None = None,
) -> Row:
    origin: frozenset[S | None] = frozenset({None}) if sources is None else frozenset(sources)
    fewer = {source: frozenset(states) for source, states in (only or {}).items()}
    return Row(event, origin, frozenset(targets), moves, says, fewer)


_STAYS: set[S] = set()
_RESUMED = {S.INITIALIZED, S.PLANNING, S.WAITING_TOOL_CALL, S.COMPENSATING}
_CALLING = {S.PLANNING, S.WAITING_TOOL_CALL}

ROWS: tuple[Row, ...] = (
    _row(E.TASK_CREATED, None, {S.INITIALIZED}, "somebody asked for it"),
    _row(E.TASK_STARTED, {S.INITIALIZED}, {S.PLANNING}, "a worker took it the first time"),
    _row(E.MODEL_CALLED, {S.PLANNING}, _STAYS, "the model answered"),
    _row(
        E.PLAN_GENERATED,
        {S.PLANNING},
        {S.PLANNING, S.WAITING_TOOL_CALL},
        "the planner decided on calls",
    ),
    _row(E.PLAN_REJECTED, {S.PLANNING}, _STAYS, "the plan was not one that may run"),
    _row(
        E.TOOL_CALL_STARTED,
        _CALLING | {S.RETRYING},
        {S.WAITING_TOOL_CALL},
        "the intent was written; the call goes out now",
    ),
    _row(
        E.TOOL_CALL_SUCCEEDED,
        _CALLING,
        _CALLING,
        "the tool confirmed its result",
        # A call that was never pending belongs to no plan that could name a next one.
        only={S.PLANNING: {S.PLANNING}},
    ),
    _row(
        E.TOOL_CALL_FAILED,
        _CALLING | {S.RETRYING},
        {S.WAITING_TOOL_CALL},
        "an attempt failed, or the check of one",
    ),
    _row(
        E.TOOL_CALL_CANCELLED,
        ACTIVE - {S.INITIALIZED},
        _STAYS,
        "a decided call will not be made any more",
    ),
    _row(
        E.TOOL_CALL_IN_DOUBT,
        {S.WAITING_TOOL_CALL, S.RETRYING, S.WAITING_HUMAN},
        _STAYS,
        "nobody knows whether it happened",
    ),
    _row(
        E.TOOL_CALL_RECONCILED,
        # Never while a person is asked: the item would stay open behind a task that went on.
        {S.WAITING_TOOL_CALL, S.RETRYING},
        _CALLING,
        "it was found out whether it happened",
        moves=True,
    ),
    _row(
        E.RETRY_SCHEDULED,
        _CALLING | {S.RETRYING},
        {S.RETRYING},
        "the next attempt has its time",
    ),
    _row(
        E.EXTERNAL_EVENT_RECEIVED,
        {S.WAITING_EXTERNAL_EVENT},
        {S.PLANNING},
        "the event it waited for came",
        moves=True,
    ),
    _row(
        E.WAIT_STARTED,
        {S.PLANNING},
        {S.WAITING_EXTERNAL_EVENT, S.WAITING_TIMER, S.WAITING_CHILDREN},
        "it waits",
        moves=True,
    ),
    _row(
        E.WAIT_TIMED_OUT,
        {S.WAITING_EXTERNAL_EVENT, S.WAITING_CHILDREN},
        {S.PLANNING},
        "the wait's deadline passed",
        moves=True,
    ),
    _row(E.TIMER_FIRED, {S.WAITING_TIMER}, {S.PLANNING}, "the sleep is over", moves=True),
    _row(E.CHILD_SPAWNED, {S.PLANNING}, _STAYS, "a sub-task was given to another agent"),
    _row(
        E.CHILD_FINISHED,
        LIVE,
        _STAYS,
        "a sub-task ended",
        only={S.WAITING_CHILDREN: {S.WAITING_CHILDREN, S.PLANNING}},
    ),
    _row(
        E.REVIEW_REQUESTED,
        ACTIVE - {S.WAITING_HUMAN},
        {S.WAITING_HUMAN},
        "a person is asked",
        moves=True,
    ),
    _row(
        E.REVIEW_CLOSED,
        {S.WAITING_HUMAN},
        _RESUMED | {S.WAITING_HUMAN},
        "the review item is settled",
        moves=True,
    ),
    _row(E.HUMAN_APPROVED, {S.WAITING_HUMAN}, _STAYS, "a person approved"),
    _row(E.HUMAN_REJECTED, {S.WAITING_HUMAN}, _STAYS, "a person rejected"),
    _row(E.HUMAN_ANSWERED, {S.WAITING_HUMAN}, _STAYS, "a person answered"),
    _row(E.TOKEN_ISSUED, {S.WAITING_TOOL_CALL, S.COMPENSATING}, _STAYS, "a write token was minted"),
    _row(E.TOKEN_CONSUMED, {S.WAITING_TOOL_CALL, S.COMPENSATING}, _STAYS, "a write token was used"),
    _row(E.TOKEN_REFUSED, LIVE, _STAYS, "a write token was refused"),
    _row(E.MEMORY_RECALLED, {S.PLANNING}, _STAYS, "memory was merged into the context"),
    _row(E.LOOP_WARNED, _CALLING, _STAYS, "the planner was told that it repeats itself"),
    _row(E.LOOP_DETECTED, _CALLING, _STAYS, "it repeats itself and is stopped"),
    _row(E.BUDGET_EXHAUSTED, ACTIVE, _STAYS, "a limit is used up"),
    _row(E.LIMIT_RAISED, ACTIVE, _STAYS, "a person raised a limit"),
    _row(E.CONFIG_DRIFT_DETECTED, LIVE, _STAYS, "what is deployed differs from what was pinned"),
    _row(E.CHECKPOINT_UNREADABLE, LIVE, _STAYS, "the checkpoint cannot be trusted"),
    _row(
        E.STEP_SKIPPED,
        _CALLING | {S.RETRYING},
        _CALLING,
        "a person skipped a step",
        moves=True,
        only={S.PLANNING: {S.PLANNING}},
    ),
    _row(E.BRANCH_OPENED, ACTIVE, {S.PLANNING}, "it goes on from an earlier point", moves=True),
    _row(
        E.COMPENSATION_STARTED,
        ACTIVE - {S.INITIALIZED},
        {S.COMPENSATING},
        "an effect is being undone",
        moves=True,
    ),
    _row(E.COMPENSATION_SUCCEEDED, {S.COMPENSATING}, _STAYS, "an effect was undone", moves=True),
    _row(E.COMPENSATION_FAILED, {S.COMPENSATING}, _STAYS, "undoing an effect failed", moves=True),
    _row(E.MEMORY_PROPOSED, LIVE, _STAYS, "something worth remembering was found"),
    _row(E.MEMORY_WRITTEN, LIVE, _STAYS, "something was remembered"),
    _row(E.HOLD_PLACED, LIVE, _STAYS, "it is paused", moves=True),
    _row(E.HOLD_RELEASED, LIVE, _STAYS, "it is resumed", moves=True),
    _row(E.CANCEL_REQUESTED, LIVE, _STAYS, "somebody wants it cancelled"),
    _row(E.ACCEPTANCE_FAILED, {S.PLANNING}, _STAYS, "the result did not pass its checks"),
    _row(
        E.TASK_COMPLETED,
        {S.PLANNING, S.CONSOLIDATING},
        {S.CONSOLIDATING, S.TERMINATED_SUCCESS},
        "the goal was reached",
        moves=True,
        only={S.CONSOLIDATING: {S.TERMINATED_SUCCESS}},
    ),
    _row(E.TASK_FAILED, LIVE, {S.TERMINATED_FAILED}, "it cannot reach its goal", moves=True),
    _row(E.TASK_ABORTED, LIVE, {S.TERMINATED_ABORTED}, "somebody ended it", moves=True),
)

TABLE: dict[E, Row] = {row.event: row for row in ROWS}


def is_legal(event: E, source: S | None, target: S) -> bool:
    """Tell whether an event may lead from one state to another."""
    row = TABLE[event]
    return source in row.sources and target in row.targets_from(source)


def edges() -> list[tuple[S | None, E, S]]:
    """List every legal (source, event, target), in the table's order, for diagrams and tests."""
    found: list[tuple[S | None, E, S]] = []
    for row in ROWS:
        for source in sorted(row.sources, key=str):
            targets = sorted(row.targets_from(source))
            found.extend((source, row.event, target) for target in targets)
    return found


# A row that leaves a terminal state would let something reopen a settled task.
assert not any(row.sources & TERMINAL for row in ROWS)  # noqa: S101 (a law of the table itself)
