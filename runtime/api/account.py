"""As whom the commands of this process act; see ``runtime.api``."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from runtime.core.errors import WrongUsage

LOCAL = "local"


@dataclass(eq=False)
class NotPermitted(WrongUsage):
    """Whoever acts has not the right to."""

    account: str
    permission: str

    http_status = 403
    code = "not_permitted"
    sentence = "The account '{account}' may not do this: it, or its token, lacks {permission}."


@dataclass(frozen=True, slots=True)
class _Account:
    name: str
    may: Callable[[str], bool]


_acting: ContextVar[_Account | None] = ContextVar("acting", default=None)


def act_as(name: str, may: Callable[[str], bool]) -> None:
    """Have the commands of this process act as an account.

    Args:
        name: The account's.
        may: Tells whether it has a right, by its name.
    """
    _acting.set(_Account(name, may))


def account(permission: str) -> str:
    """Give who acts, like ``human:ann``, once sure that they may.

    Args:
        permission: The right that the act asks for.

    Raises:
        NotPermitted: They have not this right.
    """
    acting = _acting.get()
    if acting is None:
        # On the machine itself everything is allowed: who runs commands can write to the database.
        return f"human:{LOCAL}"
    if not acting.may(permission):
        raise NotPermitted(acting.name, permission)
    return f"human:{acting.name}"
