"""Views that people keep, and the columns they choose."""

import re
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.test import Client

from console.access import Role
from console.models import AuditEntry, Preferences, SavedView
from console.pages import keys, task_columns, task_views
from tests.agents_for_tests.hand import Hand
from tests.support.pages import shown

type Submit = Callable[..., UUID]
type AsRole = Callable[[Role | None], Client]

JS = Path(__file__).resolve().parents[3] / "console" / "static" / "console" / "js"
SAVE = "/tasks/views/new/"


def _only() -> SavedView:
    return SavedView.objects.get()


def test_a_filter_is_kept_under_a_name_and_leads_back_to_itself(
    operator: Client, submitted: Submit
) -> None:
    done = submitted()
    submitted()
    Hand(done).start().finish()

    asked = operator.get(SAVE, {"state": "done", "sort": "oldest", "cursor": "x"})
    kept = operator.post(SAVE, {"state": "done", "sort": "oldest", "name": "  Done   ones "})

    assert b'name="sort" value="oldest"' in asked.content
    assert (_only().name, _only().query) == ("Done ones", "state=done&sort=oldest")
    assert kept.headers["Location"] == f"/tasks/?state=done&sort=oldest&view={_only().pk}"
    page = operator.get(kept.headers["Location"])
    assert shown(page) == [done]
    assert re.search(rb'aria-current="true"><bdi>Done ones', page.content)


def test_a_name_is_used_once_by_each_and_the_error_stands_at_it(
    operator: Client, as_role: AsRole
) -> None:
    operator.post(SAVE, {"name": "Mine"})

    again = operator.post(SAVE, {"name": "MINE"}, headers={"HX-Request": "true"})
    other = as_role(Role.VIEWER).post(SAVE, {"name": "Mine"})

    assert again.status_code == 422
    assert b"view-name-error" in again.content
    assert other.status_code == 302


@pytest.mark.parametrize(
    "parts", [{"name": ""}, {"name": "x" * 61}, {"name": "a", "since": "soon"}, {"name": " \x00 "}]
)
def test_what_is_no_view_is_not_kept(parts: dict[str, str], operator: Client) -> None:
    assert operator.post(SAVE, parts).status_code == 422
    assert not SavedView.objects.exists()


def test_there_is_an_end_to_the_views_of_an_account(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_views, "MOST_VIEWS", 1)
    operator.post(SAVE, {"name": "One"})

    assert operator.post(SAVE, {"name": "Two"}).status_code == 422


def test_a_view_is_seen_first_until_another_one_is(operator: Client, submitted: Submit) -> None:
    operator.post(SAVE, {"state": "done", "name": "Done", "is_default": "on"})
    first = operator.get("/tasks/")
    operator.post(SAVE, {"state": "failed", "name": "Failed", "is_default": "on"})

    done, failed = SavedView.objects.order_by("id")
    assert first.headers["Location"] == f"/tasks/?state=done&view={done.pk}"
    assert operator.get("/tasks/").headers["Location"] == f"/tasks/?state=failed&view={failed.pk}"
    assert (done.is_default, failed.is_default) == (False, True)
    assert operator.get("/tasks/?state=attention").status_code == 200


def test_a_view_is_renamed_takes_another_filter_and_is_deleted(operator: Client) -> None:
    operator.post(SAVE, {"state": "done", "name": "Done"})
    at = f"/tasks/views/{_only().pk}/"

    operator.post(at, {"name": "Ended", "state": "ended"})
    assert (_only().name, _only().query) == ("Ended", "state=done")
    operator.post(at, {"name": "Ended", "state": "ended", "take": "on"})
    assert _only().query == "state=ended"
    operator.post(at, {"delete": "1"})
    assert not SavedView.objects.exists()


def test_a_shared_view_is_seen_by_all_changed_by_its_owner_and_audited(
    operator: Client, as_role: AsRole
) -> None:
    operator.post(SAVE, {"state": "done", "name": "Ours", "is_shared": "on"})
    operator.post(SAVE, {"state": "done", "name": "Mine"})
    shared = SavedView.objects.get(name="Ours")
    viewer = as_role(Role.VIEWER)

    page = viewer.get(f"/tasks/?state=done&view={shared.pk}").content
    assert b"Ours" in page
    assert b"by operator" in page
    assert b"Mine" not in page
    assert viewer.get(f"/tasks/views/{shared.pk}/").status_code == 404
    assert viewer.post(f"/tasks/views/{shared.pk}/", {"delete": "1"}).status_code == 404
    operator.post(f"/tasks/views/{shared.pk}/", {"name": "Ours no more"})
    operator.post(f"/tasks/views/{shared.pk}/", {"delete": "1"})

    entries = AuditEntry.objects.filter(object=f"view:{shared.pk}").order_by("id")
    assert [(e.actor, e.action) for e in entries] == [
        ("human:operator", "view.create"),
        ("human:operator", "view.change"),
    ]
    assert not AuditEntry.objects.filter(detail__contains="Mine").exists()


def test_who_may_not_act_shares_nothing(as_role: AsRole) -> None:
    viewer = as_role(Role.VIEWER)

    viewer.post(SAVE, {"name": "Mine", "is_shared": "on"})

    assert b"Share it" not in viewer.get(SAVE).content
    assert not _only().is_shared


