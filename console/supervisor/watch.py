"""Notices that agents' modules have changed, by looking at the files of their packages."""

import importlib.util
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

type Snapshot = dict[Path, tuple[int, int]]


class Watch:
    """The Python files of some packages.

    Args:
        folders: Of the packages.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        self._folders = sorted(set(folders))
        self._seen = self._snapshot()

    def changed(self) -> list[Path]:
        """List the files that have changed, come or gone since the last look."""
        found = self._snapshot()
        before, self._seen = self._seen, found
        return sorted(path for path in before.keys() | found if before.get(path) != found.get(path))

    def _snapshot(self) -> Snapshot:
        found: Snapshot = {}
        for folder in self._folders:
            for path in folder.rglob("*.py"):
                try:
                    stat = path.stat()
                except OSError:  # it has just gone
                    continue
                found[path] = (stat.st_mtime_ns, stat.st_size)
        return found


def folders_of(apps: Iterable[str]) -> Iterator[Path]:
    """Name the folders of Django apps, given as modules or as configurations in them."""
    for app in apps:
        name = app if _is_module(app) else app.rpartition(".")[0].rpartition(".")[0]
        spec = importlib.util.find_spec(name) if name else None
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            yield Path(folder)


def unreadable(paths: Iterable[Path]) -> str | None:
    """Say what is wrong with the first file that Python cannot read; None if all are sound."""
    for path in paths:
        if not path.exists():
            continue
        try:
            with tokenize.open(path) as file:
                compile(file.read(), str(path), "exec")
        except (SyntaxError, ValueError) as error:
            line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
            return f"{path}{line}: {getattr(error, 'msg', error)}"
        except OSError:
            continue
    return None


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
