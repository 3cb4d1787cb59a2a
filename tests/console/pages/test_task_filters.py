"""The filter: what an address can say, what it cannot, and what each part lets through."""

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.db import connections
from django.test import Client
from django.utils import timezone

from console import queries
from console.pages import task_filters
from console.queries import Filter, Sort, TaskList, task_search, tasks
from console.queries.task_filters import first_id
from runtime import api
from runtime.core.effects import Effect
from runtime.core.states import State
from runtime.models import Operation, Task
from tests.agents_for_tests.hand import Hand
from tests.support.pages import shown

type Submit = Callable[..., UUID]
NOW = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("1h", NOW - timedelta(hours=1)),
        ("90 min", NOW - timedelta(minutes=90)),
        ("7D", NOW - timedelta(days=7)),
        ("2w", NOW - timedelta(weeks=2)),
        ("2026-05-01", datetime(2026, 4, 30, 22, tzinfo=UTC)),
        ("2026-05-01 08:00", datetime(2026, 5, 1, 6, tzinfo=UTC)),
        ("2026-05-01T08:00Z", datetime(2026, 5, 1, 8, tzinfo=UTC)),
        ("2026-05-01T08:00:00+05:30", datetime(2026, 5, 1, 2, 30, tzinfo=UTC)),
    ],
)
def test_a_time_is_a_span_before_now_or_an_instant_in_the_readers_zone(
    text: str, meant: datetime
) -> None:
    with timezone.override(ZoneInfo("Europe/Berlin")):
        assert task_filters.instant(text, NOW) == meant


@pytest.mark.parametrize(
    "text", ["yesterday", "1y", "0001-01-01", "9999-12-31", "-1h", "2026-13-01"]
)
def test_what_is_no_time_is_none(text: str) -> None:
    assert task_filters.instant(text, NOW) is None


def test_a_day_as_the_end_is_the_whole_day() -> None:
    begins, ends = (task_filters.instant("2026-05-01", NOW, ends=e) for e in (False, True))

    assert begins is not None
    assert ends is not None
    assert ends - begins == timedelta(days=1)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("q=ab", "q"),
        ("q=退", "q"),
        ("since=soon", "since"),
        ("until=never", "until"),
        ("since=1h&until=2h", "until"),
        ("waits=godot", "waits"),
        ("sort=sideways", "sort"),
        ("time=sometimes", "time"),
    ],
)
def test_what_is_not_understood_is_an_error_at_its_field_and_filters_nothing(
    query: str, field: str
) -> None:
    asked = task_filters.read(dict(parse_qsl(query)), NOW)

    assert list(asked.errors) == [field]
    assert getattr(asked.filter, field, None) in {"", None}


def test_an_address_is_written_in_one_way_and_reads_back_the_same() -> None:
    query = "sort=newest&q=blue+one&state=done&agent=clerk&time=ended&since=24h&cursor=x&waits="
    asked = task_filters.read(dict(parse_qsl(query)), NOW)

    assert asked.query == "state=done&agent=clerk&q=blue+one&since=24h&time=ended&sort=newest"
    assert task_filters.read(dict(parse_qsl(asked.query)), NOW) == asked
    assert [part.name for part in asked.parts] == ["state", "agent", "q", "since"]
    assert "agent" not in asked.parts[1].rest


def test_a_bad_filter_keeps_the_rows_of_a_script_and_says_so_at_the_field(
    operator: Client, submitted: Submit
) -> None:
    submitted()

    part = operator.get("/tasks/?q=ab", headers={"HX-Request": "true"})
    page = operator.get("/tasks/?q=ab")

    assert (part.status_code, part.headers["HX-Retarget"]) == (422, "#filters")
    assert part.headers["HX-Push-Url"] == "false"
    assert b'id="q-error"' in part.content
    assert b"data-task=" not in part.content
    assert page.status_code == 422
    assert b"data-task=" in page.content


