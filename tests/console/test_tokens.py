"""API tokens: shown once, recognised by form and digest, and never more than their account."""

import io
import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection

from console import tokens
from console.access import Permission, Role, allowed, grant, lay_roles
from console.models import ApiToken
from console.tokens import Scope, TokenNotMade, TokenRefused, UnknownToken
from runtime import api
from tests.agents_for_tests import clerk
from tests.agents_for_tests.hand import Hand

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture
def ann(db: None) -> User:
    """An operator."""
    lay_roles()
    user = User.objects.create_user("ann")
    grant(user, Role.OPERATOR)
    return user


def test_a_token_has_a_prefix_and_a_checksum(ann: User) -> None:
    token = tokens.create("ci", "ann", ["tasks:read"])

    assert tokens.is_form(token)
    assert token.startswith("sbx_")
    wrong = token[:-1] + ("0" if token[-1] != "0" else "1")
    assert not tokens.is_form(wrong)
    assert not any(tokens.is_form(text) for text in ("", "sbx_", token + "0", token.upper()))


def test_only_the_digest_is_stored(ann: User) -> None:
    token = tokens.create("ci", "ann", ["tasks:read"])

    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(t)::text FROM console_apitoken t")
        (row,) = cursor.fetchone()
    assert token not in row
    assert token.removeprefix("sbx_")[:20] not in row


def test_two_tokens_are_never_alike(ann: User) -> None:
    made = {tokens.create(f"t{n}", "ann", ["tasks:read"]) for n in range(20)}

    assert len(made) == 20


def test_a_typing_error_asks_no_database(django_assert_num_queries: Any, ann: User) -> None:
    with django_assert_num_queries(0), pytest.raises(TokenRefused):
        tokens.bearer_of("sbx_" + "x" * 49)


def test_a_token_stands_for_its_account_within_its_scopes(ann: User) -> None:
    bearer = tokens.bearer_of(tokens.create("ci", "ann", ["tasks:read", "reviews:decide"]))

    may = {permission for permission in Permission if allowed(bearer, permission)}

    assert bearer.user == ann
    assert may == {
        Permission.PUBLIC,
        Permission.SIGNED_IN,
        Permission.VIEW_TASKS,
        Permission.DECIDE_REVIEWS,
    }


def test_a_right_that_the_account_loses_is_lost_to_its_tokens(ann: User) -> None:
    token = tokens.create("ci", "ann", ["reviews:decide"])

    ann.groups.clear()

    assert not allowed(tokens.bearer_of(token), Permission.DECIDE_REVIEWS)


def test_every_scope_opens_something_and_nothing_opens_the_accounts() -> None:
    assert set(tokens.OPENS) == set(Scope)
    assert all(tokens.OPENS.values())
    opened = frozenset[Permission]().union(*tokens.OPENS.values())
    assert not opened & {Permission.MANAGE_TOKENS, Permission.MANAGE_PEOPLE}


@pytest.mark.parametrize(
    ("name", "user", "scopes", "days"),
    [
        ("", "ann", ["tasks:read"], None),
        ("a b", "ann", ["tasks:read"], None),
        ("ci", "bob", ["tasks:read"], None),
        ("ci", "ann", [], None),
        ("ci", "ann", ["tasks:everything"], None),
        ("ci", "ann", ["tasks:read"], 0),
        ("ci", "ann", ["tasks:read"], 10**9),
    ],
)
def test_a_token_that_cannot_be_is_not_made(
    ann: User, name: str, user: str, scopes: list[str], days: int | None
) -> None:
    with pytest.raises(TokenNotMade):
        tokens.create(name, user, scopes, days=days)

    assert not ApiToken.objects.exists()


def test_a_name_is_used_by_one_valid_token(ann: User) -> None:
    old = tokens.create("ci", "ann", ["tasks:read"])
    with pytest.raises(TokenNotMade, match="revoke"):
        tokens.create("ci", "ann", ["tasks:read"])

    tokens.revoke("ci")
    new = tokens.create("ci", "ann", ["tasks:read"])

    assert tokens.bearer_of(new).user.get_username() == "ann"
    with pytest.raises(TokenRefused):
        tokens.bearer_of(old)