@pytest.mark.parametrize("view", ["0", "999999", "x", "-1", "9" * 40])
def test_a_view_that_is_not_there_changes_nothing(view: str, operator: Client) -> None:
    assert operator.get("/tasks/", {"view": view}).status_code == 200


def test_columns_are_kept_with_the_account_and_with_a_view(
    operator: Client, submitted: Submit, person: Callable[[Role | None], User]
) -> None:
    task_id = submitted(title="Refund", key="order-1", labels={"shop": "north"})
    Hand(task_id).start().begin().fail()

    operator.post("/tasks/columns/", {"column": ["key", "labels", "attempts", "none such"]})
    mine = operator.get("/tasks/").content.decode()
    operator.post(SAVE, {"name": "Wide"})
    operator.post("/tasks/columns/", {"view": str(_only().pk), "column": ["worker"]})

    kept = Preferences.objects.get(pk=person(Role.OPERATOR).pk).columns
    assert kept == ["key", "labels", "attempts"]
    assert "shop: north" in mine
    assert "order-1" in mine
    assert 'class="scroll-x" tabindex="0"' in mine
    assert _only().columns == ["worker"]
    wide = operator.get("/tasks/", {"view": str(_only().pk)}).content.decode()
    assert "order-1" not in wide
    assert ">Worker</th>" in wide


def test_every_column_shows_something_of_every_kind_of_row(
    operator: Client, submitted: Submit
) -> None:
    made = [submitted() for _ in range(3)]
    Hand(made[0]).start().begin()
    Hand(made[1]).start().read().finish()
    operator.post("/tasks/columns/", {"column": list(task_columns.COLUMNS)})

    page = operator.get("/tasks/?state=all").content.decode()
    rows = operator.get("/tasks/rows/", {"id": [str(one) for one in made]}).content.decode()

    width = len(task_columns.COLUMNS) + 6
    for part in (page, rows):
        for row in part.split("<tr id=")[1:]:
            assert len(re.findall(r"<td ", row.split("</tr>")[0])) == width
    assert "testhost:4711" in page
    assert len(re.findall(r'<th scope="col"', page)) == width


def test_columns_stand_in_the_order_they_were_moved_to_by_account_and_by_view(
    operator: Client, submitted: Submit
) -> None:
    submitted()
    operator.post("/tasks/columns/", {"column": ["agent", "queue", "key"]})
    operator.post(SAVE, {"name": "Wide"})
    view = str(_only().pk)

    moving = operator.post(
        "/tasks/columns/", {"column": ["agent", "queue", "key"], "left": "key", "view": view}
    ).content.decode()
    asked = re.findall(r'value="(\w+)" checked', moving)
    before = _heads(operator.get("/tasks/", {"view": view}))
    operator.post("/tasks/columns/", {"column": asked, "view": view})

    assert asked == ["agent", "key", "queue"]
    assert "it is number 2 of 3" in moving
    assert before == ["Agent", "Queue", "Key"]
    assert _heads(operator.get("/tasks/", {"view": view})) == ["Agent", "Key", "Queue"]
    assert _heads(operator.get("/tasks/")) == ["Agent", "Queue", "Key"]


@pytest.mark.parametrize(
    ("name", "step", "order"),
    [
        ("queue", -1, ["queue", "agent", "key"]),
        ("queue", 1, ["agent", "key", "queue"]),
        ("agent", -1, ["agent", "queue", "key"]),
        ("key", 1, ["agent", "queue", "key"]),
        ("epoch", 1, ["agent", "queue", "key"]),
    ],
)
def test_a_column_moves_by_one_place_and_stays_at_the_ends(
    name: str, step: int, order: list[str]
) -> None:
    assert task_columns.moved(["agent", "queue", "key"], name, step) == order


def _heads(page: object) -> list[str]:
    text = page.content.decode()  # type: ignore[attr-defined]
    return re.findall(r'class="c-more[^"]*">(.*?)</th>', text)


def test_the_columns_that_are_shown_are_ticked(operator: Client) -> None:
    operator.post("/tasks/columns/", {"column": ["epoch"]})

    asked = operator.get("/tasks/columns/", headers={"HX-Request": "true"}).content.decode()

    ticked = re.findall(r'value="(\w+)" checked', asked)
    assert ticked == ["epoch"]
    assert "<html" not in asked


def test_every_key_that_a_script_hears_is_listed_and_the_other_way_round(operator: Client) -> None:
    scripts = {name: (JS / name).read_text() for name in ("keys.js", "task-keys.js")}
    places = re.search(r"PLACES = \{(.*?)\}", scripts["keys.js"], re.DOTALL)
    rows = re.search(r"onKey\(element, \{(.*?)\n  \}\)", scripts["task-keys.js"], re.DOTALL)
    assert places is not None
    assert rows is not None
    heard: set[tuple[str, ...]] = {("g", key) for key in re.findall(r'(\w): "/', places[1])}
    heard |= {(key,) for key in re.findall(r'^ +"?([\w.])"?: \(', rows[1], re.MULTILINE)}
    heard |= {(key,) for key in re.findall(r'event\.key === "([/?])"', scripts["keys.js"])}

    listed = {key.keys for key in (*keys.EVERYWHERE, *keys.IN_LISTS)}

    assert listed - {("Enter",), ("Esc",)} == heard
    told = operator.get("/keys/").content.decode()
    assert told.count("<kbd>") == sum(len(one) for one in listed)
