"""The secret key of an installation that was given none: made once, kept in its data folder."""

import contextlib
import hmac
import os
import secrets
import tempfile
from pathlib import Path

from console.embedded.errors import FolderRefused
from console.embedded.places import make_data_dir


def kept_secret(data_dir: Path) -> str:
    """Return the key in `data_dir/secret_key`, making it at the first start.

    Two first starts at once agree on one key.

    Raises:
        FolderRefused: It can be neither read nor written.
    """
    path = data_dir / "secret_key"
    try:
        if not path.exists():
            make_data_dir(data_dir)
            _make(path)
        return path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise FolderRefused(path, error.strerror or str(error)) from error


def _make(path: Path) -> None:
    descriptor, made = tempfile.mkstemp(dir=path.parent, prefix=".secret-")  # mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(50))
            file.flush()
            os.fsync(file.fileno())
        if os.geteuid() == 0:
            owner = path.parent.stat()
            os.chown(made, owner.st_uid, owner.st_gid)
        with contextlib.suppress(FileExistsError):
            os.link(made, path)
    finally:
        Path(made).unlink()


def derived(secret_key: str, purpose: str) -> str:
    """Make a secret of the installation's own that is good for one purpose and tells no other."""
    return hmac.digest(secret_key.encode(), f"signalbox/1/{purpose}".encode(), "sha256").hex()
