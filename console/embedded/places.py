"""Where the embedded services keep their files and sockets.

Everything follows from the data folder alone, so that settings know the addresses before any
server runs. It starts nothing and, except for `make_*`, touches nothing.
"""

import contextlib
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from console.embedded.errors import FolderRefused

DATABASE = "signalbox"
ROLE = "signalbox"
# A socket's whole path may have 107 bytes, so sockets live here and not in the data folder,
# whose path may be of any length.
SOCKETS = Path("/tmp")  # noqa: S108 - the folder's owner and mode are checked before use


@dataclass(frozen=True)
class Places:
    """The paths that belong to one data folder (a real, absolute path)."""

    data_dir: Path

    @classmethod
    def of(cls, data_dir: Path | str) -> "Places":
        """Name the places of a data folder, which need not exist yet."""
        return cls(Path(os.path.realpath(data_dir)))

    @property
    def owner(self) -> int:
        """The user id that owns the data folder, or would if it were made now."""
        try:
            return self.data_dir.stat().st_uid
        except OSError:
            return os.geteuid()

    @property
    def socket_dir(self) -> Path:
        """The private folder that holds both sockets."""
        digest = hashlib.sha256(os.fsencode(self.data_dir)).hexdigest()[:16]
        return SOCKETS / f"signalbox-{self.owner}-{digest}"

    @property
    def valkey_socket(self) -> Path:
        """The socket Valkey listens on."""
        return self.socket_dir / "valkey.sock"

    @property
    def start_lock(self) -> Path:
        """Held exclusively by whoever starts or stops servers."""
        return self.data_dir / "start.lock"

    @property
    def users_lock(self) -> Path:
        """Held in common by every process that uses the servers."""
        return self.data_dir / "users.lock"

    def link(self, server: str) -> Path:
        """The folder of one server, or the link to it."""
        return self.data_dir / server

    def log(self, server: str) -> Path:
        """What one server wrote while starting (PostgreSQL then keeps its own log)."""
        return self.data_dir / f"{server}.log"


def database_url(data_dir: Path | str) -> str:
    """The address of the embedded PostgreSQL; computed, so the server need not run."""
    return f"postgresql://{ROLE}@/{DATABASE}?host={Places.of(data_dir).socket_dir}"


def valkey_url(data_dir: Path | str) -> str:
    """The address of the embedded Valkey; computed, so the server need not run."""
    return f"unix://{Places.of(data_dir).valkey_socket}?db=0"


def make_data_dir(data_dir: Path) -> None:
    """Make the data folder and its missing parents, closed to others as far as possible.

    Root's are passable (0711), because the servers run as a lesser user and must reach theirs.

    Raises:
        FolderRefused: It cannot be made or is no folder.
    """
    mode = 0o711 if os.geteuid() == 0 else 0o700
    missing = [path for path in (data_dir, *data_dir.parents) if not path.exists()]
    try:
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
            path.chmod(mode)
    except OSError as error:
        raise FolderRefused(error.filename or data_dir, error.strerror or str(error)) from error
    if not data_dir.is_dir():
        raise FolderRefused(data_dir, "it is not a folder")


def make_socket_dir(path: Path, owner: int, group: int) -> None:
    """Make the sockets' folder, private to `owner`, or check the one that is there.

    `/tmp` is open to all: a folder somebody else put there under our name is refused.

    Raises:
        FolderRefused: It belongs to somebody else or is no folder.
    """
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in {os.geteuid(), owner}:
        raise FolderRefused(path, f"it was made by somebody else (user id {found.st_uid})")
    if found.st_uid != owner:
        os.chown(path, owner, group, follow_symlinks=False)
    if stat.S_IMODE(found.st_mode) != 0o700:  # noqa: PLR2004 - the mode is its own name
        path.chmod(0o700)
