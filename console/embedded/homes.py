"""The folder each server keeps its data in.

It lies in the data folder, or, when root's lesser user cannot get there, in a place it can reach
with a link left behind. `services` calls it before a server starts.
"""

import hashlib
import os
import tempfile
from pathlib import Path

from console.embedded.account import Account
from console.embedded.errors import FolderRefused
from console.embedded.places import Places

ELSEWHERE = (Path("/var/lib/signalbox"), Path("/var/tmp/signalbox"))  # noqa: S108 - owner is checked


def home_of(places: Places, server: str, account: Account) -> Path:
    """Return the real folder of a server, making it at the first start.

    Raises:
        FolderRefused: The folder is missing behind its link, or belongs to somebody else.
    """
    link = places.link(server)
    if link.is_symlink() and not link.exists():
        why = f"it points to {link.readlink()}, which is gone; remove the link to start afresh"
        raise FolderRefused(link, why)
    if not link.exists():
        _make(places, link, account)
    home = link.resolve()
    if home.stat().st_uid != account.uid:
        raise FolderRefused(home, f"it belongs to another user (id {home.stat().st_uid})")
    return home


def shared_place(account: Account) -> Path:
    """A folder outside the project that root owns and the account can pass.

    Raises:
        FolderRefused: None of the usual places can be used.
    """
    for place in ELSEWHERE:
        try:
            place.mkdir(mode=0o711, exist_ok=True)
            if place.stat().st_uid == 0 and account.can_reach(place):
                return place
        except OSError:
            continue
    raise FolderRefused(ELSEWHERE[0], "root cannot make it and the data folder is out of reach")


def _make(places: Places, link: Path, account: Account) -> None:
    if account.can_reach(places.data_dir):
        link.mkdir()
        _hand_over(link, account)
        return
    digest = hashlib.sha256(os.fsencode(places.data_dir)).hexdigest()[:16]
    # A fresh name each time: a project that was deleted and cloned again starts afresh, too.
    home = Path(tempfile.mkdtemp(prefix=f"{digest}-{link.name}-", dir=shared_place(account)))
    _hand_over(home, account)
    link.symlink_to(home)


def _hand_over(home: Path, account: Account) -> None:
    # Passable: `initdb` may run as yet another user in a folder of its own inside.
    home.chmod(0o711 if account.switch else 0o700)
    if account.switch:
        os.chown(home, account.uid, account.gid)
