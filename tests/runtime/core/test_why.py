"""One sentence answers "why is it not moving?" for every state and every cause there is."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from runtime.core.reviews import Kind
from runtime.core.states import LIVE, State
from runtime.core.why import Asked, Facts, Hold, Holder, Resting, sentence

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def say(state: State = State.PLANNING, **parts: Any) -> str:
    base: dict[str, Any] = {
        "state": state,
        "now": NOW,
        "moved_at": ago(12),
        "agent": "clerk",
        "queue": "default",
        "due_at": ago(3),
    }
    return sentence(Facts(**(base | parts)))


def holder(**parts: Any) -> Holder:
    base: dict[str, Any] = {
        "host": "box",
        "pid": 7,
        "state": "running",
        "renewed_at": ago(2),
        "expires_at": later(13),
    }
    return Holder(**(base | parts))


def asked(kind: str = "question", **parts: Any) -> Asked:
    base: dict[str, Any] = {
        "id": "r-1",
        "kind": kind,
        "why": "the connection was lost.",
        "question": "",
        "status": "open",
        "at": ago(180),
    }
    return Asked(**(base | parts))


ENDED = {"due_at": None, "finished_at": ago(240)}
HUMAN = {"due_at": None}
HOLD = Hold(by="human:ann", reason="lunch", at=ago(180))

CASES: dict[str, tuple[str, str]] = {
    # --- ended
    "success": (
        say(State.TERMINATED_SUCCESS, reason="{paid: A1}", **ENDED),
        "It reached its goal 4 min ago: {paid: A1}.",
    ),
    "failure": (
        say(State.TERMINATED_FAILED, reason="its deadline passed", **ENDED),
        "It failed 4 min ago: its deadline passed.",
    ),
    "aborted": (
        say(State.TERMINATED_ABORTED, reason="cancelled by human:ann: enough.", **ENDED),
        "It was ended 4 min ago: cancelled by human:ann: enough.",
    ),
    # --- paused
    "paused": (say(hold=HOLD), "human:ann paused it 3 min ago: lunch."),
    "paused without a word": (
        say(hold=Hold(by="", reason="", at=ago(180))),
        "Somebody paused it 3 min ago.",
    ),
    "paused while a worker is at it": (
        say(hold=HOLD, holder=holder()),
        "human:ann paused it 3 min ago: lunch; worker box:7 is still finishing the step under way.",
    ),
    "paused while its worker is dead": (
        say(hold=HOLD, holder=holder(state="dead")),
        "human:ann paused it 3 min ago: lunch.",
    ),
    "paused while a person is asked": (
        say(State.WAITING_HUMAN, hold=HOLD, asked=asked()),
        "human:ann paused it 3 min ago: lunch.",
    ),
    # --- in a worker's hands
    "starting": (
        say(State.INITIALIZED, holder=holder()),
        "The worker box:7 is starting it, for 12 s now.",
    ),
    "planning": (
        say(holder=holder()),
        "The worker box:7 is deciding on its next step, for 12 s now.",
    ),
    "calling": (
        say(State.WAITING_TOOL_CALL, holder=holder(), tool="pay"),
        "The worker box:7 is calling pay, for 12 s now.",
    ),
    "calling again": (
        say(State.WAITING_TOOL_CALL, holder=holder(), tool="pay", attempt=1),
        "The worker box:7 is calling pay (attempt 2), for 12 s now.",
    ),
    "about to retry": (
        say(State.RETRYING, holder=holder(), tool="pay"),
        "The worker box:7 is about to call pay again, for 12 s now.",
    ),
    "draining": (
        say(State.WAITING_TOOL_CALL, holder=holder(state="draining"), tool="pay"),
        "The worker box:7 is shutting down and gives it back after it has finished calling pay.",
    ),
    "worker silent": (
        say(holder=holder(renewed_at=ago(90), expires_at=ago(75))),
        (
            "The worker box:7 that holds it has been silent for 2 min and its lease ran out; "
            "the sweep gives it to another worker."
        ),
    ),
    "worker dead": (
        say(holder=holder(state="dead", death="its process is gone")),
        "The worker box:7 that held it is dead (its process is gone); the sweep frees it.",
    ),
    "worker stopped": (
        say(holder=holder(state="stopped")),
        "The worker box:7 that held it is stopped; the sweep frees it.",
    ),
    "worker unknown": (
        say(holder=Holder()),
        "Its worker is not known any more; the sweep frees it.",
    ),
    # --- people
    "question": (
        say(State.WAITING_HUMAN, asked=asked(question="Which\ncurrency?"), **HUMAN),
        "It has waited 3 min for a person to answer its question: Which currency?",
    ),
    "decided": (
        say(
            State.WAITING_HUMAN,
            asked=asked(status="decided", decision="retry", decided_by="human:ann", decided_at=NOW),
            **HUMAN,
        ),
        "human:ann decided 'retry' less than a second ago; a worker or the sweep carries it out.",
    ),
    "no item": (
        say(State.WAITING_HUMAN, **HUMAN),
        "It waits for a person, but no review item is open: run `manage.py verify` on it.",
    ),
    # --- waiting for a time
    "later start": (
        say(State.INITIALIZED, due_at=later(7200)),
        "It starts in 2 h, as was asked when it was submitted.",
    ),
    "back-off": (
        say(State.RETRYING, due_at=later(12), tool="pay", attempt=1, last_failure="no answer."),
        "Attempt 2 of pay comes in 12 s after it failed: no answer.",
    ),
    "back-off almost over": (
        say(State.RETRYING, due_at=later(0.4), tool="pay", attempt=1),
        "Attempt 2 of pay comes within a second.",
    ),
    "breaker open": (
        say(State.RETRYING, due_at=later(30), tool="pay", resting=Resting(until=later(30))),
        "pay rests after repeated failures; the call is tried in 30 s.",
    ),
    "event": (
        say(State.WAITING_EXTERNAL_EVENT, due_at=later(300)),
        "It waits for an event; the wait ends in 5 min.",
    ),
    "timer": (
        say(State.WAITING_TIMER, due_at=later(3 * 86_400)),
        "It sleeps by its own plan and wakes in 3 days.",
    ),
    "children": (
        say(State.WAITING_CHILDREN, due_at=later(300)),
        "It waits for its sub-tasks; the wait ends in 5 min.",
    ),
    # --- free and due
    "next": (say(), "It has been due for 3 s and a worker takes it next."),
    "behind others": (
        say(ahead=1),
        "It has been due for 3 s and a worker takes it next, after one that ranks before it.",
    ),
    "no worker": (
        say(serving=0, free=0),
        "No worker serves its queue 'default': start one with `manage.py worker`.",
    ),
    "workers full": (
        say(serving=2, free=0, ahead=40),
        (
            "It has been due for 3 s, and the 2 workers of its queue have no free slot, "
            "after 40 that rank before it."
        ),
    ),
    "the only worker full": (
        say(free=0),
        "It has been due for 3 s, and the one worker of its queue has no free slot.",
    ),
    "agent gone": (
        say(agent_known=False),
        "No process here knows its agent 'clerk': see SIGNALBOX_APPS.",
    ),
    "suspect": (
        say(deaths=2),
        "Its step ended two workers; it waits for a process of its own.",
    ),
    "deadline": (
        say(deadline=ago(60)),
        "Its deadline passed 1 min ago; the worker that takes it next ends it.",
    ),
    "back-off over": (
        say(State.RETRYING, tool="pay"),
        "It has been due for 3 s and a worker takes it next.",
    ),
    "never": (
        say(due_at=None),
        "Nothing will wake it, which is a fault: run `manage.py verify` on it.",
    ),
    "unread command": (
        say(attention=1),
        "A command of a person waits to be read; the next worker or sweep obeys it.",
    ),
    "unreadable": (
        say(readable=False),
        "Its checkpoint cannot be read; the worker that takes it next hands it to a person.",
    ),
}


@pytest.mark.parametrize(("said", "expected"), CASES.values(), ids=CASES)
def test_each_cause_has_its_sentence(said: str, expected: str) -> None:
    assert said == expected


@pytest.mark.parametrize("kind", Kind)
def test_each_kind_of_review_says_what_the_person_is_to_do(kind: Kind) -> None:
    said = say(State.WAITING_HUMAN, asked=asked(kind), **HUMAN)

    assert said.startswith("It has waited 3 min for a person to ")
    assert f"({kind})" not in said
    assert said.endswith(": the connection was lost.")


@pytest.mark.parametrize("state", sorted(LIVE))
@pytest.mark.parametrize("due_at", [None, ago(3), later(3)])
@pytest.mark.parametrize("held", [None, holder()])
def test_every_state_has_a_sentence_whatever_is_known(
    state: State, due_at: datetime | None, held: Holder | None
) -> None:
    said = say(state, due_at=due_at, holder=held)

    assert said.endswith(".")
    assert "None" not in said
    assert "\n" not in said


def test_foreign_text_is_cut_and_stays_on_one_line() -> None:
    said = say(State.TERMINATED_FAILED, reason="a\nb " * 500, **ENDED)

    assert len(said) < 260
    assert "\n" not in said
    assert "…" in said
