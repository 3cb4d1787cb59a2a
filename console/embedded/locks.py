"""File locks that the kernel lets go of when their holder dies.

They count the users of the servers and keep two starts apart; they are not for other machines.
`services` is their only caller.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class UserCount:
    """One process's place among the users of the servers: a shared lock on one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    @property
    def joined(self) -> bool:
        """Whether this process counts as a user."""
        return self._descriptor is not None

    def join(self) -> None:
        """Become a user. The start lock must be held, or the last user may just be leaving."""
        self._descriptor = _open(self._path)
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def leave(self) -> bool:
        """Stop being a user; the start lock must be held.

        Returns:
            Whether nobody else uses the servers.
        """
        if self._descriptor is None:
            return False
        descriptor, self._descriptor = self._descriptor, None
        try:
            # Unlock by name: a forked child holds the same open file and must not keep it locked.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        except BlockingIOError:
            return False
        finally:
            os.close(descriptor)
        return True


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock on `path` alone, waiting for it as long as it takes."""
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


@contextmanager
def alone(path: Path) -> Iterator[bool]:
    """Hold the lock on `path` if nobody else does; tells whether that is so."""
    descriptor = _open(path)
    try:
        yield _try(descriptor)
    finally:
        os.close(descriptor)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _open(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if os.geteuid() == 0:
        # Root must not lock the folder's owner out of a file it made there.
        owner = path.parent.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor
