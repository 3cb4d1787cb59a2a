"""The timeline: events of one call are one item, whatever happened to it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from console.pages.timeline import tell
from console.pages.words import age, span
from runtime.api import EventView
from runtime.core.events import EventType

START = datetime(2026, 1, 1, tzinfo=UTC)


def event(
    seq: int, kind: str, /, *, after_s: float = 0, call: str | None = None, **payload: Any
) -> EventView:
    at = START + timedelta(seconds=after_s)
    return EventView(seq, kind, at, "worker:x", call, None, None, payload)


def call(seq: int, kind: str, **payload: Any) -> EventView:
    facts = {"tool": "pay", "effect": "keyed", "operation_id": "op_1"}
    return event(seq, kind, call="0.1.0", **{**facts, **payload})


def test_each_attempt_of_a_call_is_an_item_and_leads_to_the_next() -> None:
    events = [
        call(1, "tool_call_started", arguments={"a": 1}, attempt=1),
        call(2, "tool_call_failed", error="Retryable", message="503", attempt=1, of=3, took_ms=9),
        call(
            3,
            "retry_scheduled",
            since=START.isoformat(),
            until=(START + timedelta(seconds=4)).isoformat(),
        ),
        call(4, "tool_call_started", attempt=2),
        call(5, "tool_call_succeeded", summary="paid", took_ms=1500),
    ]

    first, wait, second = tell(events, {}, {})

    assert (first.what, first.aside) == ("Retryable: 503", "attempt 1 of 3 failed")
    assert (first.lamp.kind, first.seq, first.last_seq, first.later) == ("stop", 1, 2, 4)
    assert (wait.kind, wait.seconds, wait.seq) == ("wait", 4, 3)
    assert (second.what, second.seconds, second.lamp.kind) == ("paid", 1.5, "done")
    assert (second.aside, second.kind, second.earlier) == ("attempt 2", "write", 1)
    assert first.arguments == second.arguments == {"a": 1}


def test_a_call_that_is_sent_again_after_a_crash_is_a_new_attempt() -> None:
    events = [
        call(1, "tool_call_started", attempt=1),
        call(2, "tool_call_started", attempt=1, redispatch=True),
        call(3, "tool_call_succeeded", summary="paid", took_ms=5),
    ]

    lost, again = tell(events, {}, {})

    assert (lost.lamp.label, lost.aside) == ("lost", "nobody wrote how this attempt ended")
    assert again.aside == "sent again under the same operation id"


def test_a_question_and_its_answer_are_one_item() -> None:
    events = [
        event(1, "review_requested", review_id="r", kind="question", question="Which?"),
        event(2, "human_answered", after_s=60, review_id="r", answer="blue", by="human:ann"),
        event(3, "review_closed", after_s=60, review_id="r", decision="answer", by="human:ann"),
    ]

    (item,) = tell(events, {}, {})

    assert (item.what, item.result, item.seconds) == ("Which?", "blue", 60)
    assert item.aside == "question · answer by ann"


def test_idle_time_is_folded_into_one_line() -> None:
    events = [event(1, "task_created"), event(2, "task_started", after_s=8040)]

    assert [item.idle for item in tell(events, {}, {})] == ["", "2 h 14 min"]


@pytest.mark.parametrize("kind", EventType)
def test_every_event_can_be_told_even_with_nothing_in_it(kind: EventType) -> None:
    for call_id in (None, "0.1.0"):
        items = tell([event(1, kind, call=call_id)], {}, {})
        assert len(items) <= 1


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.004, "4 ms"),
        (3.21, "3.2 s"),
        (42, "42 s"),
        (72, "1 min 12 s"),
        (1500, "25 min"),
        (8040, "2 h 14 min"),
        (97200, "1 d 3 h"),
    ],
)
def test_spans_are_said_as_people_say_them(seconds: float, words: str) -> None:
    assert span(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "now"), (12, "12 s"), (-75, "1 min"), (7300, "2 h"), (200_000, "2 d")],
)
def test_ages_are_coarse_and_never_negative(seconds: float, words: str) -> None:
    assert age(START, START - timedelta(seconds=seconds)) == words
