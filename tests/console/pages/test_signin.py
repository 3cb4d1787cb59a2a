"""Signing in: the one-time link, passwords, no sign-up; what an account prefers."""

import re
from collections.abc import Callable
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import F
from django.test import Client

from console import signin
from console.access import Role, grant, lay_roles
from console.models import AuditEntry, Preferences, SigninLink

pytestmark = pytest.mark.django_db


@pytest.fixture
def link() -> str:
    lay_roles()
    address = signin.first_admin_link("http://box.example:8000/")
    assert address is not None
    assert address.startswith("http://box.example:8000/sign-in/link/")
    return urlsplit(address).path


def _is_signed_in(client: Client) -> bool:
    return client.get("/signed-in/").status_code == 204


def test_looking_at_the_link_signs_nobody_in_and_does_not_use_it_up(
    link: str, client: Client
) -> None:
    for _ in range(3):
        assert client.get(link).status_code == 200
    client.head(link)

    assert not _is_signed_in(client)
    assert SigninLink.objects.get().used_at is None


def test_its_button_signs_the_first_administrator_in_once(link: str, client: Client) -> None:
    answer = client.post(link)

    assert (answer.status_code, answer.headers["Location"]) == (302, "/")
    assert _is_signed_in(client)
    assert User.objects.get().groups.get().name == Role.ADMINISTRATOR
    assert AuditEntry.objects.get().action == "signin.link"
    again = Client()
    assert again.post(link).status_code == 410
    assert again.get(link).status_code == 410
    assert not _is_signed_in(again)


def test_only_the_digest_of_a_link_is_stored(link: str) -> None:
    secret = link.rstrip("/").rsplit("/", 1)[1].split(":")[0]

    assert secret not in str(SigninLink.objects.values().get())


@pytest.mark.parametrize(
    "spoil", [lambda t: t[:-2] + "x/", lambda t: t.replace(":", "::"), str.upper]
)
def test_a_link_that_was_changed_is_none(
    spoil: Callable[[str], str], link: str, client: Client
) -> None:
    token = link.removeprefix("/sign-in/link/")

    assert client.post(f"/sign-in/link/{spoil(token)}").status_code in {404, 410}
    assert not _is_signed_in(client)


def test_a_link_ends_by_itself(link: str, client: Client) -> None:
    SigninLink.objects.update(expires_at=F("created_at") - timedelta(seconds=1))

    assert client.post(link).status_code == 410


def test_a_link_of_a_disabled_account_is_none(link: str, client: Client) -> None:
    User.objects.update(is_active=False)

    assert client.post(link).status_code == 410


def test_a_new_link_ends_the_one_before(link: str, client: Client) -> None:
    newer = signin.first_admin_link()
    assert newer is not None

    assert client.post(link).status_code == 410
    assert client.post(urlsplit(newer).path).status_code == 302


def test_no_link_is_made_once_an_administrator_has_signed_in(link: str, client: Client) -> None:
    client.post(link)

    assert signin.first_admin_link() is None


def test_a_password_signs_in_by_name_and_by_mail(client: Client) -> None:
    lay_roles()
    user = User.objects.create_user("ann", "ann@example.org", "a long enough password")
    grant(user, Role.VIEWER)

    for login in ("ann", "ann@example.org"):
        browser = Client()
        answer = browser.post(
            "/sign-in/login/", {"login": login, "password": "a long enough password"}
        )
        assert answer.status_code == 302
        assert _is_signed_in(browser)
    wrong = client.post("/sign-in/login/", {"login": "ann", "password": "another one"})
    assert wrong.status_code == 200
    assert not _is_signed_in(client)


def test_nobody_can_make_an_account(client: Client) -> None:
    page = client.get("/sign-in/signup/")
    client.post(
        "/sign-in/signup/",
        {
            "username": "eve",
            "password1": "a long enough password",
            "password2": "a long enough password",
        },
    )

    assert b"made by an administrator" in page.content
    assert not User.objects.filter(username="eve").exists()


def test_signing_out_takes_a_post(link: str, client: Client) -> None:
    client.post(link)

    client.get("/sign-in/logout/")
    assert _is_signed_in(client)
    client.post("/sign-in/logout/")
    assert not _is_signed_in(client)


def test_a_second_factor_can_be_set_up_once_there_is_a_password(link: str, client: Client) -> None:
    client.post(link)
    assert b"second-factor" not in client.get("/settings/").content

    words = {"password1": "a long enough password", "password2": "a long enough password"}
    assert client.post("/sign-in/password/set/", words).status_code == 302
    assert b"second-factor" in client.get("/settings/").content
    activate = "/sign-in/second-factor/totp/activate/"
    asked = client.get(activate)
    client.post(asked.headers["Location"], {"password": "a long enough password"})
    page = client.get(activate)

    assert asked.headers["Location"].startswith("/sign-in/reauthenticate/")
    assert page.status_code == 200
    assert b"data:image/svg+xml" in page.content


def test_theme_density_and_zone_are_kept_for_the_account(link: str, client: Client) -> None:
    client.post(link)

    chosen = {"theme": "dark", "density": "compact", "times": "absolute", "zone": "Asia/Kathmandu"}
    client.post("/settings/", chosen)
    page = client.get("/tasks/").content.decode()
    refused = client.post("/settings/", chosen | {"zone": "Mars/Base"})

    assert 'data-theme="dark" data-density="compact"' in page
    assert re.search(r'class="zone">[^<]*Kathmandu', page)
    assert refused.status_code == 422
    assert Preferences.objects.get().zone == "Asia/Kathmandu"


def test_the_database_refuses_what_the_form_would(link: str) -> None:
    user = User.objects.get()

    with pytest.raises(IntegrityError), transaction.atomic():
        Preferences.objects.create(user=user, theme="pink")


def test_the_audit_can_be_added_to_and_not_changed() -> None:
    entry = AuditEntry.objects.create(actor="human:ann", action="x", object="y", result="done")

    for statement in (
        "UPDATE console_auditentry SET actor = 'eve'",
        "DELETE FROM console_auditentry",
    ):
        with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
            connection.cursor().execute(statement)
    entry.refresh_from_db()
    assert entry.actor == "human:ann"
