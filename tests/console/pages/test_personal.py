"""What a person chooses, may do, and where they are signed in."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from console.access import Permission, Role, grant
from console.models import AuditEntry, Preferences, SignedIn
from console.pages.devices import device
from tests.console.pages.conftest import BACKEND

pytestmark = pytest.mark.django_db

CHOSEN = {"theme": "auto", "density": "comfortable", "times": "relative"}
PASSWORD = "a long enough password"


@pytest.fixture
def ann(person: Callable[[Role | None], User]) -> User:
    return person(Role.OPERATOR)


@pytest.fixture
def browser(ann: User) -> Callable[[], Client]:
    """Sign the same person in once more, in another browser."""

    def make() -> Client:
        client = Client()
        client.force_login(ann, backend=BACKEND)
        return client

    return make


def _is_signed_in(client: Client) -> bool:
    return client.get("/signed-in/").status_code == 204


def _row(client: Client) -> SignedIn:
    return SignedIn.objects.get(pk=client.session["signed_in"])


def test_every_sign_in_is_listed_and_can_be_ended_alone(browser: Callable[[], Client]) -> None:
    here, there, third = browser(), browser(), browser()

    page = here.get("/settings/").content.decode()
    here.post(reverse("end_session", args=[_row(there).pk]))

    assert page.count("/end/") == 3 + 1
    assert not _is_signed_in(there)
    assert _is_signed_in(here)
    assert _is_signed_in(third)
    assert AuditEntry.objects.filter(action="session.end").count() == 1


def test_nobody_ends_the_session_of_somebody_else(
    browser: Callable[[], Client], as_role: Callable[[Role | None], Client]
) -> None:
    mine, theirs = browser(), as_role(Role.VIEWER)

    theirs.post(reverse("end_session", args=[_row(mine).pk]))

    assert _is_signed_in(mine)
    assert SignedIn.objects.count() == 2


def test_signing_out_everywhere_ends_them_all_and_is_said(browser: Callable[[], Client]) -> None:
    here, there = browser(), browser()

    answer = here.post("/settings/sessions/end/", follow=True)

    assert "signed out in 2 browsers" in answer.content.decode()
    assert not _is_signed_in(here)
    assert not _is_signed_in(there)
    assert not SignedIn.objects.exists()


def test_a_new_password_ends_every_other_session(browser: Callable[[], Client]) -> None:
    here, there = browser(), browser()
    ann = User.objects.get()
    ann.set_unusable_password()
    ann.save()
    here.force_login(ann, backend=BACKEND)

    here.post("/sign-in/password/set/", {"password1": PASSWORD, "password2": PASSWORD})

    assert _is_signed_in(here)
    assert not _is_signed_in(there)
    assert list(SignedIn.objects.values_list("pk", flat=True)) == [_row(here).pk]


def test_a_session_whose_row_is_gone_is_over(browser: Callable[[], Client]) -> None:
    client = browser()
    SignedIn.objects.all().delete()

    assert client.get("/tasks/").status_code == 302
    assert not _is_signed_in(client)


def test_a_session_from_before_the_list_gets_its_row(browser: Callable[[], Client]) -> None:
    client = browser()
    session = client.session
    del session["signed_in"]
    session.save()
    SignedIn.objects.all().delete()

    assert _is_signed_in(client)
    assert _row(client).user == User.objects.get()


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko Firefox/140.0", "Firefox on Linux"),
        (
            "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0",
            "Edge on Windows",
        ),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Safari/604.1", "Safari on iPhone"),
        ("curl/8", "curl/8"),
        ("", "A browser that does not say its name"),
    ],
)  # fmt: skip
def test_a_browser_is_named_as_people_know_it(agent: str, name: str) -> None:
    assert device(agent) == name


def test_what_may_not_be_done_is_said_with_the_role_that_may(
    as_role: Callable[[Role | None], Client],
) -> None:
    page = as_role(Role.VIEWER).get("/settings/").content.decode()

    missing = page.split(f'id="right-{Permission.DECIDE_REVIEWS}"')[1].split("</li>")[0]
    held = page.split(f'id="right-{Permission.VIEW_TASKS}"')[1].split("</li>")[0]
    assert "No:" in missing
    assert "needs the role: administrator, operator" in missing
    assert "Yes:" in held
    assert "by your role: viewer" in held


def test_a_page_that_is_refused_leads_to_the_right_it_takes(
    as_role: Callable[[Role | None], Client],
) -> None:
    answer = as_role(None).get("/tasks/")

    assert answer.status_code == 403
    assert "/settings/#right-view_tasks" in answer.content.decode()


def test_a_right_that_is_given_is_there_at_once(
    as_role: Callable[[Role | None], Client], person: Callable[[Role | None], User]
) -> None:
    client = as_role(None)

    grant(person(None), Role.OPERATOR)

    assert "by your role: operator" in client.get("/settings/").content.decode()


@pytest.mark.parametrize(
    ("chosen", "browser_says", "spoken"),
    [
        ("", "", "en"),
        ("", "fr-CH, fr;q=0.9", "en"),
        ("", "zh-CN,zh;q=0.9", "zh-hans"),
        ("en", "zh-CN", "en"),
        ("zh-hans", "en-GB", "zh-hans"),
    ],
)
def test_the_choice_comes_before_the_browser_and_both_before_english(
    chosen: str, browser_says: str, spoken: str, browser: Callable[[], Client]
) -> None:
    client = browser()
    client.post("/settings/", CHOSEN | {"language": chosen})

    answer = client.get("/settings/", headers={"Accept-Language": browser_says})

    assert f'<html lang="{spoken}"' in answer.content.decode()
    assert answer.headers["Content-Language"] == spoken


def test_programs_are_spoken_to_in_english_whatever_they_send(client: Client) -> None:
    answer = client.get("/api/v1/tasks", headers={"Accept-Language": "zh-CN"})

    assert answer.status_code == 401
    assert answer.content.isascii()


def test_times_are_shown_as_chosen(
    browser: Callable[[], Client], asked: Callable[[str], object]
) -> None:
    client = browser()
    asked("Which one?")
    client.post("/settings/", CHOSEN | {"times": "absolute"})

    absolute = client.get("/reviews/").content.decode()
    client.post("/settings/", CHOSEN)
    relative = client.get("/reviews/").content.decode()

    assert "waiting since" in absolute
    assert 'data-behavior="age"' not in absolute
    assert 'data-behavior="age"' in relative


def test_choices_of_other_pages_are_kept(browser: Callable[[], Client]) -> None:
    client = browser()
    Preferences.objects.create(user=User.objects.get(), columns=["agent"], shortcuts=True)

    client.post("/settings/", CHOSEN)

    mine = Preferences.objects.get()
    assert mine.columns == ["agent"]
    assert mine.shortcuts is False
