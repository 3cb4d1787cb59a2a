"""Every route has a declared permission, enforced at one door; GETs write nothing."""

from collections.abc import Callable, Iterator
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver, resolve

from console.access import GRANTS, UNGRANTED, Permission, Role, allowed, declared
from console.asgi import websocket_urlpatterns
from console.guard import CHECK_THEMSELVES, OF_OTHERS, AccessMiddleware, permission_of
from tests.console.pages.conftest import reads_only


def _routes(
    patterns: list[URLPattern | URLResolver], namespace: str = ""
) -> Iterator[tuple[str, URLPattern, str]]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, pattern.namespace or namespace)
        else:
            yield str(pattern.pattern), pattern, namespace


ROUTES = list(_routes(get_resolver().url_patterns))
OURS = [
    (route, pattern) for route, pattern, namespace in ROUTES if namespace not in CHECK_THEMSELVES
]


@pytest.mark.parametrize(("route", "pattern"), OURS, ids=[f"{p.name}" for _, p in OURS])
def test_every_route_declares_what_it_asks_for(route: str, pattern: URLPattern) -> None:
    assert permission_of(pattern.callback, pattern.name) is not None, route


def test_every_socket_declares_what_it_asks_for() -> None:
    for pattern in websocket_urlpatterns:
        assert isinstance(pattern.callback.consumer_class.permission, Permission)


def test_no_declaration_outlives_its_route() -> None:
    assert set(OF_OTHERS) <= {pattern.name for _, pattern, _ in ROUTES}


def test_a_view_without_a_declaration_is_shut_even_for_administrators(
    person: Callable[[Role | None], User],
) -> None:
    def forgotten(_request: HttpRequest) -> HttpResponse:
        return HttpResponse("open")

    request = RequestFactory().get("/tasks/")
    request.user = person(Role.ADMINISTRATOR)
    request.resolver_match = resolve("/tasks/")
    request.resolver_match.url_name = "forgotten"
    request.resolver_match.view_name = "forgotten"
    answer = AccessMiddleware(lambda _request: HttpResponse()).process_view(
        request, forgotten, (), {}
    )

    assert answer is not None
    assert answer.status_code == 403


@pytest.mark.parametrize("role", [None, *Role])
@pytest.mark.parametrize("permission", Permission)
def test_a_role_may_do_what_it_is_granted_and_nothing_else(
    role: Role | None, permission: Permission, person: Callable[[Role | None], User]
) -> None:
    granted = UNGRANTED | (GRANTS[role] if role else frozenset())

    assert allowed(person(role), permission) is (permission in granted)


def test_a_disabled_account_may_do_nothing(person: Callable[[Role | None], User]) -> None:
    user = person(Role.ADMINISTRATOR)
    user.is_active = False

    assert [one for one in Permission if allowed(user, one)] == [Permission.PUBLIC]


@pytest.fixture
def addresses(asked: Callable[[str], tuple[UUID, UUID]]) -> dict[str, str]:
    """An address for every route of ours that can be read."""
    task_id, review_id = asked("Which one?")
    known = {
        "task_id": str(task_id),
        "review_id": str(review_id),
        "view_id": "1",
        "seq": "1",
        "handle": str(uuid4()),
        "run_id": str(uuid4()),
        "worker_id": str(uuid4()),
        "which": str(uuid4()),
        "name": "pause",
        "token": "none",
    }
    found = {}
    for _, pattern, namespace in ROUTES:
        if namespace in CHECK_THEMSELVES or pattern.name is None:
            continue
        wanted = {name: known[name] for name in pattern.pattern.converters}
        found[pattern.name] = "/" + get_resolver().reverse(pattern.name, **wanted)
    return found


def _reads(addresses: dict[str, str]) -> dict[str, str]:
    only_posts = {"review_decide", "task_bulk", "task_bulk_run"}
    return {name: address for name, address in addresses.items() if name not in only_posts}


def test_reading_any_page_writes_nothing(
    operator: Client, addresses: dict[str, str], asked: Callable[[str], tuple[UUID, UUID]]
) -> None:
    # One keeps the secret that its form will confirm; the other tells whether writing is possible.
    exempt = {"mfa_activate_totp", "readyz"}
    for name, address in _reads(addresses).items():
        if name in exempt:
            continue
        for headers in ({}, {"HX-Request": "true"}):
            with reads_only() as written:
                answer = operator.get(address, headers=headers)
            assert answer.status_code < 500, (name, answer.status_code)
            assert written == [], name


@pytest.mark.parametrize("role", [None, Role.VIEWER])
def test_a_page_opens_for_those_who_may_and_for_nobody_else(
    role: Role | None, as_role: Callable[[Role | None], Client], addresses: dict[str, str]
) -> None:
    client = as_role(role)
    granted = UNGRANTED | (GRANTS[role] if role else frozenset())

    for name, address in _reads(addresses).items():
        permission = permission_of(resolve(address).func, name)
        answer = client.get(address)
        assert (answer.status_code == 403) is (permission not in granted), name


def test_who_is_not_signed_in_is_asked_to_and_a_script_is_told_so(
    client: Client, addresses: dict[str, str]
) -> None:
    for name, address in addresses.items():
        permission = permission_of(resolve(address).func, name)
        if permission is Permission.PUBLIC:
            continue
        page, fragment = client.get(address), client.get(address, headers={"HX-Request": "true"})
        assert (page.status_code, page.headers["Location"].split("?")[0]) == (
            302,
            "/sign-in/login/",
        )
        assert (fragment.status_code, fragment.headers["HX-Redirect"]) == (401, "/sign-in/login/")


def test_every_form_wants_its_csrf_token(
    person: Callable[[Role | None], User], addresses: dict[str, str]
) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(
        person(Role.ADMINISTRATOR), backend="allauth.account.auth_backends.AuthenticationBackend"
    )

    forms = ("lever", "review_decide", "settings", "signin_link", "account_logout")
    own = ("new_view", "saved_view", "task_columns", "task_bulk", "task_bulk_run")
    for name in (*forms, *own):
        assert client.post(addresses[name], {"reason": "x"}).status_code == 403, name


def test_unknown_things_answer_alike_whatever_they_are_called(operator: Client) -> None:
    for address in (f"/tasks/{uuid4()}/", f"/reviews/{uuid4()}/", f"/tasks/{uuid4()}/pause/"):
        answer = operator.get(address)
        assert answer.status_code == 404
        assert b"There is nothing at this address" in answer.content


def test_a_stranger_who_is_lost_sees_nothing_of_the_console(client: Client) -> None:
    answer = client.get("/no-such-page/")

    assert answer.status_code == 404
    assert b"Sign out" not in answer.content


def test_every_page_says_how_browsers_are_to_treat_it(
    operator: Client, addresses: dict[str, str]
) -> None:
    for name in ("tasks", "task", "reviews", "review", "workers", "settings"):
        answer = operator.get(addresses[name])
        policy = answer.headers["Content-Security-Policy"]
        assert "unsafe" not in policy
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["Cache-Control"] == "no-store"
        assert b"<style" not in answer.content
        assert b' style="' not in answer.content
        assert b"<script>" not in answer.content
        assert b" onclick" not in answer.content
        if name.startswith("review"):
            assert answer.headers["Referrer-Policy"] == "no-referrer"


def test_a_declaration_is_found_behind_the_decorators_of_django() -> None:
    for address in ("/tasks/", "/workers/", "/settings/"):
        assert declared(resolve(address).func) is not None