@pytest.mark.parametrize(
    ("waits", "makes"),
    [
        ("queue", "queued"),
        ("retry", "retrying"),
        ("question", "asking"),
        ("in_doubt", "doubting"),
        ("paused", "paused"),
    ],
)
def test_a_waiting_reason_lets_through_what_waits_for_it(
    waits: str, makes: str, operator: Client, submitted: Submit
) -> None:
    made = {name: submitted() for name in ("queued", "retrying", "asking", "doubting", "paused")}
    Hand(made["retrying"]).start().begin().fail()
    Hand(made["asking"]).start().ask("Which?")
    Hand(made["doubting"]).start().begin(effect=Effect.ONCE).doubt()
    api.pause(made["paused"], reason="wait", by="human:ann")

    assert shown(operator.get(f"/tasks/?waits={waits}")) == [made[makes]]
    assert shown(operator.get(f"/tasks/?waits={waits}&state=done")) == []


@pytest.mark.parametrize("waits", ["timer", "event", "children"])
def test_a_reason_that_nothing_has_shows_nothing(
    waits: str, operator: Client, submitted: Submit
) -> None:
    submitted()

    assert b"0 of 1 match" in operator.get(f"/tasks/?waits={waits}").content


def test_the_search_finds_ids_beginnings_operations_external_ids_and_words_of_result(
    operator: Client, submitted: Submit
) -> None:
    task_id, other = submitted(title="The blue one 茶壶碎了"), submitted()
    Hand(task_id).start().begin("pay").succeed().finish("refunded twice over")
    Operation.objects.filter(task_id=task_id).update(external_id="re_99")
    operation = Operation.objects.get(task_id=task_id).pk

    words = ("BLUE", "twice ov", "茶壶")
    for text in (str(task_id), str(task_id).upper(), operation, "re_99", *words):
        assert shown(operator.get("/tasks/", {"q": text})) == [task_id], text
    assert shown(operator.get("/tasks/", {"q": str(task_id)[:8]})) == [other, task_id]
    assert shown(operator.get("/tasks/", {"q": "100%_\\"})) == []


def test_a_search_looks_at_settled_tasks_too_after_what_lives(
    operator: Client, submitted: Submit
) -> None:
    done, lives, asks = (submitted(title="The blue one") for _ in range(3))
    Hand(done).start().finish()
    Hand(asks).start().ask("Which?")

    assert shown(operator.get("/tasks/?q=blue")) == [asks, lives, done]


