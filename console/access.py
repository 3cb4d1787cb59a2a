"""Who may do what: the permissions, the roles, and the one function that answers.

Pages, fragments, form posts, API calls and websocket subscriptions all ask `allowed`; nothing
else decides.  A role is a Django group, so an installation can grant its own sets beside ours.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, Protocol

from django.apps.registry import Apps
from django.contrib.auth.models import Group, User
from django.contrib.auth.models import Permission as GrantedPermission
from django.contrib.contenttypes.models import ContentType

APP = "console"


class Permission(StrEnum):
    """What a route, call or subscription asks for; each has exactly one."""

    PUBLIC = "public"
    """Anybody, signed in or not: the sign-in pages, the health of the process."""
    SIGNED_IN = "signed_in"
    """Any active account, for its own things only: its settings, its sign-out."""
    VIEW_TASKS = "view_tasks"
    """Read tasks, their events, results and effects."""
    SUBMIT_TASKS = "submit_tasks"
    """Create tasks."""
    ACT_ON_TASKS = "act_on_tasks"
    """Pause, resume, cancel and retry tasks."""
    VIEW_REVIEWS = "view_reviews"
    """Read what people are asked to decide."""
    DECIDE_REVIEWS = "decide_reviews"
    """Decide it."""
    VIEW_WORKERS = "view_workers"
    """Read workers, queues and what was given up."""
    MANAGE_WORKERS = "manage_workers"
    """Have a worker take no more, and take a task out of its hands."""
    VIEW_METRICS = "view_metrics"
    """Read the numbers of the whole installation, across its namespaces."""
    MANAGE_TOKENS = "manage_tokens"
    """Create and revoke API tokens of other accounts."""
    MANAGE_PEOPLE = "manage_people"
    """Change who may do what."""


class Role(StrEnum):
    """The sets of permissions every installation has; each is a group of the same name."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMINISTRATOR = "administrator"


#: Need no grant, so no role names them.
UNGRANTED = frozenset({Permission.PUBLIC, Permission.SIGNED_IN})
_VIEW = frozenset(
    {
        Permission.VIEW_TASKS,
        Permission.VIEW_REVIEWS,
        Permission.VIEW_WORKERS,
        Permission.VIEW_METRICS,
    },
)
_OPERATE = _VIEW | {Permission.SUBMIT_TASKS, Permission.ACT_ON_TASKS, Permission.DECIDE_REVIEWS}
GRANTS: dict[Role, frozenset[Permission]] = {
    Role.VIEWER: _VIEW,
    Role.OPERATOR: _OPERATE,
    Role.ADMINISTRATOR: _OPERATE
    | {Permission.MANAGE_WORKERS, Permission.MANAGE_TOKENS, Permission.MANAGE_PEOPLE},
}


class Principal(Protocol):
    """Who asks: an account, or an API token that stands for one."""

    @property
    def is_authenticated(self) -> bool:
        """Whether it is anybody at all."""
        ...

    @property
    def is_active(self) -> bool:
        """Whether it may still do anything."""
        ...

    def has_perm(self, perm: str) -> bool:
        """Whether it was granted `console.<permission>`."""
        ...


def allowed(principal: Principal, permission: Permission, obj: object = None) -> bool:  # noqa: ARG001
    """Tell whether somebody may do something.

    Args:
        principal: Who.
        permission: What.
        obj: To which task, item or worker; no rule depends on it yet.
    """
    if permission is Permission.PUBLIC:
        return True
    if not (principal.is_authenticated and principal.is_active):
        return False
    return permission is Permission.SIGNED_IN or principal.has_perm(f"{APP}.{permission}")


def needs[F: Callable[..., Any]](permission: Permission) -> Callable[[F], F]:
    """Declare what a view asks for; `console.guard` enforces it and refuses views without."""

    def declare(view: F) -> F:
        view.permission = permission  # type: ignore[attr-defined]
        return view

    return declare


def declared(view: object) -> Permission | None:
    """Give what a view declares, or None."""
    found = getattr(view, "permission", None)
    return found if isinstance(found, Permission) else None


def grant(user: User, role: Role) -> None:
    """Give an account a role; must hold: the roles are laid, as the migration does."""
    user.groups.add(Group.objects.get(name=role))
    _forget_grants(user)


def lay_roles(apps: Apps | None = None) -> None:
    """Make the permissions and the roles that are missing; what people changed stays.

    Args:
        apps: The models of a migration; the present ones without.
    """
    kinds, permissions, groups = _models(apps)
    kind, _ = kinds.objects.get_or_create(app_label=APP, model="access")
    known = {
        permission: permissions.objects.get_or_create(
            content_type=kind, codename=permission.value, defaults={"name": _title(permission)}
        )[0]
        for permission in Permission
        if permission not in UNGRANTED
    }
    for role, granted in GRANTS.items():
        group, is_new = groups.objects.get_or_create(name=role.value)
        if is_new:
            group.permissions.set(known[permission] for permission in _ordered(granted))


def _models(apps: Apps | None) -> tuple[Any, Any, Any]:
    if apps is None:
        return ContentType, GrantedPermission, Group
    return (
        apps.get_model("contenttypes", "ContentType"),
        apps.get_model("auth", "Permission"),
        apps.get_model("auth", "Group"),
    )


def _ordered(granted: Iterable[Permission]) -> list[Permission]:
    return sorted(granted)


def _title(permission: Permission) -> str:
    return f"Can {permission.value.replace('_', ' ')}"


def _forget_grants(user: User) -> None:
    for name in ("_perm_cache", "_user_perm_cache", "_group_perm_cache"):
        user.__dict__.pop(name, None)