def test_what_is_not_there_cannot_be_revoked(ann: User) -> None:
    with pytest.raises(UnknownToken):
        tokens.revoke("ci")


def test_a_token_expires_by_the_database_s_clock(ann: User) -> None:
    token = tokens.create("ci", "ann", ["tasks:read"], days=1)
    assert tokens.bearer_of(token).user.get_username() == "ann"

    with connection.cursor() as cursor:
        cursor.execute("UPDATE console_apitoken SET expires_at = expires_at - interval '25 hours'")

    with pytest.raises(TokenRefused):
        tokens.bearer_of(token)


def test_the_use_of_a_token_can_be_seen(ann: User) -> None:
    token = tokens.create("ci", "ann", ["tasks:read"])
    assert ApiToken.objects.get().last_used_at is None

    tokens.bearer_of(token)

    assert ApiToken.objects.get().last_used_at is not None


def test_the_command_shows_the_token_once_and_no_log_holds_it(
    ann: User, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    out = io.StringIO()

    call_command(
        "token",
        *("create", "ci", "--user", "ann", "--scopes", "tasks:read,tasks:write", "reviews:read"),
        "--json",
        stdout=out,
    )

    made = json.loads(out.getvalue())
    assert made["scopes"] == ["reviews:read", "tasks:read", "tasks:write"]
    assert tokens.bearer_of(made["token"]).user.get_username() == "ann"
    assert made["token"] not in caplog.text
    call_command("token", "revoke", "ci", stdout=out)
    with pytest.raises(TokenRefused):
        tokens.bearer_of(made["token"])


def test_the_secret_of_callbacks_can_be_had_on_the_machine(ann: User) -> None:
    out = io.StringIO()

    call_command("token", "callback-secret", "--json", stdout=out)

    assert json.loads(out.getvalue()) == {"secrets": list(settings.SIGNALBOX_CALLBACK_SECRETS)}


# --- the command line acts as the owner -----------------------------------------------------------


@pytest.fixture
def item(transactional_db: None) -> api.ReviewView:
    """A question that a task asks, of an installation with an operator and a viewer."""
    lay_roles()
    for name, role in (("ann", Role.OPERATOR), ("vic", Role.VIEWER)):
        grant(User.objects.create_user(name), role)
    Hand(api.submit(clerk.NAME, {"order_id": "A1"}).id).start().ask()
    return api.reviews()[0]


def decide(
    environ: dict[str, str], item: api.ReviewView, token: str
) -> subprocess.CompletedProcess[str]:
    words = ["review", "decide", str(item.id), "--decision", "abort", "--reason", "r", "--json"]
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=PROJECT,
        env={**environ, "SIGNALBOX_APPS": "tests.agents_for_tests", "SIGNALBOX_TOKEN": token},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("owner", "scopes", "says"),
    [
        ("vic", ["reviews:decide"], "The account 'vic' may not do this"),
        ("ann", ["reviews:read"], "The account 'ann' may not do this"),
        (None, [], "The API token is not valid"),
    ],
)
def test_the_command_line_refuses_what_the_token_may_not(
    child_environ: dict[str, str],
    item: api.ReviewView,
    owner: str | None,
    scopes: list[str],
    says: str,
) -> None:
    token = tokens.create("ci", owner, scopes) if owner else "sbx_nonsense"

    done = decide(child_environ, item, token)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(says)
    assert done.stderr.count("\n") == 1
    assert api.review(item.id).status == "open"


def test_the_command_line_decides_as_the_owner_of_the_token(
    child_environ: dict[str, str], item: api.ReviewView
) -> None:
    done = decide(child_environ, item, tokens.create("ci", "ann", ["reviews:decide"]))

    assert done.returncode == 0, done.stderr
    view = api.review(item.id)
    assert (view.decided_by, view.channel) == ("human:ann", "cli")
