"""Who calls the API, and whether they may: a bearer token, or the session of a signed-in person.

`console.access.allowed` decides; every operation declares the permission it asks for with `needs`.
"""

from dataclasses import dataclass
from typing import Any, Final, cast

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja.security.base import AuthBase
from ninja.utils import check_csrf

from console.access import Permission, Principal, allowed
from console.http.problems import CsrfFailed, Lacks, OutOfReach, Unauthenticated
from console.tokens import OPENS, bearer_in

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITES: Final = frozenset({"same-origin", "none"})
TOKEN, SESSION = "token", "session"
SECURITY: Final[list[dict[str, list[str]]]] = [{TOKEN: []}, {SESSION: []}]


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever calls, recognised.

    Args:
        principal: As policy asks for it.
        user: The account that acts, whoever carries its token.
        token: Name of the token; None for a session.
        namespaces: The spaces it reaches; None for all.
    """

    principal: Principal
    user: User
    token: str | None
    namespaces: frozenset[str] | None

    @property
    def actor(self) -> str:
        """How the journal names it: a decision is its account's, never a body's claim."""
        return f"human:{self.user.get_username()}"

    def reaches(self, namespace: str) -> bool:
        """Tell whether a space is among those it sees at all."""
        return self.namespaces is None or namespace in self.namespaces

    def check_reach(self, namespace: str) -> None:
        """Refuse a space it does not see, whether there is one of this name or not.

        Raises:
            OutOfReach: It is not among them.
        """
        if not self.reaches(namespace):
            raise OutOfReach(namespace)

    def check(self, permission: Permission) -> None:
        """Ask for one more permission than the operation's own.

        Raises:
            Lacks: The caller has it not.
        """
        if not allowed(self.principal, permission):
            who = "Your account" if self.token is None else "This token, or its account,"
            raise Lacks(who, permission.value.replace("_", " "))


class Needs(AuthBase):
    """The door of one operation: recognises the caller and asks the policy.

    Args:
        permission: What the operation asks for.
    """

    openapi_type = "http"
    openapi_scheme = "bearer"

    def __init__(self, permission: Permission) -> None:
        super().__init__()
        self.permission = permission

    def __call__(self, request: HttpRequest) -> Caller:
        """Let a caller in.

        Raises:
            Unauthenticated: Nobody we know.
            TokenRefused: A token that is not valid.
            Lacks: Known, and not allowed.
        """
        caller = recognise(request)
        caller.check(self.permission)
        return caller


def needs(permission: Permission) -> dict[str, Any]:
    """Declare what an operation asks for; the keywords of its route."""
    scope = next((scope.value for scope, opened in OPENS.items() if permission in opened), None)
    extra = {"security": SECURITY, "x-permission": permission.value, "x-scope": scope}
    return {"auth": Needs(permission), "openapi_extra": extra}


def caller_of(request: HttpRequest) -> Caller:
    """Give who calls, once the operation's door has let them in."""
    return cast("Any", request).auth  # type: ignore[no-any-return]


def recognise(request: HttpRequest) -> Caller:
    """Find out who calls.

    A request that shows a token stands or falls with it: a refused token never rides on a cookie.

    Raises:
        Unauthenticated: Neither a token nor a session.
        TokenRefused: A token that is not valid.
        CsrfFailed: A session, and a request that its person's pages did not send.
    """
    if "Authorization" in request.headers:
        bearer = bearer_in(request.headers["Authorization"])
        return Caller(bearer, bearer.user, bearer.name, bearer.namespaces)
    user = request.user
    if not (user.is_authenticated and user.is_active):
        raise Unauthenticated
    _check_own(request)
    return Caller(cast("Principal", user), user, None, None)


def _check_own(request: HttpRequest) -> None:
    """Refuse what another site made this person's browser send."""
    if request.method in _SAFE:
        return
    site = request.headers.get("Sec-Fetch-Site")
    if (site is not None and site not in _OWN_SITES) or check_csrf(request) is not None:
        raise CsrfFailed(settings.CSRF_COOKIE_NAME)
