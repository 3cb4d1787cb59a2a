"""What the runtime says comes in the reader's language; what others wrote stays as it is."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.utils import translation

from console.pages.spoken import refusal, why
from console.recorded import TEMPLATES, recorded
from runtime.core.errors import DecisionRefused, SituationMoved
from runtime.core.states import State
from runtime.core.why import Facts, Hold

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
SOURCES = "\n".join(
    path.read_text() for path in sorted((Path(__file__).parents[3] / "runtime").rglob("*.py"))
)


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_runtime_records_what_the_console_knows_of(template: str) -> None:
    holes = r"\{\w+\}:?|1 attempt|attempts"
    fixed = [part.strip() for part in re.split(holes, template) if part.strip(" ()")]

    assert all(part in SOURCES for part in fixed), template


def test_a_recorded_sentence_keeps_what_was_filled_in() -> None:
    said = "pay was dispatched and its outcome was lost; it must not happen twice"

    with translation.override("zh-hans"):
        assert "pay" in recorded(said)
        assert recorded(said) != said
    with translation.override("en"):
        assert recorded(said) == said


@pytest.mark.parametrize(
    "foreign",
    ["Tasks", "Paint the bench", "it offers", "How many attempts failed: 3?", "", "x" * 5000],
)
def test_what_somebody_else_wrote_is_not_translated(foreign: str) -> None:
    with translation.override("zh-hans"):
        assert recorded(foreign) == foreign


def test_why_names_the_person_and_keeps_their_reason() -> None:
    hold = Hold(by="human:ann", reason="Tasks", at=NOW - timedelta(minutes=3))
    facts = Facts(
        state=State.PLANNING, now=NOW, moved_at=NOW, agent="clerk", queue="default", hold=hold
    )

    with translation.override("en"):
        english = why(facts)
    with translation.override("zh-hans"):
        chinese = why(facts)

    assert english == "ann paused it 3 min ago: Tasks."
    assert "ann" in chinese
    assert "3 分钟前" in chinese
    assert "Tasks" in chinese


def test_a_refusal_is_worded_for_its_reader() -> None:
    moved = SituationMoved(3, 5)
    refused = DecisionRefused("0197", "abort", "it needs a reason")

    with translation.override("zh-hans"):
        said = [refusal(moved), refusal(refused)]

    assert all(re.search(r"[\u4e00-\u9fff]", one) for one in said)
    assert "it needs a reason" not in said[1]
    assert str(moved) == refusal(moved)
