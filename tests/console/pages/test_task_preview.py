"""What a lever will do is foretold from the checkpoint and the ledger."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from console.pages.task_preview import Standing, preview
from console.queries import EffectLine
from runtime.core.checkpoint import Checkpoint, Pending, Queue, Wait
from runtime.core.effects import Effect
from runtime.core.ledger_words import Word
from runtime.core.states import State

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def effect(word: Word) -> EffectLine:
    return EffectLine(
        id="op_1",
        call_id="0.1.0",
        tool="pay",
        effect="keyed",
        word=word,
        status="confirmed",
        dispatches=1,
        external_id=None,
        epoch=1,
        reserved_at=NOW,
        first_dispatched_at=NOW,
        settled_at=NOW,
        note="",
    )


def pending(kind: Effect = Effect.KEYED, **more: Any) -> Pending:
    return Pending("0.2.0", "pay", kind, "d", 3, operation_id="op_2", **more)


def at(state: State = State.WAITING_TOOL_CALL, **more: Any) -> Checkpoint:
    return Checkpoint(state, 9, **more)


def told(lever: str, checkpoint: Checkpoint | None, *effects: EffectLine, **more: Any) -> str:
    standing = Standing(at=checkpoint, effects=effects, **{"in_hand": False, **more})
    return " ".join(one.text for one in preview(lever, standing))


def test_completed_calls_are_reused_and_never_made_again() -> None:
    said = told("resume", at(done=3, pending=pending()))

    assert "3 completed calls keep their results and are not made again." in said
    assert "pay is called." in said


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (Effect.KEYED, "sent again under the same operation id"),
        (Effect.CHECKED, "its check is asked, and it is called only if not"),
        (Effect.ONCE, "cannot be repeated; a person is asked"),
    ],
)
def test_what_may_have_happened_goes_on_as_its_effect_class_says(kind: Effect, says: str) -> None:
    assert says in told("resume", at(pending=pending(kind, dispatched=True)))


def test_a_pause_waits_for_the_call_under_way() -> None:
    said = told("pause", at(pending=pending(dispatched=True)), in_hand=True)

    assert "pay is under way and reaches its end first" in said


def test_a_cancel_lets_a_call_under_way_reach_its_end() -> None:
    """The worker is not torn off: what it is calling now does not end in doubt."""
    checkpoint = at(pending=pending(dispatched=True), queue=Queue(3, 1, 3))

    said = told("cancel", checkpoint, in_hand=True)

    assert "pay is under way and reaches its end first; its result is kept." in said
    assert "The worker that holds it then ends the task." in said
    assert "2 further calls of its plan are not made." in said
    assert "doubt" not in said
    assert "No effect of it has reached the outside." not in said


def test_a_cancel_tells_of_the_pending_effect_once() -> None:
    mine = replace(effect(Word.IN_DOUBT), id="op_2")

    said = told("cancel", at(pending=pending(dispatched=True)), mine)

    assert said.count("doubt") == 1


def test_a_cancel_names_what_is_dropped_what_stays_and_what_is_in_doubt() -> None:
    wait = Wait("in_doubt", None, "r", NOW.isoformat(), State.WAITING_TOOL_CALL)
    checkpoint = at(
        State.WAITING_HUMAN, pending=pending(dispatched=True), queue=Queue(3, 1, 4), wait=wait
    )

    said = told("cancel", checkpoint, effect(Word.CONFIRMED), effect(Word.IN_DOUBT))

    assert "pay was sent and its outcome is not known: it ends in doubt." in said
    assert "3 further calls of its plan are not made." in said
    assert "The open review is closed as cancelled." in said
    assert "1 effect that happened stays as it is" in said
    assert "1 effect stays in doubt" in said


def test_retrying_what_is_in_doubt_warns_that_it_may_happen_twice() -> None:
    wait = Wait("in_doubt", None, "r", NOW.isoformat(), State.WAITING_TOOL_CALL)

    said = told("retry", at(State.WAITING_HUMAN, pending=pending(doubted=True), wait=wait))

    assert "it happens twice" in said


def test_a_retry_drops_the_back_off_and_keeps_the_operation_id() -> None:
    wait = Wait("retry", NOW.isoformat(), None, NOW.isoformat(), State.WAITING_TOOL_CALL)

    said = told("retry", at(State.RETRYING, pending=pending(attempt=1), wait=wait))

    assert "The rest of the back-off is dropped." in said
    assert "called again, attempt 2, under the same operation id" in said


@pytest.mark.parametrize("lever", ["pause", "resume", "retry", "cancel"])
def test_nothing_is_foretold_from_a_checkpoint_that_cannot_be_read(lever: str) -> None:
    assert "cannot be read" in told(lever, None)


@pytest.mark.parametrize("lever", ["pause", "resume", "retry", "cancel"])
@pytest.mark.parametrize("state", [state for state in State if "terminated" not in state])
def test_every_lever_says_something_in_every_state(lever: str, state: State) -> None:
    assert told(lever, at(state, done=1))
