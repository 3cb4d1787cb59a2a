"""The first page: lamps, what needs a person, the hour, the workers, what people did."""

import re
from collections.abc import Callable
from uuid import UUID

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission as Granted
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from console import audit
from console.access import Role
from console.audit import Act
from console.models import AuditEntry
from runtime import api
from runtime.store import counting
from runtime.store.session import execute
from tests.agents_for_tests.hand import Hand

type Submit = Callable[..., UUID]
type Asked = Callable[[str], tuple[UUID, UUID]]


def text(client: Client, address: str = "/") -> str:
    counting.count()
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def lights(page: str) -> dict[str, tuple[str, str]]:
    """Give number and lamp by words."""
    found = re.findall(
        r'light-number num">([^<]+)</span>.*?lamp-(\w+)".*?</svg>\s*<span>([^<]+)</span>',
        page,
        re.DOTALL,
    )
    return {words: (number, lamp) for number, lamp, words in found}


def made_stuck(task_id: UUID) -> None:
    execute("UPDATE runtime_task SET due_at = due_at - interval '1 hour' WHERE id = %s", (task_id,))


def test_lamps_count_tasks_by_what_they_mean_and_are_hollow_at_zero(
    operator: Client, submitted: Submit, asked: Asked
) -> None:
    submitted()
    asked("Which one?")
    Hand(submitted()).start().read().finish()

    found = lights(text(operator))

    assert found["Moving"] == ("1", "moving")
    assert found["Needs a person"] == ("1", "person")
    assert found["Done, 24\u00a0h"] == ("1", "done")
    assert found["In doubt"] == found["Stuck"] == found["Retrying"] == ("0", "none")


def test_every_lamp_leads_to_its_tasks(operator: Client, submitted: Submit) -> None:
    submitted()

    page = text(operator)

    nav = page.partition('id="lights"')[2].partition("</nav>")[0]
    addresses = re.findall(r'href="([^"]+)"', nav)
    assert len(addresses) == 8
    for address in addresses:
        if address.startswith("/"):
            assert operator.get(address.replace("&amp;", "&")).status_code == 200
        else:
            assert f'id="{address[1:]}"' in page


def test_what_waits_for_a_person_stands_there_the_longest_first_then_what_is_stuck(
    operator: Client, submitted: Submit, asked: Asked
) -> None:
    stuck = submitted(title="The stuck one")
    made_stuck(stuck)
    _, young = asked("The young one?")
    _, old = asked("The old one?")
    execute(
        "UPDATE runtime_review SET opened_at = opened_at - interval '1 day' WHERE id = %s", (old,)
    )

    page = text(operator)

    ids = re.findall(r'<li id="((?:review|stuck)-[^"]+)"', page)
    assert ids == [f"review-{old}", f"review-{young}", f"stuck-{stuck}"]
    assert "no worker of the queue default has taken it" in page
    assert lights(page)["Stuck"] == ("1", "stop")


def test_more_than_the_page_shows_are_counted_and_nothing_says_so(
    operator: Client, asked: Asked
) -> None:
    assert "Nothing waits for a person, and nothing is stuck." in text(operator)

    for at in range(10):
        asked(f"Number {at}?")

    assert "5 more wait behind these." in text(operator)


def test_the_hour_tells_its_numbers_and_the_hour_before(
    operator: Client, submitted: Submit
) -> None:
    for _ in range(3):
        Hand(submitted()).start().read().finish()
    counting.count()
    execute("UPDATE runtime_bucket SET began_at = began_at - interval '75 min', count = 5")
    Hand(submitted()).start().read().finish()

    page = text(operator)

    assert "4 fewer than in the hour before" in page
    assert "1 submitted" in page
    assert 'class="ghost"' in page


def test_without_any_number_no_line_is_drawn(operator: Client) -> None:
    page = text(operator)

    assert 'class="spark"' not in page
    assert page.count("No data in these two hours") == 3


def test_workers_are_counted_and_the_silent_ones_named(operator: Client, submitted: Submit) -> None:
    assert "No worker is at work" in text(operator)

    Hand(submitted(), slots=10)
    Hand(submitted(), slots=10)
    execute(
        "UPDATE runtime_worker SET expires_at = runtime_now() - interval '9 s', pid = 77 "
        "WHERE id = (SELECT id FROM runtime_worker ORDER BY id LIMIT 1)"
    )
    page = text(operator)

    assert "1 worker at work, 0 of 10 slots in use" in page
    assert "testhost:77" in page
    assert "silent for" in page


