"""Charts are drawn from numbers: gaps stay gaps, the open bucket stays open, axes are round."""

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.pages.charts import Axes, Row, lines, spans, stacked
from console.pages.sparks import spark

BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
VALUE = st.one_of(st.none(), st.floats(min_value=0, max_value=1e7))


def axes(number: int, *, width_s: int = 60, tick_s: int = 600, began: datetime = BEGAN) -> Axes:
    begins = [
        (began.astimezone(UTC) + timedelta(seconds=width_s * at)).astimezone(began.tzinfo)
        for at in range(number)
    ]
    return Axes(
        begins=begins,
        width_s=width_s,
        tick_s=tick_s,
        say_time=lambda at: at.strftime("%d %H:%M"),
        say_bucket=lambda at: at.strftime("%H:%M"),
        say_value=lambda value: f"{value:g}",
    )


def test_bars_stand_on_each_other_and_the_last_one_is_open() -> None:
    rows = [Row("done", "done", [2, 0, 1]), Row("failed", "failed", [1, 0, 1])]

    wide, _ = stacked(axes(3), rows)

    done, failed = wide.marks
    assert (done.path.count("M"), done.open_path.count("M")) == (1, 1)
    top_of_done = done.path.split("V")[1].split("H")[0]
    bottom_of_failed = failed.path.split(" ")[1].split("V")[0]
    assert top_of_done == bottom_of_failed


def test_nothing_that_happened_is_too_small_to_be_seen() -> None:
    wide, _ = stacked(axes(3), [Row("done", "done", [1, 100_000, 0])])

    low = wide.marks[0].path.split("Z")[0]
    bottom, top = float(low.split(" ")[1].split("V")[0]), float(low.split("V")[1].split("H")[0])
    assert bottom - top >= 1


def test_a_line_lifts_the_pen_over_a_gap_and_never_falls_to_zero_there() -> None:
    wide, _ = lines(axes(6), [Row("half", "p50", [5, 5, None, 5, 5, None])])

    mark = wide.marks[0]
    assert mark.path.count("M") == 2
    assert mark.open_path == ""
    assert all(float(point.split(" ")[1]) < wide.bottom for point in mark.path[1:].split("L")[:1])


def test_the_way_to_the_open_bucket_is_drawn_apart() -> None:
    wide, _ = lines(axes(3), [Row("half", "p50", [1, 2, 3])])

    mark = wide.marks[0]
    assert mark.path.count("L") == 1
    assert mark.open_path.count("L") == 1
    assert mark.dots[-1][2] is True


def test_a_lonely_point_is_a_dot() -> None:
    wide, _ = lines(axes(5), [Row("half", "p50", [None, 4, None, None, None])])

    assert len(wide.marks[0].dots) == 1


def test_marks_of_counts_are_whole_and_reach_above_the_highest() -> None:
    wide, _ = stacked(axes(2), [Row("done", "done", [3, 0])])

    words = [float(tick.words) for tick in wide.y_ticks]
    assert words[0] == 0
    assert words[-1] >= 3
    assert all(word == int(word) for word in words)


@pytest.mark.parametrize(
    ("values", "first", "last"),
    [([0.02, 0.3], "0.01", "1"), ([70.0, 500.0], "60", "600"), ([1e9, 1e9], "604800", "2.592e+06")],
)
def test_durations_have_marks_that_people_know(values: list[float], first: str, last: str) -> None:
    wide, _ = spans(axes(2), [Row("half", "p50", values)])

    assert (wide.y_ticks[0].words, wide.y_ticks[-1].words) == (first, last)


def test_times_are_marked_at_round_times_of_the_readers_day_also_in_odd_zones() -> None:
    began = datetime(2026, 3, 1, 7, 30, tzinfo=ZoneInfo("Asia/Kolkata"))

    wide, _ = stacked(axes(7 * 24, width_s=3600, tick_s=86_400, began=began), [])

    assert {tick.words[3:] for tick in wide.x_ticks} == {"00:00"}
    assert len(wide.x_ticks) == 7


def test_a_day_on_which_the_clock_changes_moves_no_mark_out_of_order() -> None:
    began = datetime(2026, 3, 28, 12, 0, tzinfo=ZoneInfo("Europe/Berlin"))

    wide, _ = stacked(axes(96, width_s=900, tick_s=10_800, began=began), [])

    places = [tick.at for tick in wide.x_ticks]
    assert places == sorted(places)
    assert all(wide.left <= place <= wide.right for place in places)


def test_every_bucket_can_be_pointed_at_and_says_its_numbers() -> None:
    wide, narrow = stacked(axes(2), [Row("done", "done", [2, 0]), Row("failed", "failed", [1, 0])])

    assert re.findall("<title>(.*?)</title>", wide.hits) == [
        "12:00 · done 2, failed 1",
        "12:01 · done 0, failed 0",
    ]
    assert narrow.hits == ""


def test_words_on_a_drawing_are_text_and_never_markup() -> None:
    wide, _ = stacked(axes(1), [Row("done", "<b>done", [2])])

    assert "&lt;b&gt;done" in wide.hits


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(VALUE, min_size=1, max_size=40), st.sampled_from([stacked, lines, spans]))
def test_whatever_the_numbers_are_the_drawing_stays_within_its_frame(
    values: list[float | None], draw: object
) -> None:
    for drawing in draw(axes(len(values)), [Row("done", "done", values)]):  # type: ignore[operator]
        assert all(drawing.top - 1 <= tick.at <= drawing.bottom for tick in drawing.y_ticks)
        assert all(one.at > other.at for one, other in pairwise(drawing.y_ticks))
        for mark in drawing.marks:
            assert "nan" not in mark.path
            for x, y, _ in mark.dots:
                assert drawing.left <= x <= drawing.right
                assert drawing.top - 1 <= y <= drawing.bottom + 1


def test_a_small_drawing_of_nothing_is_none() -> None:
    assert spark([0, 0], [None, 0]) is None
    assert spark([], []) is None


def test_a_small_drawing_shows_both_hours_on_one_scale() -> None:
    found = spark([1, 2], [4, 4], height=44)

    assert found is not None
    assert found.ghost.endswith(" 4.0")
    assert found.line.endswith(" 22.0")
