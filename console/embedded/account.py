"""The user the servers run as, and whether it can reach a path.

PostgreSQL refuses to run as root, so root's servers get a user id of their own. It changes no
folder it did not make. `homes`, `programs` and `launch` ask it.
"""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from console.embedded.errors import ServerDidNotStart
from console.embedded.places import Places

# Outside the ranges that distributions, systemd and containers hand out, and free in practice;
# PostgreSQL itself runs well under a number without a name.
FIRST_SERVER_UID = 61042


@dataclass(frozen=True)
class Account:
    """A user the servers run as; `switch` says whether we must change to it (we are root)."""

    uid: int
    gid: int
    switch: bool

    def can_reach(self, path: Path) -> bool:
        """Whether the account may pass every folder on the way to `path`, and enter or run it."""
        if not self.switch:
            return True
        real = path.resolve()
        return all(map(self._may_pass, {path, *path.parents, real, *real.parents}))

    def _may_pass(self, path: Path) -> bool:
        found = path.stat()
        if found.st_uid == self.uid:
            return bool(found.st_mode & stat.S_IXUSR)
        if found.st_gid == self.gid:
            return bool(found.st_mode & stat.S_IXGRP)
        return bool(found.st_mode & stat.S_IXOTH)


def server_account(places: Places) -> Account:
    """Choose who runs the servers: ourselves, or for root the data folder's owner, or a free id."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), switch=False)
    owner = places.data_dir.stat()
    if owner.st_uid != 0:
        return Account(owner.st_uid, owner.st_gid, switch=True)
    home = places.link("postgres")
    if home.exists() and home.stat().st_uid != 0:
        found = home.stat()
        return Account(found.st_uid, found.st_gid, switch=True)
    uid = next(uid for uid in range(FIRST_SERVER_UID, FIRST_SERVER_UID + 100) if not _named(uid))
    return Account(uid, uid, switch=True)


def named_account(account: Account) -> Account:
    """An account with a name in the password file, for `initdb`, which looks its own name up.

    Raises:
        ServerDidNotStart: There is none but root.
    """
    if not account.switch or _named(account.uid):
        return account
    for name in ("nobody", "daemon", "postgres"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(entry.pw_uid, entry.pw_gid, switch=True)
    cause = "root cannot run it and there is no user `nobody`; run as an ordinary user"
    raise ServerDidNotStart("PostgreSQL", cause, "none")


def _named(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True