def test_what_operators_did_is_told_in_words_newest_first(
    operator: Client, submitted: Submit
) -> None:
    task_id = submitted()
    for action, result in (
        ("task.pause", "done"),
        ("task.<b>", "done"),
        ("task.retry", "conflict"),
    ):
        act = Act(actor="human:ann", action=action, object=f"task:{task_id}", reason="<i>why</i>")
        audit.record(act, result)
    audit.record(Act(actor="human:bob", action="account.sign_in", object="account:bob"), "done")

    page = text(operator)

    acts = page.partition('class="act-rows"')[2]
    said = ("had a task try again", "task.&lt;b&gt;", "paused a task")
    places = [acts.index(words) for words in said]
    assert places == sorted(places)
    assert "came too late" in acts
    assert "<i>why" not in acts
    assert "bob" not in acts


def test_parts_are_given_alone_for_a_page_that_is_open(operator: Client, asked: Asked) -> None:
    _, review_id = asked("Which one?")

    parts = text(operator, "/overview/parts/")

    assert "<html" not in parts
    assert f'id="review-{review_id}"' in parts
    for name in ("lights", "needs", "hour", "lower"):
        assert f'id="{name}"' in parts


def test_hostile_words_of_tasks_and_tools_are_shown_as_text(
    operator: Client, submitted: Submit
) -> None:
    task_id = submitted(title="<script>alert(1)</script>\u202e" + "w" * 10_000)
    made_stuck(task_id)
    Hand(submitted(title="<b>x</b>")).start().ask("{{7*7}}<img src=x>")

    page = text(operator).partition("<main")[2]

    assert "<script>" not in page
    assert "<img" not in page
    assert "<b>x" not in page
    assert "{{7*7}}" in page
    assert "\u202e" not in page


def test_a_page_takes_as_many_statements_for_many_as_for_few(
    operator: Client, submitted: Submit, asked: Asked
) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as made:
            operator.get("/overview/parts/")
        return len(made)

    made_stuck(submitted())
    asked("Which one?")
    few = statements()
    for _ in range(4):
        made_stuck(submitted())
        asked("Which one?")

    assert statements() == few <= 25


def test_who_may_see_less_is_shown_less(person: Callable[[Role | None], User]) -> None:
    user = person(Role.VIEWER)
    user.groups.clear()
    user.user_permissions.set(Granted.objects.filter(codename="view_tasks"))
    client = Client()
    client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")

    page = text(client)

    assert 'id="lights"' in page
    assert 'id="hour"' not in page
    assert "crew-head" not in page
    assert "In doubt" not in page


# --- the first start ----------------------------------------------------------------------------


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "SIGNALBOX_DEMO", "tests.agents_for_tests.visitors")


def test_the_first_start_explains_itself_and_gives_the_command_where_no_demo_can_be_started(
    operator: Client,
) -> None:
    page = text(operator)

    assert "Nothing has run here yet" in page
    assert "uv run manage.py up" in page


@pytest.mark.usefixtures("demo")
def test_the_demo_is_a_button_for_those_who_may_submit(
    as_role: Callable[[Role | None], Client],
) -> None:
    assert "Submit the demo</button>" in text(as_role(Role.OPERATOR))
    assert "Submit the demo</button>" not in text(as_role(Role.VIEWER))
    assert as_role(Role.VIEWER).post("/overview/demo/").status_code == 403


@pytest.mark.usefixtures("demo")
def test_the_demo_submits_tasks_says_so_and_is_in_the_audit(operator: Client) -> None:
    answer = operator.post("/overview/demo/", follow=True)

    assert b"2 demo tasks are submitted." in answer.content
    assert b"Nothing has run here yet" not in answer.content
    assert {task.created_by for task in map(api.task, _all_tasks())} == {"human:operator"}
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.result) == ("human:operator", "task.demo", "done")


@pytest.mark.usefixtures("demo")
def test_a_demo_that_cannot_be_prepared_says_why_and_submits_nothing(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEMO_IS_CLOSED", "1")

    answer = operator.post("/overview/demo/", follow=True)

    assert b"The shop is closed." in answer.content
    assert _all_tasks() == []
    assert AuditEntry.objects.get().result == "failed"


def _all_tasks() -> list[UUID]:
    return [row[0] for row in execute("SELECT id FROM runtime_task")]
