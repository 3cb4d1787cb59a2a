"""The page of a one-time sign-in link: looking changes nothing, its button signs in."""

from allauth.account.internal.flows.login import record_authentication
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from console import audit, signin
from console.access import Permission, needs
from console.actions import account
from console.audit import Act
from console.middleware import request_id


@needs(Permission.PUBLIC)
@sensitive_variables("token")
@require_http_methods(["GET", "HEAD", "POST"])
def signin_link(request: HttpRequest, token: str) -> HttpResponse:
    """Show whom the link signs in; sign them in when they say so."""
    if request.method != "POST":
        return _page(request, signin.holder_of(token))
    user = signin.redeem(token)
    if user is None:
        return _page(request, None)
    login(request, user, backend="allauth.account.auth_backends.AuthenticationBackend")
    record_authentication(request, user, "link")
    act = Act(
        actor=account(user),
        action="signin.link",
        object=f"account:{user.get_username()}",
        request_id=request_id(request),
    )
    audit.record(act, "done")
    return redirect("home")


def _page(request: HttpRequest, user: object) -> HttpResponse:
    response = render(
        request,
        "signin/link.html",
        {"holder": user},
        status=200 if user else 410,
    )
    # The address itself is the secret: it must not be handed on to any other page.
    response["Referrer-Policy"] = "same-origin"
    return response