def test_common_words_are_met_on_the_way_and_not_counted_one_by_one(
    operator: Client, submitted: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks_made = [submitted(title="The blue one") for _ in range(4)]
    Hand(tasks_made[0]).start().finish()
    monkeypatch.setattr(task_search, "FEW", 2)

    answer = operator.get("/tasks/?q=blue&state=initialized")

    assert shown(answer) == tasks_made[1:]
    assert b"Many match" in answer.content
    assert shown(operator.get("/tasks/?q=blue")) == [*tasks_made[1:], tasks_made[0]]


def _moved(task_id: UUID, created: datetime, ended: datetime | None = None) -> None:
    times = {"created_at": created} | ({"finished_at": ended} if ended else {})
    Task.objects.filter(pk=task_id).update(**times)


def test_a_time_is_about_the_beginning_or_about_the_end(
    operator: Client, submitted: Submit
) -> None:
    now = queries.database_now()
    early, late, lives = submitted(), submitted(), submitted()
    for task_id in (early, late):
        Hand(task_id).start().finish()
    _moved(early, now - timedelta(minutes=50), now - timedelta(minutes=5))
    _moved(late, now - timedelta(minutes=20), now - timedelta(minutes=10))

    assert shown(operator.get("/tasks/?since=30min")) == [lives, late]
    assert shown(operator.get("/tasks/?since=1h&until=30min")) == [early]
    assert shown(operator.get("/tasks/?since=7min&time=ended")) == [early]
    assert shown(operator.get("/tasks/?since=1h&time=ended")) == [early, late]
    assert shown(operator.get("/tasks/?since=1h&time=ended&state=moving")) == []
    assert shown(operator.get("/tasks/?sort=ended")) == [early, late]


def test_pages_of_what_ended_go_on_where_the_last_one_ended(submitted: Submit) -> None:
    ended = [submitted() for _ in range(5)]
    for task_id in ended:
        Hand(task_id).start().finish()
    same = queries.database_now()
    Task.objects.filter(pk__in=ended[1:4]).update(finished_at=same)
    wanted = TaskList(Filter(sort=Sort.ENDED), same)

    seen, cursor = [], ""
    while True:
        page = wanted.page(cursor, 2)
        seen += [row.id for row in page.rows]
        cursor = page.cursor
        if not cursor:
            break

    assert sorted(seen) == sorted(ended)
    assert seen == sorted(seen, key=lambda one: (_end(one), one), reverse=True)


def _end(task_id: UUID) -> datetime:
    end = Task.objects.get(pk=task_id).finished_at
    assert end is not None
    return end


@pytest.mark.parametrize(("sort", "turn"), [("newest", -1), ("oldest", 1)])
def test_an_order_that_is_asked_for_mixes_what_needs_somebody_with_the_rest(
    sort: str, turn: int, operator: Client, submitted: Submit
) -> None:
    made = [submitted() for _ in range(3)]
    Hand(made[1]).start().ask("Which?")

    expected = made[::turn]
    assert shown(operator.get(f"/tasks/?sort={sort}")) == expected
    assert shown(operator.get(f"/tasks/?state=all&sort={sort}")) == expected


def test_a_filter_that_takes_too_long_is_said_at_its_field(
    operator: Client, submitted: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted()
    monkeypatch.setattr(tasks, "PATIENCE_MS", 20)
    other = connections.create_connection("default")

    with closing(other), other.cursor() as cursor:
        # What the search looks at is locked, so it waits until it is given up.
        cursor.execute("BEGIN; LOCK TABLE runtime_operation IN ACCESS EXCLUSIVE MODE")
        page = operator.get("/tasks/?q=blue")
        part = operator.get("/tasks/?q=blue", headers={"HX-Request": "true"})

    assert b"The list could not be loaded" in page.content
    assert b"takes too long" in page.content
    assert (page.status_code, part.status_code) == (422, 422)
    assert part.headers["HX-Retarget"] == "#filters"


def test_ids_are_in_the_order_of_time() -> None:
    before, after = first_id(NOW), first_id(NOW + timedelta(milliseconds=1))

    assert before < after
    assert before.version is None or before.int >> 80 == int(NOW.timestamp() * 1000)


def test_rows_that_left_the_filter_are_told_from_those_that_fit(
    operator: Client, submitted: Submit
) -> None:
    leaves, stays = submitted(), submitted()
    Hand(leaves).start().finish()

    answer = operator.get(
        "/tasks/rows/", {"id": [str(leaves), str(stays)], "state": "moving"}
    ).content.decode()

    gone, rest = answer.split(f'id="task-{stays}"')
    assert "is-gone" in gone
    assert "left this view" in gone
    assert "is-gone" not in rest


def test_what_left_and_what_is_new_wait_behind_one_button(
    operator: Client, submitted: Submit
) -> None:
    newest = submitted()
    submitted()

    told = operator.get(
        "/tasks/news/", {"newest": str(newest), "left": "2", "state": "moving"}
    ).content

    assert b"1 new" in told
    assert b"2 left this view" in told
    assert b'href="/tasks/?state=moving"' in told


@pytest.mark.parametrize("state", State)
def test_a_list_of_each_state_shows_what_stands_there(
    state: State, operator: Client, submitted: Submit
) -> None:
    submitted()

    answer = operator.get(f"/tasks/?state={state}&sort=ended")

    assert answer.status_code == 200
    assert shown(answer) == []
