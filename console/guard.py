"""The one door of all routes: what a view declares is enforced here, what declares nothing is shut.

The API checks its own principals behind this door, because a bearer token is no session; all else
is decided here by `console.access.allowed`.
"""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render, resolve_url
from django.urls import ResolverMatch

from console.access import Permission, allowed, declared
from console.tokens import TokenRefused, bearer_in

#: Whose operations declare and check permissions themselves, by the namespace of their routes.
CHECK_THEMSELVES: Final = frozenset({"api"})
#: Routes whose views are not ours, by the name of the route.
OF_OTHERS: Final[dict[str, Permission]] = {
    "account_login": Permission.PUBLIC,
    "account_logout": Permission.PUBLIC,
    "account_inactive": Permission.PUBLIC,
    "account_signup": Permission.PUBLIC,
    "account_reauthenticate": Permission.SIGNED_IN,
    "account_change_password": Permission.SIGNED_IN,
    "account_set_password": Permission.SIGNED_IN,
    "mfa_index": Permission.SIGNED_IN,
    "mfa_authenticate": Permission.PUBLIC,
    "mfa_reauthenticate": Permission.SIGNED_IN,
    "mfa_activate_totp": Permission.SIGNED_IN,
    "mfa_deactivate_totp": Permission.SIGNED_IN,
    "mfa_view_recovery_codes": Permission.SIGNED_IN,
    "mfa_generate_recovery_codes": Permission.SIGNED_IN,
    "mfa_download_recovery_codes": Permission.SIGNED_IN,
}


def permission_of(view: object, route: str | None) -> Permission | None:
    """Give what a route asks for, or None if nobody said."""
    return declared(view) or OF_OTHERS.get(route or "")


class AccessMiddleware(LoginRequiredMiddleware):
    """Lets a request through to its view, asks for a sign-in, or refuses."""

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., Any],
        view_args: tuple[Any, ...],  # noqa: ARG002 (Django's signature)
        view_kwargs: dict[str, Any],  # noqa: ARG002
    ) -> HttpResponse | None:
        """Decide on one request."""
        match = request.resolver_match
        assert match is not None  # noqa: S101 (Django has just resolved it)
        if _checks_itself(match):
            return None
        permission = permission_of(view_func, match.view_name)
        if "Authorization" in request.headers and getattr(view_func, "takes_tokens", False):
            return _refused(request, permission)
        if permission is not None and allowed(request.user, permission):
            return None
        if permission is None or request.user.is_authenticated:
            return render(request, "errors/403.html", {"permission": permission}, status=403)
        asked: HttpResponse = self.handle_no_permission(request, view_func)
        return asked

    def handle_no_permission(self, request: HttpRequest, view_func: Any) -> Any:
        """Send a person to the sign-in page; tell a script of ours to do so."""
        if not is_fragment(request):
            return super().handle_no_permission(request, view_func)
        response = HttpResponse(status=401)
        response["HX-Redirect"] = resolve_url(self.get_login_url(view_func))
        return response


def takes_tokens[F: Callable[..., Any]](view: F) -> F:
    """Let programs open a view that is no part of the API, with a token for all namespaces."""
    view.takes_tokens = True  # type: ignore[attr-defined]
    return view


def _refused(request: HttpRequest, permission: Permission | None) -> HttpResponse | None:
    """Let the bearer of a token through, or refuse: it never rides on a session beside it."""
    try:
        bearer = bearer_in(request.headers["Authorization"])
    except TokenRefused as refused:
        return _plain(str(refused), 401)
    if permission is not None and allowed(bearer, permission) and bearer.namespaces is None:
        return None
    return _plain("This token, or its account, may not read what concerns all namespaces.", 403)


def _plain(text: str, status: int) -> HttpResponse:
    headers = {"WWW-Authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else {}
    return HttpResponse(f"{text}\n", content_type="text/plain", status=status, headers=headers)


def is_fragment(request: HttpRequest) -> bool:
    """Tell whether a script of ours asks, which wants a part and cannot follow to a page."""
    return request.headers.get("HX-Request") == "true"


def _checks_itself(match: ResolverMatch) -> bool:
    return bool(match.namespaces) and match.namespaces[0] in CHECK_THEMSELVES
